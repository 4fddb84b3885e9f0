#include "remote/upload.h"
#include "unit.h"

UNIT_TEST(parts_are_as_many_as_a_store_takes)
{
    static const int64_t mib = (int64_t)1 << 20, tib = (int64_t)1 << 40;
    const struct {
        int64_t size, part;
    } cases[] = {{0, 0},
                 {1, 1},
                 {8 * mib, 8 * mib},
                 {8 * mib + 1, 8 * mib},
                 {80000 * mib - 1, 8 * mib},
                 {80000 * mib + 10000, 9 * mib},
                 {5 * tib, 525 * mib},
                 {INT64_MAX, (INT64_MAX / 10000 / mib + 1) * mib}};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_int_eq(bl_remote_part_bytes(cases[i].size), cases[i].part);
    /* 10,000 parts are enough for any size. */
    for (int64_t size = 1; size < INT64_MAX / 3; size = size * 3 + 7)
        ck_assert_int_le((size - 1) / bl_remote_part_bytes(size) + 1, 10000);
}

UNIT_TEST(only_objects_of_stores_are_written)
{
    static const struct {
        const char *url, *fault;
    } cases[] = {{"https://example.org/x", "objects are written to s3:// and gs:// alone"},
                 {"hf://datasets/o/n/x", "objects are written to s3:// and gs:// alone"},
                 {"s3://bucket", "it names no object"},
                 {"s3://bucket/", "it names no object"},
                 {"gs://", "it has no bucket"},
                 {"file:///x", "URLs of this kind are not read"}};
    const struct bl_remote_options options = {0};
    struct bl_remote *remote;
    if (bl_remote_open(&remote, &options, NULL, &e)) {
        unit_skip(e.text);
        return;
    }
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_remote_written written = {0};
        bl_error_clear(&e);
        FAILS_WITH(bl_remote_put(remote, cases[i].url, "x", 1, NULL, &written, &e), BL_EUSAGE, cases[i].fault);
        bl_error_clear(&e);
        FAILS_WITH(bl_remote_upload(remote, cases[i].url, 0, 1, NULL, &written, &e), BL_EUSAGE, cases[i].fault);
        bl_error_clear(&e);
        FAILS_WITH(bl_remote_delete(remote, cases[i].url, &e), BL_EUSAGE, cases[i].fault);
        ck_assert_ptr_null(written.tag);
    }
    bl_remote_close(remote);
}
