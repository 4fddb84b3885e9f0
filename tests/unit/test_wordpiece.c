#include "kind/text/wordpiece.h"
#include "unit.h"

static int read_vocabulary(struct bl_vocabulary *vocabulary, const char *text, struct bl_error *e)
{
    OWNED(bl_buffer_free) struct bl_buffer buffer = {0};
    bl_buffer_text(&buffer, text);
    int rc = bl_wordpiece_vocabulary(vocabulary, &buffer, "vocab.txt", e);
    return rc;
}

UNIT_TEST(words)
{
    static const struct {
        const char *word;
        int32_t id[5];
    } known[] = {
        {"a", {1, -1}},
        {"abb", {3, 2, -1}},
        {"zb", {0, -1}},
        {"abz", {0, -1}},
        {"bb", {0, -1}}, /* a word does not begin with what goes on */
        {"\u00e9bbb", {6, 2, 2, 2, -1}},
        {"aaaaaa", {0, -1}},
        {"abbbbb", {0, -1}}, /* more than five characters */
        {"\u00e9\u00e9\u00e9\u00e9", {6, 5, 5, 5, -1}},
        {"x", {9, -1}}, /* after an empty line */
    };
    OWNED(bl_vocabulary_free) struct bl_vocabulary vocabulary = {0};
    struct bl_wordpiece model;
    OWNED(bl_buffer_free) struct bl_buffer scratch = {0};
    OWNED(bl_ids_free) struct bl_ids ids = {0};
    ck_assert_int_eq(read_vocabulary(&vocabulary, "[UNK]\na\r\n##b \nab\n##\n##\u00e9\n\u00e9\nq\n\nx", &e), 0);
    ck_assert_int_eq(bl_wordpiece_init(&model, &vocabulary, "[UNK]", "##", 5, &e), 0);
    for (size_t i = 0; i < COUNT(known); i++) {
        ids.count = 0;
        ck_assert_msg(bl_wordpiece_encode(&model, &scratch, (const uint8_t *)known[i].word, strlen(known[i].word), &ids,
                                          &e) == BL_OK,
                      "%s", e.text);
        size_t count = 0;
        while (known[i].id[count] >= 0)
            count++;
        ck_assert_msg(ids.count == count && !memcmp(ids.id, known[i].id, count * sizeof *ids.id), "%s", known[i].word);
    }
}

static void expect_error(const char *text, const char *message)
{
    OWNED(bl_vocabulary_free) struct bl_vocabulary vocabulary = {0};
    struct bl_error e = {0};
    FAILS(read_vocabulary(&vocabulary, text, &e), BL_EFAIL, message);
}

UNIT_TEST(bad_vocabularies)
{
    expect_error("a\n\xff\n", "vocab.txt:2: invalid UTF-8");
    expect_error("a\t0\nb\n", "vocab.txt:2: no tab and id behind the token, which the first line has");
    expect_error("a\t3\nb\t3\n", "vocab.txt:2: the id 3 comes after 3");
    OWNED(bl_vocabulary_free) struct bl_vocabulary vocabulary = {0};
    struct bl_wordpiece model;
    ck_assert_int_eq(read_vocabulary(&vocabulary, "a\n", &e), 0);
    FAILS_WITH(bl_wordpiece_init(&model, &vocabulary, "[UNK]", "##", 100, &e), BL_EFAIL, "[UNK]");
    ck_assert_int_eq(bl_wordpiece_init(&model, &vocabulary, "a", "#################", 100, &e), BL_EFAIL);
}

UNIT_TEST(case_of_a_vocabulary)
{
    OWNED(bl_vocabulary_free) struct bl_vocabulary uncased = {0}, cased = {0};
    ck_assert_int_eq(read_vocabulary(&uncased, "[PAD]\n[UNK]\na\n##\u00e9\n", &e), 0);
    ck_assert_int_eq(read_vocabulary(&cased, "[PAD]\n[UNK]\na\n##\u00c9\n", &e), 0);
    ck_assert(bl_wordpiece_uncased(&uncased) && !bl_wordpiece_uncased(&cased));
}
