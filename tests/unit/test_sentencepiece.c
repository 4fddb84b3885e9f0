#include "kind/text/sentencepiece.h"

#include <string.h>

#include "base/io.h"
#include "unit.h"

/* A file of the shared data; false, and a line that says so, where there is none. */
static bool read_model(struct bl_buffer *data)
{
    const char *shared = getenv("BLOAD_SHARED");
    char path[4096];
    struct bl_error e = {0};
    snprintf(path, sizeof path, "%s/data/tokenizers/spm-unigram-1k-test_model.model", shared ? shared : "../shared");
    if (!bl_sentencepiece_available || bl_io_read_file(path, 1 << 28, data, &e)) {
        unit_skip(bl_sentencepiece_available ? "no shared SentencePiece model" : "built without SentencePiece");
        return false;
    }
    return true;
}

START_TEST(no_model)
{
    static const char *const bad[] = {"", "no model", "\x0a\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bl_sentencepiece *model;
        struct bl_error e = {0};
        ck_assert_int_eq(bl_sentencepiece_open(&model, bad[i], strlen(bad[i]), &e), BL_EFAIL);
        ck_assert_ptr_null(model);
        ck_assert_ptr_nonnull(
            strstr(e.text, bl_sentencepiece_available ? "not a SentencePiece model" : "libsentencepiece-dev"));
        bl_sentencepiece_close(model);
    }
}
END_TEST

START_TEST(pieces)
{
    static const char text[] = "Hello\0 world";
    struct bl_buffer data = {0};
    struct bl_sentencepiece *model;
    struct bl_ids ids = {0};
    struct bl_error e = {0};
    if (!read_model(&data))
        return;
    ck_assert_int_eq(bl_sentencepiece_open(&model, data.data, data.size, &e), 0);
    ck_assert_int_eq(bl_sentencepiece_size(model), 1000);
    ck_assert_int_eq(bl_sentencepiece_find(model, "<unk>"), 0);
    ck_assert_int_eq(bl_sentencepiece_find(model, "</s>"), 2);
    ck_assert_int_eq(bl_sentencepiece_find(model, "no such piece"), -1);
    ck_assert_int_eq(bl_sentencepiece_encode(model, "", 0, &ids, &e), 0);
    ck_assert_uint_eq(ids.count, 0);
    ck_assert_int_eq(bl_sentencepiece_encode(model, text, sizeof text - 1, &ids, &e), 0);
    size_t count = ids.count;
    ck_assert_uint_gt(count, 3);
    ck_assert_int_eq(bl_sentencepiece_encode(model, text, sizeof text - 1, &ids, &e), 0);
    ck_assert_uint_eq(ids.count, 2 * count); /* appended */
    ck_assert_int_eq(memcmp(ids.id, ids.id + count, count * sizeof *ids.id), 0);
    ck_assert_int_eq(bl_sentencepiece_encode(model, text, SIZE_MAX / 2, &ids, &e), BL_EDATA);
    bl_ids_free(&ids);
    bl_sentencepiece_close(model);
    bl_buffer_free(&data);
}
END_TEST

/* A file that breaks off is an error; but where it does between two pieces it is a model that has fewer. */
START_TEST(broken_models)
{
    struct bl_buffer data = {0};
    if (!read_model(&data))
        return;
    for (size_t size = 0; size < data.size; size += 997) {
        struct bl_sentencepiece *model;
        struct bl_error e = {0};
        int rc = bl_sentencepiece_open(&model, data.data, size, &e);
        ck_assert(rc == BL_EFAIL || (rc == 0 && bl_sentencepiece_size(model) < 1000));
        bl_sentencepiece_close(model);
    }
    bl_buffer_free(&data);
}
END_TEST

static void add(TCase *tests)
{
    tcase_add_test(tests, no_model);
    tcase_add_test(tests, pieces);
    tcase_add_test(tests, broken_models);
}

int main(void)
{
    return unit_run("sentencepiece", add);
}
