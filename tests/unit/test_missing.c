/* What a finished dataset lacks, and that only what made it makes it again. */
#include "store/folders.h"

#include <sys/stat.h>

#include "run/job.h"
#include "sample.h"
#include "store/dataset.h"

static void path_of(const struct sample *s, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", s->dir, name);
}

static void is_missing(const struct sample *s, const struct bl_manifest *m, int64_t begin, int64_t end, int64_t count,
                       int64_t first)
{
    OWNED(bl_missing_free) struct bl_missing missing;
    struct bl_error e = {0};
    ck_assert_msg(bl_missing_find(&missing, s->dir, m, begin, end, &e) == 0, "%s", e.text);
    ck_assert_int_eq(missing.count, count);
    ck_assert_int_eq(missing.first, first);
}

SAMPLE_TEST(shards_that_are_gone_or_cut, (struct sample_kind){.shard_size = 6000})
{
    OWNED(bl_manifest_free) struct bl_manifest m;
    char path[128], name[BL_SHARD_NAME_MAX];
    ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
    int64_t shards = bl_format_shards(&m.format);
    ck_assert_int_ge(shards, 6);
    is_missing(s, &m, 0, shards, 0, 0);
    path_of(s, bl_format_shard_name(&m.format, 2, name), path);
    ck_assert_int_eq(unlink(path), 0);
    path_of(s, bl_format_shard_name(&m.format, 4, name), path);
    ck_assert_int_eq(truncate(path, 4000), 0);
    is_missing(s, &m, 0, shards, 2, 2);
    is_missing(s, &m, 3, shards, 1, 4);
    is_missing(s, &m, 5, shards, 0, 0);
    /* A folder in its place is no shard. */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    is_missing(s, &m, 3, shards, 1, 4);
}

SAMPLE_TEST(files_beside_the_shards, (struct sample_kind){0})
{
    static const char *const names[] = {BL_SEQUENCES_FILE, BL_SHARDS_FILE, BL_INDEX_FILE};
    OWNED(bl_manifest_free) struct bl_manifest m;
    char path[128];
    ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
    ck_assert_int_eq(bl_missing_check_files(s->dir, &m, &e), 0);
    for (int i = 0; i < 3; i++) {
        path_of(s, names[i], path);
        ck_assert_int_eq(truncate(path, 10), 0);
        ck_assert_int_eq(bl_missing_check_files(s->dir, &m, &e), BL_EDATA);
        ck_assert_ptr_nonnull(strstr(e.text, path));
        ck_assert_ptr_nonnull(strstr(e.text, "has 10 bytes"));
        bl_error_clear(&e);
        ck_assert_int_eq(unlink(path), 0);
        FAILS_WITH(bl_missing_check_files(s->dir, &m, &e), BL_EDATA, "is missing");
        m.file[i].bytes = 0;
        fclose(fopen(path, "w"));
    }
}

SAMPLE_TEST(an_edited_table_of_shards, (struct sample_kind){0})
{
    OWNED(bl_manifest_free) struct bl_manifest m;
    OWNED(bl_missing_free) struct bl_missing missing;
    char command[256];
    ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
    snprintf(command, sizeof command, "sed -i '2s/.$/z/' %s/" BL_SHARDS_FILE, s->dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(bl_missing_check_files(s->dir, &m, &e), 0); /* as long as it was */
    FAILS_WITH(bl_missing_find(&missing, s->dir, &m, 0, 1, &e), BL_EDATA, "differs from the manifest");
}

/* The draft of the same dataset, as another version of something would make it. */
static int compare(const struct sample *s, struct bl_manifest *draft, struct bl_error *e)
{
    struct bl_packing p = {.request.output = s->dir, .manifest = *draft};
    bl_error_clear(e);
    return bl_packing_compare_draft(&p, e);
}

SAMPLE_TEST(only_what_made_it_makes_it_again, (struct sample_kind){0})
{
    OWNED(bl_manifest_free) struct bl_manifest m;
    ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
    struct bl_manifest draft = m;
    char digest[BL_DIGEST_SIZE] = "0123456789abcdef", other[] = "9.9.9";
    draft.skipped = draft.failed = draft.failed_steps = 0;
    draft.files = 0;
    ck_assert_msg(compare(s, &draft, &e) == 0, "%s", e.text);
    draft.tool = other;
    FAILS_WITH(compare(s, &draft, &e), BL_EFAIL, "was made with bload 0.0.0, but this is 9.9.9");
    draft.tool = m.tool;
    struct bl_manifest_pair pair = {draft.libraries.pair[0].name, other};
    draft.libraries.pair = &pair;
    FAILS_WITH(compare(s, &draft, &e), BL_EFAIL, "was made with libexample 1.2.3, but this is 9.9.9");
    draft.libraries = m.libraries;
    memcpy(draft.format.plan_digest, digest, sizeof digest);
    FAILS_WITH(compare(s, &draft, &e), BL_EFAIL, "with another plan");
    draft.format = m.format;
    draft.plan_info.lower_bound--;
    FAILS_WITH(compare(s, &draft, &e), BL_EFAIL, "would make other shards");
}
