/* Whatever is done to a dataset, verify names the file it was done to. */
#include "base/fs.h"
#include "base/output.h"
#include "store/verify.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "bload.h"
#include "run/state_files.h"
#include "sample.h"
#include "store/dataset.h"
#include "store/epochs.h"

static const struct sample_kind kinds[] = {
    {0},
    {.compressed = true},
    {.split = true, .segment_ids = true, .attributes = true},
    {.split = true, .segment_ids = true, .compressed = true, .attributes = true},
    {.split = true, .segment_ids = true, .attributes = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
    {.split = true, .compressed = true, .encoding = {.kind = BL_ENCODING_DELTA, .quality = 0}},
    {.split = true, .compressed = true, .segment_ids = true, .frame_size = 500},
    {.own = true, .split = true, .segment_ids = true, .attributes = true},
    {.own = true, .compressed = true, .frame_size = 300},
    /* Those without a failed sequence last. */
    {.split = true, .sound = true},
    {.sound = true, .segment_ids = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
};

#define KINDS COUNT(kinds)
#define FAILING (KINDS - 2)

struct found {
    int faults;
    struct bl_buffer text; /* "file: text" lines */
};

static void take(void *context, const char *file, const char *text)
{
    struct found *found = context;
    found->faults++;
    bl_buffer_printf(&found->text, "%s: %s\n", file, text);
}

/* Adds what a task finds; as the first of one it verifies all. */
static void verify_task(const char *dir, struct bl_task task, struct found *found)
{
    struct bl_cancel cancel = {0};
    struct bl_verify v;
    struct bl_error e = {0};
    int64_t first, end, failed_steps = 0;
    ck_assert_msg(bl_verify_open(&v, dir, &cancel, take, found, &e) == 0, "%s", e.text);
    bl_task_range(&task, bl_verify_shards(&v), &first, &end);
    ck_assert_int_eq(
        task.index ? bl_verify_prepare_part(&v, first, end, take, found) : bl_verify_files(&v, take, take, found), 0);
    for (int64_t i = first; i < end; i++) {
        int64_t steps = 0;
        ck_assert_msg(bl_verify_shard(&v, i, take, found, &steps, &e) == 0, "%s", e.text);
        failed_steps += steps;
    }
    if (!found->faults && task.count == 1)
        bl_verify_finish(&v, failed_steps, take, found);
    bl_verify_close(&v);
    bl_buffer_text(&found->text, "");
}

static bool has_line(const char *text, const char *line, size_t size)
{
    for (; (text = strchr(text, line[0])); text++) {
        if (strncmp(text, line, size) == 0)
            return true;
    }
    return false;
}

/* What is found where all verify alone, the tasks find together, but for the sum that none of them can make; where
 * nothing is wrong, they find nothing. More than one may tell of a file that they all need. */
static void compare_with_tasks(const char *dir, const struct found *whole)
{
    struct found found = {0};
    for (int64_t i = 0; i < 3; i++)
        verify_task(dir, (struct bl_task){.set = true, .index = i, .count = 3}, &found);
    ck_assert_msg(whole->faults || !found.faults, "tasks alone find:\n%s", found.text.data);
    for (const char *line = whole->text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        bool sum = strstr(line, "\"failed_steps\"") && strstr(line, "\"failed_steps\"") < end;
        ck_assert_msg(sum || has_line(found.text.data, line, (size_t)(end + 1 - line)), "no task finds\n%s\nbut\n%s",
                      line, found.text.data);
    }
    bl_buffer_free(&found.text);
}

/* Verifies all of it, at once and by tasks: how many faults. found->text is to be freed. */
static int verify(const char *dir, struct found *found)
{
    *found = (struct found){0};
    verify_task(dir, (struct bl_task){.set = true, .index = 0, .count = 1}, found);
    compare_with_tasks(dir, found);
    return found->faults;
}

static void expect_faults(const char *dir, int faults)
{
    struct found found;
    ck_assert_msg(verify(dir, &found) == faults, "%s", found.text.data);
    bl_buffer_free(&found.text);
}

/* A line begins with the file's name and has the words. */
static void expect_line(const struct found *found, const char *file, const char *message)
{
    bool named = false;
    char *rest = NULL, *copy = strdup(found->text.data);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        named |= strncmp(line, file, strlen(file)) == 0 && strstr(line, message);
    ck_assert_msg(named, "%s: %s is not in:\n%s", file, message, found->text.data);
    free(copy);
}

/* There is a fault, and such a line. */
static void expect(const struct sample *s, const char *file, const char *message)
{
    struct found found;
    ck_assert_int_gt(verify(s->dir, &found), 0);
    expect_line(&found, file, message);
    bl_buffer_free(&found.text);
}

SAMPLE_LOOP(a_sound_dataset_has_no_fault, KINDS, kinds[_i])
{
    expect_faults(s->dir, 0);
}

/* --- damage ----------------------------------------------------------------------------------------------------- */

/* Flips bits all over a file, one at a time; by tasks, which takes longer, every fourth is looked for. */
static void flip_all_over(const struct sample *s, const char *file, int64_t step)
{
    char path[200];
    if (unit_brief())
        step *= 16;
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", s->dir, file);
    int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    for (int64_t at = 0; at < status.st_size; at += step) {
        uint8_t was, changed;
        ck_assert_int_eq(pread(fd, &was, 1, at), 1);
        changed = was ^ (uint8_t)(1 << at % 8);
        ck_assert_int_eq(pwrite(fd, &changed, 1, at), 1);
        struct found found = {0};
        verify_task(s->dir, (struct bl_task){.set = true, .count = 1}, &found);
        ck_assert_int_gt(found.faults, 0);
        expect_line(&found, file, "");
        if (at / step % 4 == 0)
            compare_with_tasks(s->dir, &found);
        bl_buffer_free(&found.text);
        ck_assert_int_eq(pwrite(fd, &was, 1, at), 1);
    }
    ck_assert_int_eq(close(fd), 0);
}

SAMPLE_LOOP(every_flipped_bit_is_named_by_its_file, KINDS, kinds[_i])
{
    char name[BL_SHARD_NAME_MAX];
    flip_all_over(s, BL_MANIFEST_FILE, 7);
    flip_all_over(s, BL_SEQUENCES_FILE, 61);
    flip_all_over(s, BL_SHARDS_FILE, 17);
    flip_all_over(s, BL_INDEX_FILE, 61);
    flip_all_over(s, bl_format_shard_name(&s->format, 2, name), s->format.compressed ? 29 : 89);
}

SAMPLE_TEST(a_flipped_bit_is_named_by_its_block, kinds[0])
{
    OWNED(bl_layout_free) struct bl_layout layout;
    char path[200], name[BL_SHARD_NAME_MAX];
    ck_assert_int_eq(bl_layout_make(&layout, &s->format, 1, &e), 0);
    const struct bl_shard_tensor *t = bl_layout_field(&layout, 0), *lengths = bl_layout_table(&layout, BL_TABLE_LENGTH);
    bl_format_shard_name(&s->format, 1, name);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    int64_t at = (int64_t)layout.header.size + t->tensor.begin + 2 * t->row_bytes;
    ck_assert_int_eq(pwrite(fd, "?", 1, at), 1);
    ck_assert_int_eq(pwrite(fd, "?", 1, at - t->row_bytes), 1);
    ck_assert_int_eq(pwrite(fd, "?", 1, (int64_t)layout.header.size + lengths->tensor.begin), 1);
    ck_assert_int_eq(close(fd), 0);
    char word[64];
    for (int64_t b = layout.first_block + 1; b <= layout.first_block + 2; b++) {
        snprintf(word, sizeof word, "block %d of frames: checksum", (int)b);
        expect(s, name, word);
    }
    snprintf(word, sizeof word, "length of block %d differs from the plan", (int)layout.first_block);
    expect(s, name, word);
    expect_faults(s->dir, 3); /* and nothing else */
}

/* --- encoded fields --------------------------------------------------------------------------------------------- */

/* A shard with JPEG files, opened to be damaged: a block of it that ends with padding, but not the first. */
struct opened {
    struct sample sample;
    char name[BL_SHARD_NAME_MAX];
    int fd;
    struct bl_layout layout;
    int64_t block, at; /* its number; where its offsets lie in the file */
    int64_t offsets[17];
    int32_t padding; /* its first step of padding */
};

/* Finds the block; returns its shard. */
static int64_t find_padded(struct opened *o)
{
    const struct bl_format *format = &o->sample.format;
    OWNED(bl_block_free) struct bl_block block;
    ck_assert_int_eq(bl_block_make(&block, 1, format, false, NULL), 0);
    int64_t shard = 0;
    for (o->block = 1; o->block + 1 < format->blocks; o->block++) {
        shard += bl_format_first_block(format, shard) + bl_format_blocks_of(format, shard) == o->block;
        bl_block_plan(&block, format, &o->sample.plan, o->sample.length, o->block);
        o->padding = block.cu_seqlens[format->S];
        if (o->padding <= 13 && o->padding >= 3 && o->block > bl_format_first_block(format, shard))
            break;
    }
    ck_assert_int_lt(o->block + 1, format->blocks);
    return shard;
}

static void open_jpeg(struct opened *o)
{
    struct bl_error e = {0};
    struct bl_shard_reader file;
    char path[200];
    sample_make(&o->sample, (struct sample_kind){.encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}, .spare = 0.3});
    int64_t shard = find_padded(o);
    bl_format_shard_name(&o->sample.format, shard, o->name);
    snprintf(path, sizeof path, "%s/%s", o->sample.dir, o->name);
    ck_assert_int_eq(bl_shard_reader_open(&file, path, false, &e), 0);
    ck_assert_int_eq(bl_shard_reader_layout(&file, &o->sample.format, shard, &o->layout, &e), 0);
    bl_shard_reader_close(&file);
    o->fd = open(path, O_RDWR);
    ck_assert_int_ge(o->fd, 0);
    int64_t row = o->block - o->layout.first_block;
    const struct bl_shard_tensor *t = bl_layout_offsets(&o->layout, 0);
    o->at = (int64_t)o->layout.header.size + t->tensor.begin + row * t->row_bytes;
    ck_assert_int_eq(pread(o->fd, o->offsets, sizeof o->offsets, o->at), sizeof o->offsets);
}

/* With an offset changed so, a fault is told in these words of the block. */
static void expect_offset(struct opened *o, int step, int64_t value, const char *message)
{
    char text[120];
    int64_t where = o->at + step * (int64_t)sizeof value;
    ck_assert_int_eq(pwrite(o->fd, &value, sizeof value, where), sizeof value);
    snprintf(text, sizeof text, "frames_offsets of block %d%s", (int)o->block, message);
    expect(&o->sample, o->name, text);
    ck_assert_int_eq(pwrite(o->fd, &o->offsets[step], sizeof value, where), sizeof value);
}

UNIT_TEST(damaged_offsets_are_named_by_block_and_step)
{
    struct opened o;
    open_jpeg(&o);
    expect_offset(&o, 0, o.offsets[0] + 1, " begins at");
    expect_offset(&o, 3, -1, ", step 2: goes from");
    expect_offset(&o, 3, INT64_MIN, ", step 2: goes from");
    expect_offset(&o, 2, INT64_MAX, ", step 1: goes from");
    expect_offset(&o, 2, o.offsets[3] + 1, ", step 2: goes from");
    expect_offset(&o, 2, o.offsets[1], ", step 1: no bytes, but it belongs to a sequence");
    char message[80];
    snprintf(message, sizeof message, ", step %d: has bytes, but belongs to no sequence", (int)o.padding);
    expect_offset(&o, o.padding, o.offsets[o.padding] - 1, message);
    expect_faults(o.sample.dir, 0);
    close(o.fd);
    bl_layout_free(&o.layout);
    sample_free(&o.sample);
}

UNIT_TEST(damaged_files_are_named_by_block_and_step)
{
    struct opened o;
    CLOSED_DATASET struct bload_dataset *dataset;
    struct bload_error error;
    uint8_t out[16 * 60];
    char message[100];
    open_jpeg(&o);
    int64_t data = (int64_t)o.layout.header.size + bl_layout_field(&o.layout, 0)->tensor.begin;
    ck_assert_int_eq(pwrite(o.fd, "x", 1, data + o.offsets[1]), 1);
    snprintf(message, sizeof message, "block %d of frames_jpeg, step 1: not a JPEG file", (int)o.block);
    expect(&o.sample, o.name, message);
    snprintf(message, sizeof message, "block %d of frames_jpeg: checksum", (int)o.block);
    expect(&o.sample, o.name, message);
    ck_assert_int_eq(bload_dataset_open(o.sample.dir, &dataset, &error), BLOAD_OK);
    ck_assert_int_eq(bload_dataset_read_block(dataset, o.block, 0, out, sizeof out, &error), BLOAD_EDATA);
    snprintf(message, sizeof message, "block %d of frames, step 1: not a JPEG file", (int)o.block);
    ck_assert_msg(strstr(error.text, message) != NULL, "%s", error.text);
    ck_assert_int_eq(bload_dataset_read_block(dataset, o.block + 1, 0, out, sizeof out, &error), BLOAD_OK);
    bload_dataset_close(dataset);
    /* Offsets that are no order are refused before they are used. */
    int64_t wrong = INT64_MAX;
    ck_assert_int_eq(pwrite(o.fd, &wrong, sizeof wrong, o.at + 16), sizeof wrong);
    ck_assert_int_eq(bload_dataset_open(o.sample.dir, &dataset, &error), BLOAD_OK);
    ck_assert_int_eq(bload_dataset_read_block(dataset, o.block, 0, out, sizeof out, &error), BLOAD_EDATA);
    ck_assert_ptr_nonnull(strstr(error.text, "frames_offsets of block"));
    close(o.fd);
    bl_layout_free(&o.layout);
    sample_free(&o.sample);
}

SAMPLE_LOOP(files_cut_short_or_long_missing_or_strange, KINDS, kinds[_i])
{
    char path[200], moved[220], name[BL_SHARD_NAME_MAX];
    struct stat status;
    bl_format_shard_name(&s->format, 3, name);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    snprintf(moved, sizeof moved, "%s->old", path);
    ck_assert_int_eq(stat(path, &status), 0);

    ck_assert_int_eq(rename(path, moved), 0);
    expect(s, name, "is missing");
    snprintf(moved, sizeof moved, "%s->old", name);
    expect(s, moved, "belongs to no shard");
    snprintf(moved, sizeof moved, "%s->old", path);
    ck_assert_int_eq(rename(moved, path), 0);

    FILE *file = fopen(path, "ab");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fputc(0, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    expect(s, name, "");
    ck_assert_int_eq(truncate(path, status.st_size), 0);
    expect_faults(s->dir, 0);

    ck_assert_int_eq(truncate(path, status.st_size / 2), 0);
    expect(s, name, "");
    ck_assert_int_eq(truncate(path, 0), 0);
    expect(s, name, "");

    static const char *const beside[] = {BL_SEQUENCES_FILE, BL_SHARDS_FILE, BL_INDEX_FILE};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", s->dir, beside[i]);
        ck_assert_int_eq(unlink(path), 0);
        expect(s, beside[i], "cannot open");
        expect(s, name, ""); /* other faults are told too */
    }
}

SAMPLE_TEST(without_a_manifest_there_is_nothing_to_verify, kinds[0])
{
    struct bl_cancel cancel = {0};
    OWNED(bl_verify_close) struct bl_verify v;
    struct found found = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/manifest.json", s->dir);
    ck_assert_int_eq(truncate(path, 100), 0);
    expect(s, BL_MANIFEST_FILE, "");
    ck_assert_int_eq(unlink(path), 0);
    FAILS_WITH(bl_verify_open(&v, s->dir, &cancel, take, &found, &e), BL_EUSAGE, "not a finished dataset");
    ck_assert_int_eq(found.faults, 0);
}

/* Writes a plan as the dataset's first epoch, and has the manifest name it, so that its checksum is right. */
static void put_epoch(const struct sample *s, const struct bl_plan *plan)
{
    const char *name = BL_EPOCHS_DIR "/epoch-00001.safetensors";
    struct bl_output out = {0};
    OWNED(bl_manifest_free) struct bl_manifest m;
    struct bl_plan_info plan_info;
    struct bl_error e = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/" BL_EPOCHS_DIR, s->dir);
    ck_assert_int_eq(bl_fs_mkdirs(path, &e), 0);
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    bl_plan_info_make(&plan_info, plan, &s->options);
    ck_assert_int_eq(bl_output_open(&out, path, &e), 0);
    ck_assert_int_eq(bl_index_write(&out, plan, s->length, SAMPLE_SEQUENCES, &plan_info, &e), 0);
    ck_assert_int_eq(bl_output_commit(&out, &e), 0);
    sample_manifest(s);
    ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
    ck_assert_int_eq(bl_manifest_add_file(&m, s->dir, name, &e), 0);
    ck_assert_int_eq(bl_manifest_write(&m, s->dir, &e), 0);
}

/* Their checksums say nothing of whether they can be: each must be a plan over the same pieces. */
SAMPLE_LOOP(plans_of_epochs_that_cannot_be, 2, kinds[_i])
{
    const char *name = BL_EPOCHS_DIR "/epoch-00001.safetensors";
    struct bl_plan *plan = &s->plan;
    int64_t last = plan->block_ptr[plan->blocks], first = plan->block_ptr[1];

    put_epoch(s, plan);
    expect_faults(s->dir, 0);

    plan->block_ptr[1] = 0;
    put_epoch(s, plan);
    plan->block_ptr[1] = first;
    expect(s, name, "block 1: piece");

    plan->block_ptr[plan->blocks] = last - 1;
    plan->pieces--;
    put_epoch(s, plan);
    plan->block_ptr[plan->blocks] = last;
    plan->pieces++;
    expect(s, name, "its pieces differ from the stored ones");

    uint32_t sequence = plan->sequence[0];
    plan->sequence[0] = plan->sequence[last - 1];
    put_epoch(s, plan);
    plan->sequence[0] = sequence;
    expect(s, name, "");
}

SAMPLE_LOOP(a_signal_ends_it, 2, kinds[_i])
{
    struct bl_cancel cancel = {0};
    struct bl_verify v;
    struct found found = {0};
    int64_t steps;
    ck_assert_int_eq(bl_verify_open(&v, s->dir, &cancel, take, &found, &e), 0);
    atomic_store(&cancel.requested, 15);
    ck_assert_int_eq(bl_verify_shard(&v, 0, take, &found, &steps, &e), BL_ECANCEL);
    bl_verify_close(&v);
    ck_assert_int_eq(bl_verify_open(&v, s->dir, &cancel, take, &found, &e), 0);
    ck_assert_int_eq(bl_verify_files(&v, take, take, &found), BL_ECANCEL);
    bl_verify_close(&v);
    ck_assert_int_eq(bl_verify_open(&v, s->dir, &cancel, take, &found, &e), 0);
    ck_assert_int_eq(bl_verify_prepare_part(&v, 1, 2, take, &found), BL_ECANCEL);
    bl_verify_close(&v);
    ck_assert_int_eq(found.faults, 0);
}

/* --- files that agree with their checksums, but not with each other ------------------------------------------------
 */

/* Writes shard 0 again with something changed in its first block, and the tables and checksums that go with it. */
static void rewrite(struct sample *s, void (*change)(struct bl_block *block))
{
    struct bl_error e = {0};
    struct bl_shard_writer *shard;
    struct bl_shard_record record;
    struct bl_block block;
    struct bl_output shards;
    struct bl_index_writer index;
    ck_assert_int_eq(bl_block_make(&block, 1, &s->format, true, &e), 0);
    ck_assert_int_eq(bl_shard_writer_open(&s->format, &s->plan, s->dir, 0, &shard, &e), 0);
    for (int64_t b = 0; b < bl_format_blocks_of(&s->format, 0); b++) {
        bl_block_plan(&block, &s->format, &s->plan, s->length, b);
        sample_fill(s, &block);
        if (b == 0)
            change(&block);
        ck_assert_int_eq(bl_shard_writer_put_blocks(shard, &block, 1, NULL, &e), 0);
    }
    ck_assert_int_eq(bl_shard_writer_finish(shard, NULL, NULL, 0, &record, &e), 0);
    bl_shard_record_free(&record);
    bl_shard_writer_free(shard);
    bl_block_free(&block);
    ck_assert_int_eq(bl_shard_table_open(&shards, s->dir, &e), 0);
    ck_assert_int_eq(bl_index_begin(&index, s->dir, &s->plan, s->length, s->format.fields.count, &e), 0);
    for (int64_t i = 0; i < bl_format_shards(&s->format); i++) {
        ck_assert(sample_find(s, i, &record));
        ck_assert_int_eq(bl_shard_table_add(&shards, &s->format, &record, &e), 0);
        ck_assert_msg(bl_index_add_checksums(&index, record.block_checksum,
                                             (size_t)(record.blocks * s->format.fields.count), &e) == BL_OK,
                      "%s", e.text);
        bl_shard_record_free(&record);
    }
    ck_assert_int_eq(bl_output_commit(&shards, &e), 0);
    ck_assert_int_eq(bl_index_finish(&index, &e), 0);
    sample_manifest(s);
}

static void change_nothing(struct bl_block *block)
{
    (void)block;
}

static void change_sequence(struct bl_block *block)
{
    block->sequence[0]++;
}

static void change_boundary(struct bl_block *block)
{
    block->cu_seqlens[1]++;
}

static void change_count(struct bl_block *block)
{
    block->num_sequences++;
}

static void change_length(struct bl_block *block)
{
    block->length[0]--;
}

static void change_source_start(struct bl_block *block)
{
    block->source_start[0]++;
}

/* A failure that sequences.tsv knows nothing of. */
static void fail_first(struct bl_block *block)
{
    block->sequence[0] = -1;
    block->length[0] = 0;
    block->source_start[0] = 0;
}

/* The weight of one sequence, by half of the last bit. */
static void change_attribute(struct bl_block *block)
{
    static int64_t value[SAMPLE_SEQUENCES][2];
    static const struct bl_attribute_values changed = {2, &value[0][0]};
    memcpy(value, block->values->value, sizeof value);
    value[block->sequence[0]][1] ^= 1;
    block->values = &changed;
}

static const struct {
    void (*change)(struct bl_block *block);
    const char *message;
} changes[] = {
    {change_sequence, "sequence of block 0 differs from the plan"},
    {change_boundary, "cu_seqlens of block 0 differs from the plan"},
    {change_count, "num_sequences of block 0 differs from the plan"},
    {change_length, "length of block 0 differs from the plan"},
    {change_source_start, "source_start of block 0 differs from the plan"},
    {fail_first, "sequence of block 0 differs from the plan"},
    {change_attribute, "weight of block 0 differs from sequences.tsv"},
};

SAMPLE_LOOP(tables_that_are_not_as_planned, COUNT(changes), kinds[2])
{
    char name[BL_SHARD_NAME_MAX];
    ck_assert_uint_ne(s->plan.sequence[0], SAMPLE_FAILED);
    rewrite(s, change_nothing);
    expect_faults(s->dir, 0);
    rewrite(s, changes[_i].change);
    expect(s, bl_format_shard_name(&s->format, 0, name), changes[_i].message);
}

SAMPLE_LOOP(failed_steps_are_added_up, FAILING, kinds[_i])
{
    int64_t length = s->length[SAMPLE_FAILED];
    s->length[SAMPLE_FAILED]--; /* the manifest will say one less */
    sample_manifest(s);
    s->length[SAMPLE_FAILED] = length;
    expect(s, BL_MANIFEST_FILE, "\"failed_steps\"");
    expect_faults(s->dir, 1);
}

SAMPLE_TEST(the_manifest_must_fit_the_plan, kinds[2])
{
    s->plan.padding++;
    sample_manifest(s);
    expect(s, BL_MANIFEST_FILE, "\"padding\"");
    s->plan.padding--;
    s->plan.cut--;
    sample_manifest(s);
    expect(s, BL_MANIFEST_FILE, "\"cut\"");
    s->plan.cut++;
    s->format.plan_digest[0] = s->format.plan_digest[0] == '0' ? '1' : '0';
    sample_manifest(s);
    expect(s, BL_INDEX_FILE, "plan digest");
}

SAMPLE_LOOP(the_frames_must_have_the_size, 2,
            (struct sample_kind){.compressed = true, .sound = true, .frame_size = 500})
{
    s->format.frame_size = _i ? 400 : 0;
    sample_manifest(s);
    expect(s, "shards/00000/shard-00000000", "its frames do not match");
}

SAMPLE_TEST(the_plan_must_fit_the_sequences, kinds[2])
{
    s->length[s->plan.sequence[0]]++;
    sample_sequences(s);
    sample_manifest(s);
    expect(s, BL_MANIFEST_FILE, "\"steps\"");
    s->length[s->plan.sequence[0]] -= 2;
    sample_sequences(s);
    sample_manifest(s);
    expect(s, BL_INDEX_FILE, "sequence");
}
