#include "store/format.h"
#include "store/shard_writer.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sample.h"
#include "store/shard_reader.h"

static const struct sample_kind kinds[] = {
    {0},
    {.compressed = true},
    {.split = true},
    {.compressed = true, .split = true, .segment_ids = true, .attributes = true},
    {.segment_ids = true},
    {.split = true, .segment_ids = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
    {.split = true, .compressed = true, .encoding = {.kind = BL_ENCODING_DELTA, .quality = 0}},
    {.split = true, .compressed = true, .segment_ids = true, .frame_size = 500},
    {.own = true, .attributes = true},
    {.own = true, .split = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
    {.own = true, .split = true, .compressed = true, .frame_size = 50},
};

#define KINDS COUNT(kinds)

/* --- form ------------------------------------------------------------------------------------------------------- */

UNIT_LOOP(the_layout_keeps_the_order_and_alignment_that_loaders_want, KINDS)
{
    OWNED(sample_free) struct sample s = {0};
    OWNED(bl_layout_free) struct bl_layout layout;
    sample_plan(&s, kinds[_i]);
    ck_assert_int_eq(bl_layout_make(&layout, &s.format, 0, &e), 0);
    ck_assert_uint_eq(layout.header.size % BL_SAFETENSORS_ALIGN, 0);
    int64_t at = 0;
    for (int i = 0; i < layout.tensors; i++) {
        const struct bl_shard_tensor *t = &layout.tensor[i], *before = i ? t - 1 : t;
        size_t size = bl_dtype_size(t->tensor.dtype), size_before = bl_dtype_size(before->tensor.dtype);
        ck_assert_int_eq(t->tensor.begin, at);
        ck_assert_int_eq(t->tensor.begin % (int64_t)size, 0);
        ck_assert(t->flat || t->row_bytes * layout.blocks == t->tensor.end - at);
        ck_assert(size < size_before || (size == size_before && (before->field < 0 || t->field >= 0)));
        bool alike = (before->field < 0) == (t->field < 0) && (before->table < BL_TABLES) == (t->table < BL_TABLES);
        if (i && size == size_before && alike)
            ck_assert_int_lt(strcmp(before->tensor.name, t->tensor.name), 0);
        at = t->tensor.end;
    }
    ck_assert_int_eq(layout.file_size, (int64_t)layout.header.size + at);
    bool jpeg = bl_format_encodes(&s.format, BL_ENCODING_JPEG);
    ck_assert_int_eq(layout.tensors, 3 + 4 + s.format.attributes + s.format.has_segment_ids +
                                         s.format.has_source_start + jpeg +
                                         (kinds[_i].own ? 5 : 0)); /* two tables, two fields, the offsets of one */
    ck_assert_int_eq(layout.tensor[layout.tensors - 1].varies, jpeg);
}

UNIT_TEST(shards_share_out_the_blocks)
{
    OWNED(sample_free) struct sample s = {0};
    struct bl_layout layout;
    char name[BL_SHARD_NAME_MAX];
    sample_plan(&s, (struct sample_kind){0});
    for (int64_t size = 1; size < 100000; size += 997) {
        ck_assert_int_eq(bl_layout_divide(&s.format, size, &e), 0);
        int64_t blocks = 0;
        for (int64_t i = 0; i < bl_format_shards(&s.format); i++) {
            ck_assert_int_eq(bl_format_first_block(&s.format, i), blocks);
            ck_assert_int_ge(bl_format_blocks_of(&s.format, i), 1);
            blocks += bl_format_blocks_of(&s.format, i);
        }
        ck_assert_int_eq(blocks, s.format.blocks);
        ck_assert_int_eq(bl_layout_make(&layout, &s.format, 0, &e), 0);
        ck_assert(layout.file_size <= size || s.format.blocks_per_shard == 1);
        int64_t block_bytes = (layout.file_size - (int64_t)layout.header.size) / layout.blocks;
        ck_assert(layout.file_size + block_bytes > size || s.format.blocks_per_shard == s.format.blocks);
        bl_layout_free(&layout);
    }
    ck_assert_str_eq(bl_format_shard_name(&s.format, 1234567, name), "shards/01234/shard-01234567.safetensors");
    s.format.compressed = true;
    ck_assert_str_eq(bl_format_shard_name(&s.format, 999, name), "shards/00000/shard-00000999.safetensors.zst");
}

/* What init says of a format whose first field was changed. */
static int init_with(struct sample *s, const char *name, int64_t height, int64_t T)
{
    struct bl_format format = s->format;
    struct bl_error e = {0};
    snprintf(format.fields.field[0].name, sizeof format.fields.field[0].name, "%s", name);
    format.fields.field[0].shape[0] = height;
    format.T = T;
    return bl_layout_divide(&format, 1 << 20, &e);
}

UNIT_TEST(encoding_changes_neither_shards_nor_what_is_plain)
{
    OWNED(sample_free) struct sample raw = {0}, s = {0};
    OWNED(bl_layout_free) struct bl_layout a, b;
    sample_plan(&raw, (struct sample_kind){0});
    sample_plan(&s, (struct sample_kind){.encoding = {.kind = BL_ENCODING_JPEG, .quality = 75}});
    ck_assert_int_eq(s.format.blocks_per_shard, raw.format.blocks_per_shard);
    ck_assert_int_eq(bl_layout_make(&a, &s.format, 0, &e), 0);
    ck_assert_int_eq(bl_layout_make(&b, &s.format, 0, &e), 0);
    /* The header has room for any number, and nothing moves. */
    const int64_t bytes[BL_FIELDS_MAX] = {INT64_MAX / 4};
    ck_assert_msg(bl_layout_resolve(&b, &s.format, bytes, &e) == 0, "%s", e.text);
    ck_assert_uint_eq(a.header.size, b.header.size);
    ck_assert_int_eq(b.file_size - a.file_size, bytes[0]);
    for (int i = 0; i < a.tensors; i++)
        ck_assert_int_eq(a.tensor[i].tensor.begin, b.tensor[i].tensor.begin);
    ck_assert_ptr_nonnull(memmem(b.header.data, b.header.size, "\"frames_encoding\":\"jpeg:75\"", 27));
    ck_assert_str_eq(bl_layout_offsets(&b, 0)->tensor.name, "frames_offsets");
    ck_assert_ptr_null(bl_layout_offsets(&b, 1));
}

/* What check says of a format whose first field is encoded so, and whose second is named so. */
static int check_encoded(const struct sample *s, struct bl_encoding encoding, bool compressed, const char *other)
{
    struct bl_format format = s->format;
    struct bl_error e = {0};
    format.encoding[0] = encoding;
    format.compressed = compressed;
    snprintf(format.fields.field[1].name, sizeof format.fields.field[1].name, "%s", other);
    return bl_format_check(&format, &e);
}

UNIT_TEST(encodings_that_cannot_be_are_refused)
{
    OWNED(sample_free) struct sample s = {0};
    const struct bl_encoding jpeg = {.kind = BL_ENCODING_JPEG, .quality = 90},
                             delta = {.kind = BL_ENCODING_DELTA, .quality = 0};
    sample_plan(&s, (struct sample_kind){0});
    ck_assert_int_eq(check_encoded(&s, jpeg, false, "labels"), 0);
    ck_assert_int_eq(check_encoded(&s, jpeg, true, "labels"), BL_EUSAGE);
    ck_assert_int_eq(check_encoded(&s, delta, true, "labels"), 0);
    ck_assert_int_eq(check_encoded(&s, delta, false, "labels"), BL_EUSAGE);
    ck_assert_int_eq(check_encoded(&s, jpeg, false, "frames_jpeg"), BL_EUSAGE);
    ck_assert_int_eq(check_encoded(&s, jpeg, false, "frames_offsets"), BL_EUSAGE);
    ck_assert_int_eq(check_encoded(&s, jpeg, false, "frames_delta"), 0);
    ck_assert_int_eq(check_encoded(&s, delta, true, "frames_delta"), BL_EUSAGE);
    struct bl_format format = s.format;
    format.encoding[2] = jpeg; /* features */
    ck_assert_int_eq(bl_format_check(&format, &e), BL_EUSAGE);
    format = s.format;
    format.encoding[0] = jpeg;
    memset(format.fields.field[0].name, 'x', BL_FIELD_NAME_MAX - 9);
    ck_assert_int_eq(bl_format_check(&format, &e), 0);
    memset(format.fields.field[0].name, 'x', BL_FIELD_NAME_MAX - 8);
    ck_assert_int_eq(bl_format_check(&format, &e), BL_EUSAGE); /* no room for _offsets */
}

UNIT_TEST(formats_that_cannot_be_are_refused)
{
    OWNED(sample_free) struct sample s = {0};
    sample_plan(&s, (struct sample_kind){0});
    ck_assert_int_eq(init_with(&s, "frames", 4, 16), 0);
    ck_assert_int_eq(init_with(&s, "sequence", 4, 16), BL_EUSAGE);
    ck_assert_int_eq(init_with(&s, "segment_ids", 4, 16), BL_EUSAGE);
    ck_assert_int_eq(init_with(&s, "__metadata__", 4, 16), BL_EUSAGE);
    ck_assert_int_eq(init_with(&s, "", 4, 16), BL_EUSAGE);
    ck_assert_int_eq(init_with(&s, "frames", 0, 16), BL_EUSAGE);
    ck_assert_int_eq(init_with(&s, "frames", INT64_C(1) << 36, BL_T_MAX), BL_EUSAGE); /* over 2^64 bytes a block */
    ck_assert_int_eq(init_with(&s, "frames", 4, 0), BL_EUSAGE);
    snprintf(s.format.fields.field[1].name, sizeof s.format.fields.field[1].name, "frames");
    ck_assert_int_eq(bl_layout_divide(&s.format, 1 << 20, &e), BL_EUSAGE);
}

/* What a check says of a format with these attributes. */
static int check_attributes(const struct sample *s, const char *first, const char *second, enum bl_dtype dtype,
                            int count)
{
    struct bl_format format = s->format;
    struct bl_error e = {0};
    format.attributes = count;
    snprintf(format.attribute[0].name, sizeof format.attribute[0].name, "%s", first);
    snprintf(format.attribute[1].name, sizeof format.attribute[1].name, "%s", second);
    format.attribute[1].dtype = dtype;
    return bl_format_check(&format, &e);
}

UNIT_TEST(attributes_that_cannot_be_are_refused)
{
    OWNED(sample_free) struct sample s = {0};
    sample_plan(&s, (struct sample_kind){.attributes = true});
    ck_assert_int_eq(check_attributes(&s, "class", "weight", BL_F64, 2), 0);
    ck_assert_int_eq(check_attributes(&s, "class", "class", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "sequence", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "segment_ids", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "features", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "weight", BL_F32, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "weight", BL_F64, BL_ATTRIBUTES_MAX + 1), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "weight", BL_F64, -1), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "class", "frames_offsets", BL_F64, 2), 0);
    s.format.encoding[0] = (struct bl_encoding){.kind = BL_ENCODING_JPEG, .quality = 90};
    ck_assert_int_eq(check_attributes(&s, "class", "frames_offsets", BL_F64, 2), BL_EUSAGE);
    ck_assert_int_eq(check_attributes(&s, "frames_jpeg", "weight", BL_F64, 2), BL_EUSAGE);
}

/* Verifying takes "sequence" before all others, whatever attributes are called. */
UNIT_TEST(tables_come_before_attributes_before_fields)
{
    OWNED(sample_free) struct sample s = {0};
    OWNED(bl_layout_free) struct bl_layout layout;
    static const char *const order[] = {"sequence",   "class",  "weight",       "labels",
                                        "cu_seqlens", "length", "num_sequences"};
    sample_plan(&s, (struct sample_kind){.attributes = true});
    ck_assert_int_eq(bl_layout_make(&layout, &s.format, 0, &e), 0);
    for (size_t i = 0; i < COUNT(order); i++)
        ck_assert_str_eq(layout.tensor[i].tensor.name, order[i]);
    ck_assert_int_eq(layout.tensor[2].tensor.dtype, BL_F64);
    ck_assert_int_eq(layout.tensor[2].row_bytes, 8 * s.format.S);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

UNIT_TEST(a_failed_piece_keeps_its_place)
{
    OWNED(sample_free) struct sample s = {0};
    OWNED(bl_block_free) struct bl_block block;
    int32_t ids[16];
    sample_plan(&s, (struct sample_kind){.segment_ids = true});
    ck_assert_int_eq(bl_block_make(&block, 1, &s.format, true, &e), 0);
    ck_assert_uint_eq((uintptr_t)block.field[2] % 64, 0);
    int64_t b = 0;
    do
        bl_block_plan(&block, &s.format, &s.plan, s.length, b++);
    while (block.num_sequences < 2);
    for (int f = 0; f < 3; f++)
        memset(block.field[f], 0xee, bl_format_block_bytes(&s.format, f));
    int32_t start = block.cu_seqlens[1], end = block.cu_seqlens[2];
    bl_block_fail(&block, &s.format, 1);
    ck_assert_int_eq(block.sequence[1], -1);
    ck_assert_int_eq(block.length[1], 0);
    ck_assert_int_eq(block.cu_seqlens[1], start);
    ck_assert_int_eq(block.cu_seqlens[2], end);
    for (size_t i = 0; i < 16 * 24; i++)
        ck_assert_int_eq(block.field[2][i], i >= (size_t)start * 24 && i < (size_t)end * 24 ? 0 : 0xee);
    bl_block_segment_ids(&block, &s.format, ids);
    for (int32_t t = 0; t < 16; t++) {
        if (t >= start && t < end)
            ck_assert_int_eq(ids[t], 0);
        else if (t < start)
            ck_assert_int_eq(ids[t], 1);
    }
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* All of a shard's uncompressed bytes. */
static uint8_t *read_all(const struct sample *s, int64_t shard, int64_t *size)
{
    OWNED(bl_shard_reader_close) struct bl_shard_reader file;
    struct bl_error e = {0};
    char path[200], name[BL_SHARD_NAME_MAX];
    snprintf(path, sizeof path, "%s/%s", s->dir, bl_format_shard_name(&s->format, shard, name));
    ck_assert_msg(bl_shard_reader_open(&file, path, s->format.compressed, &e) == 0, "%s", e.text);
    uint8_t *bytes = malloc((size_t)file.size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_msg(bl_shard_reader_read(&file, 0, file.size, bytes, &e) == 0, "%s", e.text);
    uint8_t some[100];
    for (int64_t at = 0; at + 100 < file.size; at += 777) { /* parts of frames, and over their borders */
        ck_assert_int_eq(bl_shard_reader_read(&file, at, 100, some, &e), 0);
        ck_assert_int_eq(memcmp(some, bytes + at, 100), 0);
    }
    ck_assert_int_eq(bl_shard_reader_read(&file, file.size - 1, 2, some, &e), BL_EDATA);
    *size = file.size;
    return bytes;
}

UNIT_LOOP(compressed_content_is_the_plain_file, 3)
{
    static const size_t frame_size[] = {0, 500, 77};
    OWNED(sample_free) struct sample plain, packed;
    sample_make(&plain, (struct sample_kind){.split = true, .segment_ids = true});
    sample_make(&packed, (struct sample_kind){
                             .split = true, .segment_ids = true, .compressed = true, .frame_size = frame_size[_i]});
    for (int64_t i = 0; i < bl_format_shards(&plain.format); i++) {
        int64_t plain_size, packed_size;
        FREED uint8_t *a = read_all(&plain, i, &plain_size), *b = read_all(&packed, i, &packed_size);
        ck_assert_int_eq(plain_size, packed_size);
        ck_assert_int_eq(memcmp(a, b, (size_t)plain_size), 0);
    }
}

SAMPLE_LOOP(a_finished_shard_is_found_with_its_record, KINDS, kinds[_i])
{
    for (int64_t i = 0; i < bl_format_shards(&s->format); i++) {
        OWNED(bl_shard_record_free) struct bl_shard_record found;
        ck_assert(sample_find(s, i, &found));
        ck_assert_int_eq(found.first_block, bl_format_first_block(&s->format, i));
        ck_assert_int_eq(found.blocks, bl_format_blocks_of(&s->format, i));
        ck_assert_uint_eq(found.user_data_size, 5);
        ck_assert_str_eq(found.user_data, "note\n");
        if (!s->format.compressed) {
            int64_t size;
            FREED uint8_t *bytes = read_all(s, i, &size);
            OWNED(bl_layout_free) struct bl_layout layout;
            ck_assert_int_eq(bl_layout_make(&layout, &s->format, i, &e), 0);
            const struct bl_shard_tensor *t = bl_layout_field(&layout, 2);
            ck_assert_int_eq(size, found.bytes);
            ck_assert_uint_eq(found.block_checksum[2],
                              bl_checksum(bytes + layout.header.size + t->tensor.begin, (size_t)t->row_bytes));
        }
    }
}

SAMPLE_LOOP(the_same_shard_twice_is_the_same_file, KINDS, kinds[_i])
{
    OWNED(bl_shard_record_free) struct bl_shard_record before, after;
    ck_assert(sample_find(s, 1, &before));
    int64_t size, size_after;
    FREED uint8_t *bytes = read_all(s, 1, &size);
    sample_shard(s, 1, &after);
    FREED uint8_t *bytes_after = read_all(s, 1, &size_after);
    ck_assert_uint_eq(before.checksum, after.checksum);
    ck_assert_int_eq(before.bytes, after.bytes);
    ck_assert_int_eq(size, size_after);
    ck_assert_int_eq(memcmp(bytes, bytes_after, (size_t)size), 0);
}

/* Whether shard 0 is still found. */
static bool find_first(const struct sample *s)
{
    OWNED(bl_shard_record_free) struct bl_shard_record record;
    bool found = sample_find(s, 0, &record);
    return found;
}

/* Flips a bit of a file, counted from its start or, negative, from its end. */
static void flip(const struct sample *s, const char *name, int64_t at)
{
    char path[200];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    ck_assert_int_eq(stat(path, &status), 0);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at < 0 ? status.st_size + at : at, SEEK_SET), 0);
    int byte = fgetc(file);
    ck_assert_int_eq(fseek(file, -1, SEEK_CUR), 0);
    ck_assert_int_eq(fputc(byte ^ 4, file), byte ^ 4);
    ck_assert_int_eq(fclose(file), 0);
}

SAMPLE_LOOP(what_is_not_as_the_format_has_it_is_not_found, KINDS, kinds[_i])
{
    char name[BL_SHARD_NAME_MAX], path[200];
    static const char record[] = ".bload/shard-00000000.record";
    bl_format_shard_name(&s->format, 0, name);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    ck_assert(find_first(s));
    flip(s, name, 100); /* in the header, or its frame */
    ck_assert(!find_first(s));
    flip(s, name, 100);
    flip(s, record, 40);
    ck_assert(!find_first(s));
    flip(s, record, 40);
    flip(s, record, -30);
    ck_assert(!find_first(s));
    flip(s, record, -30);
    ck_assert(find_first(s));
    s->format.plan_digest[3] ^= 1;
    ck_assert(!find_first(s));
    s->format.plan_digest[3] ^= 1;
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(truncate(path, status.st_size - 1), 0);
    ck_assert(!find_first(s));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(!find_first(s));
}

UNIT_TEST(an_unfinished_shard_bears_no_name_and_is_removed)
{
    OWNED(sample_free) struct sample s = {0};
    struct bl_shard_writer *shard;
    struct bl_shard_record record;
    OWNED(bl_block_free) struct bl_block block;
    char command[200];
    unit_mkdir(s.dir);
    sample_plan(&s, (struct sample_kind){0});
    ck_assert_int_eq(bl_block_make(&block, 1, &s.format, true, &e), 0);
    ck_assert_int_eq(bl_folders_prepare(s.dir, &e), 0);
    ck_assert_int_eq(bl_shard_writer_open(&s.format, &s.plan, s.dir, 0, &shard, &e), 0);
    bl_block_plan(&block, &s.format, &s.plan, s.length, 0);
    ck_assert_int_eq(bl_shard_writer_put_blocks(shard, &block, 1, NULL, &e), 0);
    ck_assert_int_eq(bl_shard_writer_put_blocks(shard, &block, 1, NULL, &e), BL_EFAIL); /* twice */
    bl_error_clear(&e);
    block.index = s.format.blocks_per_shard;
    ck_assert_int_eq(bl_shard_writer_put_blocks(shard, &block, 1, NULL, &e), BL_EFAIL); /* of the next shard */
    bl_error_clear(&e);
    ck_assert_int_eq(bl_shard_writer_finish(shard, NULL, NULL, 0, &record, &e), BL_EFAIL); /* blocks are missing */
    snprintf(command, sizeof command, "test -z \"$(find %s/shards -type f)\" && ls %s/.bload | grep -q part", s.dir,
             s.dir);
    ck_assert_int_eq(system(command), 0);
    bl_shard_writer_free(shard);
    snprintf(command, sizeof command, "test -z \"$(find %s -type f)\"", s.dir);
    ck_assert_int_eq(system(command), 0);
}

/* An empty file of that name in dir. */
static void leave(const char *dir, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}

SAMPLE_LOOP(shards_that_bear_their_names, KINDS, kinds[_i])
{
    char name[BL_SHARD_NAME_MAX], path[200];
    uint8_t there[BL_SHARDS_PER_FOLDER] = {0};
    int64_t shards = bl_format_shards(&s->format);
    ck_assert_int_gt(shards, 2);
    snprintf(path, sizeof path, "%s/%s", s->dir, bl_format_shard_name(&s->format, 1, name));
    ck_assert_int_eq(unlink(path), 0);
    leave(s->dir, s->format.compressed ? "shards/00000/shard-00000001.safetensors"
                                       : "shards/00000/shard-00000001.safetensors.zst"); /* of another format */
    leave(s->dir, "shards/00000/shard-00001000.safetensors");                            /* of another folder */
    leave(s->dir, "shards/00000/shard-00001000.safetensors.zst");
    ck_assert_msg(bl_folders_read_shards(s->dir, &s->format, 0, there, &e) == 0, "%s", e.text);
    for (int64_t i = 0; i < BL_SHARDS_PER_FOLDER; i++)
        ck_assert_int_eq(there[i], i != 1 && i < shards);
    memset(there, 0, sizeof there);
    ck_assert_int_eq(bl_folders_read_shards(s->dir, &s->format, 1000, there, &e), 0); /* no such folder */
    ck_assert_ptr_null(memchr(there, 1, sizeof there));
    snprintf(path, sizeof path, "%s/shards/00001", s->dir);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    leave(s->dir, bl_format_shard_name(&s->format, 1999, name));
    ck_assert_int_eq(bl_folders_read_shards(s->dir, &s->format, 1000, there, &e), 0);
    ck_assert_ptr_eq(memchr(there, 1, sizeof there), there + 999);
    leave(s->dir, "shards/00002");
    FAILS_WITH(bl_folders_read_shards(s->dir, &s->format, 2000, there, &e), BL_EFAIL, "shards/00002");
}

UNIT_TEST(sweeping_removes_only_what_is_unfinished)
{
    OWNED(sample_free) struct sample s;
    char path[200];
    sample_make(&s, (struct sample_kind){0});
    snprintf(path, sizeof path, "%s/.bload/shard-00000000.safetensors.part-elsewhere-1", s.dir);
    leave(s.dir, path + strlen(s.dir));
    ck_assert_int_eq(bl_folders_sweep(s.dir, false, &e), 0);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert(find_first(&s));
    sample_remove(s.dir);
    ck_assert_int_eq(bl_folders_sweep(s.dir, false, &e), 0); /* nothing there is fine */
}

/* Makes an empty file that bload would be writing on that machine. */
static void leave_part(const struct sample *s, const char *host, char path[300])
{
    snprintf(path, 300, "%s/.bload/shard-00000000.record.part-%s-1234-0123abcd", s->dir, host);
    leave(s->dir, path + strlen(s->dir));
}

SAMPLE_TEST(a_machine_sweeps_only_what_is_its_own, (struct sample_kind){0})
{
    char host[65], longer[70], own[300], alike[300], elsewhere[300];
    bl_temporary_host(host);
    snprintf(longer, sizeof longer, "%s2", host);
    leave_part(s, host, own);
    leave_part(s, longer, alike);
    leave_part(s, "elsewhere", elsewhere);
    ck_assert_msg(bl_folders_sweep(s->dir, true, &e) == 0, "%s", e.text);
    ck_assert_int_ne(access(own, F_OK), 0);
    ck_assert_int_eq(access(alike, F_OK), 0);
    ck_assert_int_eq(access(elsewhere, F_OK), 0);
}

UNIT_TEST(a_file_that_may_not_grow_is_told_at_once)
{
    OWNED(sample_free) struct sample s = {0};
    struct bl_shard_writer *shard = NULL;
    unit_mkdir(s.dir);
    sample_plan(&s, (struct sample_kind){0});
    ck_assert_int_eq(bl_folders_prepare(s.dir, &e), 0);
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){4096, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    FAILS_WITH(bl_shard_writer_open(&s.format, &s.plan, s.dir, 0, &shard, &e), BL_EFAIL, "shard-00000000");
    ck_assert_ptr_null(shard);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0); /* the tests may all be one process */
}

/* --- many at once ----------------------------------------------------------------------------------------------- */

#define RUN 3 /* blocks that are put together */

struct putter {
    const struct sample *sample;
    struct bl_shard_writer *shard;
    int first, step;
};

static void *put_some(void *context)
{
    const struct putter *p = context;
    const struct bl_format *format = &p->sample->format;
    struct bl_compressor *compressor = NULL;
    struct bl_codec *codec;
    struct bl_block block[RUN];
    struct bl_error e = {0};
    if (format->compressed)
        ck_assert_int_eq(bl_compressor_open(format->level, &compressor, &e), 0);
    ck_assert_int_eq(bl_codec_open(format, &codec, &e), 0);
    ck_assert_int_eq(bl_block_make(block, (size_t)RUN, format, true, &e), 0);
    for (int64_t first = p->first * RUN; first < format->blocks; first += p->step * RUN) {
        int blocks = format->blocks - first < RUN ? (int)(format->blocks - first) : RUN;
        for (int b = 0; b < blocks; b++)
            bl_block_plan(&block[b], format, &p->sample->plan, p->sample->length, first + b);
        bl_shard_writer_place_blocks(p->shard, block, blocks);
        for (int b = 0; b < blocks; b++) {
            sample_fill(p->sample, &block[b]);
            ck_assert_int_eq(bl_shard_writer_encode_block(p->shard, &block[b], codec, &e), 0);
        }
        ck_assert_int_eq(bl_shard_writer_put_blocks(p->shard, block, blocks, compressor, &e), 0);
    }
    bl_codec_close(codec);
    bl_block_free(block);
    bl_compressor_close(compressor);
    return NULL;
}

/* In runs, which gives the bytes of single blocks. */
UNIT_LOOP(workers_put_blocks_at_once, KINDS)
{
    OWNED(sample_free) struct sample s;
    enum { WORKERS = 4 };
    OWNED(bl_shard_record_free) struct bl_shard_record before, after;
    struct bl_shard_writer *shard;
    struct putter putter[WORKERS];
    struct bl_compressor *compressor;
    pthread_t thread[WORKERS];
    struct sample_kind kind = kinds[_i];
    kind.shard_size = 1 << 20; /* one shard */
    sample_make(&s, kind);
    ck_assert(sample_find(&s, 0, &before));
    ck_assert_int_eq(before.blocks, s.format.blocks);
    ck_assert_int_eq(bl_compressor_open(3, &compressor, &e), 0);
    ck_assert_int_eq(bl_shard_writer_open(&s.format, &s.plan, s.dir, 0, &shard, &e), 0);
    for (int i = 0; i < WORKERS; i++) {
        putter[i] = (struct putter){&s, shard, i, WORKERS};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, put_some, &putter[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    ck_assert_int_eq(bl_shard_writer_finish(shard, compressor, NULL, 0, &after, &e), 0);
    ck_assert_uint_eq(before.checksum, after.checksum);
    bl_shard_writer_free(shard);
    bl_compressor_close(compressor);
}
