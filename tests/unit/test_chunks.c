/* Chunks: toward the end of the inputs they become small. */
#include "scan/chunks.h"

#include <sys/stat.h>

#include "kind/text/text.h"
#include "scan/sources.h"
#include "unit.h"

UNIT_SCRATCH

#define MIB ((int64_t)1 << 20)

/* The text kind, and the files of folder v. */
struct sample {
    struct bl_kind kind;
    struct bl_kind_scan scan;
    void *config;
    struct bl_options options;
    struct bl_files files;
    struct bl_cancel cancel;
    struct bl_chunks chunks;
};

static void begin(struct sample *s)
{
    struct bl_error e = {0};
    struct bl_buffer warning = {0};
    const struct bl_source source = {.path = "v", .kind = &bl_kind_text};
    *s = (struct sample){.kind = bl_kind_text, .scan = *bl_kind_text.scan};
    s->kind.scan = &s->scan;
    s->config = calloc(1, s->kind.options.config_size);
    ck_assert_ptr_nonnull(s->config);
    ck_assert_int_eq(bl_options_add(&s->options, NULL, s->kind.options.table, s->config, &e), BL_OK);
    ck_assert_int_eq(bl_options_set(&s->options, "documents", "line", BL_ORIGIN_FILE, &e), BL_OK);
    ck_assert_int_eq(bl_kind_check(&s->kind, s->config, &e), BL_OK);
    ck_assert_int_eq(s->kind.options.prepare(s->config, &warning, &e), BL_OK);
    ck_assert_int_eq(bl_sources_list(&s->files, &(struct bl_sources){.source = &source, .count = 1}, &e), BL_OK);
    s->chunks = (struct bl_chunks){.files = &s->files, .kind = &s->kind, .config = s->config, .cancel = &s->cancel};
}

static void end(struct sample *s)
{
    bl_chunks_close(&s->chunks);
    s->kind.options.release(s->config);
    free(s->config);
    bl_options_free(&s->options);
    bl_files_free(&s->files);
}

/* Bytes of the next chunk; -1: there is none. */
static int64_t next(struct sample *s)
{
    struct bl_error e = {0};
    struct bl_chunk_files files;
    bool found;
    ck_assert_msg(bl_chunks_next(&s->chunks, &files, &found, &e) == BL_OK, "%s", e.text);
    int64_t bytes = found ? 0 : -1;
    for (int i = 0; i < files.chunk.inputs; i++)
        bytes += files.chunk.input[i].bytes;
    if (bytes > files.chunk.end)
        bytes = files.chunk.end;
    bytes = found ? bytes - files.chunk.begin : bytes;
    bl_chunk_files_free(&files);
    return bytes;
}

/* Makes sparse files of these sizes, and cuts them. Returns the number of chunks, of which none may be larger than one
 * before, but for the rest of a file; *first, *last: the size of those. */
static int cut(const int64_t *size, int files, int64_t *first, int64_t *last)
{
    struct sample s;
    int chunks = 0;
    int64_t sum = 0, before = INT64_MAX;
    ck_assert_int_eq(system("rm -rf v && mkdir v"), 0);
    for (int f = 0; f < files; f++) {
        char command[80];
        snprintf(command, sizeof command, "truncate -s %lld v/%d.txt", (long long)size[f], f);
        ck_assert_int_eq(system(command), 0);
        sum += size[f];
    }
    begin(&s);
    for (int64_t bytes; (bytes = next(&s)) >= 0; before = bytes) {
        *first = chunks++ ? *first : bytes;
        *last = bytes;
        sum -= bytes;
        ck_assert_msg(bytes <= (files == 1 ? before : *first), "chunk %d has %lld bytes, the one before %lld", chunks,
                      (long long)bytes, (long long)before);
    }
    ck_assert_int_eq(sum, 0);
    end(&s);
    return chunks;
}

UNIT_TEST(one_file)
{
    int64_t first, last;
    ck_assert_int_eq(cut(&(int64_t){MIB}, 1, &first, &last), 1);
    ck_assert_int_eq(cut(&(int64_t){80 * MIB}, 1, &first, &last), 80);
    int chunks = cut(&(int64_t){2048 * MIB}, 1, &first, &last); /* 128 ln 16 = 355 until they have a MiB, then 128 */
    ck_assert_int_gt(chunks, 470);
    ck_assert_int_lt(chunks, 490);
    ck_assert_int_eq(first, 16 * MIB);
    ck_assert_int_le(last, MIB);
    chunks = cut(&(int64_t){1024 * 1024 * MIB}, 1, &first, &last);
    ck_assert_int_eq(first, 64 * MIB);
    ck_assert_int_le(last, MIB);
    ck_assert_int_lt(chunks, 1024 * 16 + 600);
}

/* Only the last of many files are cut small. */
UNIT_TEST(what_follows_a_file_counts)
{
    int64_t size[10], first, last;
    for (int f = 0; f < 10; f++)
        size[f] = 1024 * 64 * MIB;
    int chunks = cut(size, 10, &first, &last);
    ck_assert_int_eq(first, 64 * MIB);
    ck_assert_int_lt(chunks, 10 * 1024 + 600);
    for (int f = 0; f < 10; f++)
        size[f] = 16 * MIB;
    ck_assert_int_ge(cut(size, 10, &first, &last), 128);
    ck_assert_int_le(first, 160 * MIB / 128);
}
