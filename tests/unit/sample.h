/* A small dataset with known content, for the tests of the store: every byte of a field follows from the sequence and
 * the step. */
#ifndef BL_SAMPLE_H
#define BL_SAMPLE_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>

#include "base/output.h"
#include "bload.h"
#include "plan/plan.h"
#include "store/block.h"
#include "store/folders.h"
#include "store/format.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/row_reader.h"
#include "store/shard_table.h"
#include "store/shard_writer.h"
#include "unit.h"

#define SAMPLE_SEQUENCES 40
#define SAMPLE_FAILED 7 /* this sequence failed while packing, where any did */
#define SAMPLE_SKIPPED 11

struct sample {
    char dir[64];
    struct bl_format format;
    struct bl_plan plan;
    struct bl_plan_options options;
    int64_t length[SAMPLE_SEQUENCES];
    double own[2][SAMPLE_SEQUENCES]; /* own steps of the sequences in the own fields */
    struct bl_attribute_values values;
    int64_t value[SAMPLE_SEQUENCES][2]; /* what it points to */
    bool sound;                         /* no sequence failed */
};

/* How a sample is to be. */
struct sample_kind {
    bool compressed, split, segment_ids, attributes, sound; /* sound: no sequence failed */
    bool own;                                               /* with two fields of own steps: "text", "patches" (flat) */
    struct bl_encoding encoding;                            /* of the frames */
    int64_t shard_size;
    size_t frame_size;
    double spare; /* blocks beyond the fewest: then some have padding */
};

static inline bool sample_fails(const struct sample *s, int64_t sequence)
{
    return !s->sound && sequence == SAMPLE_FAILED;
}

static inline uint8_t sample_byte(int field, int64_t sequence, int64_t step, size_t at)
{
    return (uint8_t)(sequence * 31 + step * 7 + (int64_t)(at % 13) + field * 101 + 1);
}

/* Attributes of a sequence: class, and weight, which some have not. */
static inline int64_t sample_class(int i)
{
    return 1000 - 3 * i;
}

static inline double sample_weight(int i)
{
    return i % 5 ? i / 4.0 - 1 : (double)NAN;
}

static inline void sample_values(struct sample *s)
{
    s->format.attributes = 2;
    s->format.attribute[0] = (struct bl_attribute){"class", BL_I64};
    s->format.attribute[1] = (struct bl_attribute){"weight", BL_F64};
    for (int i = 0; i < SAMPLE_SEQUENCES; i++) {
        double weight = sample_weight(i);
        s->value[i][0] = sample_class(i);
        memcpy(&s->value[i][1], &weight, sizeof weight);
    }
    s->values = (struct bl_attribute_values){2, &s->value[0][0]};
}

static inline void sample_fill(const struct sample *s, struct bl_block *block)
{
    block->values = &s->values;
    for (int f = 0; f < s->format.fields.count; f++) {
        const struct bl_field *field = &s->format.fields.field[f];
        const int32_t *start = field->own ? block->own[f] : block->cu_seqlens;
        size_t step_bytes = bl_field_step_bytes(field);
        /* The next block may follow a flat field. */
        int64_t steps = field->flat ? start[s->format.S] : bl_format_steps(&s->format, f);
        memset(block->field[f], 0, (size_t)steps * step_bytes);
        for (int i = 0; i < block->num_sequences; i++) {
            for (int32_t t = start[i]; t < start[i + 1]; t++) {
                int64_t step = t - start[i] + (field->own ? 0 : block->source_start[i]);
                for (size_t k = 0; k < step_bytes; k++)
                    block->field[f][(size_t)t * step_bytes + k] = sample_byte(f, block->sequence[i], step, k);
            }
        }
    }
    for (int i = 0; i < block->num_sequences; i++) {
        if (sample_fails(s, block->sequence[i]))
            bl_block_fail(block, &s->format, i);
    }
}

/* Sets the own steps: none of sequences that are cut, of some others, and of all in some blocks. */
static inline void sample_own(struct sample *s)
{
    static const char *const names[] = {"text", "patches"};
    struct bl_plan_columns *columns = &s->options.max_column;
    for (int k = 0; k < 2; k++) {
        struct bl_plan_column *column = &columns->each[columns->count++];
        *column = (struct bl_plan_column){.max = k ? 17 : 25, .value = s->own[k], .is_field = true};
        snprintf(column->name, sizeof column->name, "%s" BL_PLAN_OWN_SUFFIX, names[k]);
        for (int i = 0; i < SAMPLE_SEQUENCES; i++)
            s->own[k][i] = s->length[i] < 1 || s->length[i] >= 16 || i % (4 - k) == 0 ? 0 : 1 + i * (7 + k) % 9;
    }
}

static inline void sample_plan(struct sample *s, struct sample_kind kind)
{
    struct bl_error e = {0};
    for (int i = 0; i < SAMPLE_SEQUENCES; i++)
        s->length[i] = i == SAMPLE_SKIPPED ? 0 : 1 + i * 5 % 16 + (kind.split && i % 9 == 0 ? 20 : 0);
    s->options = (struct bl_plan_options){
        .strategy = BL_STRATEGY_BLOCK, .oversize = BL_OVERSIZE_SPLIT, .T = 16, .seed = 3, .spare = kind.spare};
    if (kind.own)
        sample_own(s);
    ck_assert_int_eq(bl_plan_make(&s->plan, s->length, SAMPLE_SEQUENCES, &s->options, &e), 0);
    s->format = (struct bl_format){
        .T = 16,
        .S = s->plan.max_sequences + 1,
        .blocks = (int64_t)s->plan.blocks,
        .has_source_start = s->plan.cut > 0,
        .has_segment_ids = kind.segment_ids,
        .compressed = kind.compressed,
        .level = 3,
        .frame_size = kind.frame_size,
        .fields = {.count = 3,
                   .field = {{.name = "frames", .kind = "video", .dtype = BL_U8, .rank = 3, .shape = {4, 5, 3}},
                             {.name = "labels", .kind = "array", .dtype = BL_I64, .rank = 0},
                             {.name = "features", .kind = "audio", .dtype = BL_F32, .rank = 1, .shape = {6}}}}};
    if (kind.own) {
        s->format.fields.field[s->format.fields.count++] = (struct bl_field){
            .name = "text", .kind = "text", .dtype = BL_I32, .own = true, .capacity = s->plan.own.field[0].capacity};
        s->format.fields.field[s->format.fields.count++] = (struct bl_field){.name = "patches",
                                                                             .kind = "array",
                                                                             .dtype = BL_F32,
                                                                             .rank = 1,
                                                                             .shape = {3},
                                                                             .own = true,
                                                                             .flat = true,
                                                                             .capacity = s->plan.own.field[1].capacity};
    }
    s->format.encoding[0] = kind.encoding;
    if (kind.attributes)
        sample_values(s);
    ck_assert_int_eq(bl_plan_digest(&s->plan, s->length, s->format.plan_digest, &e), 0);
    ck_assert_int_eq(bl_layout_divide(&s->format, kind.shard_size ? kind.shard_size : 12000, &e), 0);
}

/* Puts the blocks last first: any order must do. */
static inline void sample_shard(const struct sample *s, int64_t shard, struct bl_shard_record *record)
{
    struct bl_error e = {0};
    struct bl_shard_writer *out;
    OWNED(bl_block_free) struct bl_block block;
    struct bl_compressor *compressor = NULL;
    struct bl_codec *codec;
    ck_assert_int_eq(bl_codec_open(&s->format, &codec, &e), 0);
    if (s->format.compressed)
        ck_assert_int_eq(bl_compressor_open(s->format.level, &compressor, &e), 0);
    ck_assert_int_eq(bl_block_make(&block, 1, &s->format, true, &e), 0);
    ck_assert_msg(bl_shard_writer_open(&s->format, &s->plan, s->dir, shard, &out, &e) == 0, "%s", e.text);
    int64_t first = bl_format_first_block(&s->format, shard);
    for (int64_t row = bl_format_blocks_of(&s->format, shard); row-- > 0;) {
        bl_block_plan(&block, &s->format, &s->plan, s->length, first + row);
        sample_fill(s, &block);
        ck_assert_msg(bl_shard_writer_encode_block(out, &block, codec, &e) == 0, "%s", e.text);
        ck_assert_msg(bl_shard_writer_put_blocks(out, &block, 1, compressor, &e) == 0, "%s", e.text);
    }
    ck_assert_msg(bl_shard_writer_finish(out, compressor, "note\n", 5, record, &e) == 0, "%s", e.text);
    bl_shard_writer_free(out);
    bl_compressor_close(compressor);
    bl_codec_close(codec);
}

static inline void sample_sequences(const struct sample *s)
{
    struct bl_error e = {0};
    struct bl_output out;
    char path[128];
    snprintf(path, sizeof path, "%s/sequences.tsv", s->dir);
    ck_assert_int_eq(bl_output_open(&out, path, &e), 0);
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_buffer_text(&text, BL_SEQUENCES_COLUMNS);
    bl_buffer_text(&text, s->format.attributes ? "\tweight\tnote\tclass" : "");
    bl_buffer_text(&text, s->plan.own.count ? "\ttext.length\tpatches.length\n" : "\n");
    for (int i = 0; i < SAMPLE_SEQUENCES; i++) {
        char id[32];
        snprintf(id, sizeof id, "clip %d.mp4", i);
        struct bl_row row = {.id = id,
                             .length = s->length[i],
                             .kind = "video",
                             .path = id,
                             .bytes = 100 + i,
                             .reason = "",
                             .sampling = "all",
                             .stream = 0};
        if (i == SAMPLE_SKIPPED) {
            row.status = BL_ROW_SKIPPED;
            row.reason = "no video stream";
        } else if (sample_fails(s, i)) {
            row.status = BL_ROW_FAILED;
            row.reason = "9 frames decode, the scan counted 4";
        }
        char extra[160] = "", weight[32] = "";
        if (!isnan(sample_weight(i)))
            snprintf(weight, sizeof weight, "%g", sample_weight(i));
        if (s->format.attributes)
            snprintf(extra, sizeof extra, "\t%s\tnote \\t%d\t%" PRId64, weight, i, sample_class(i));
        if (s->plan.own.count)
            snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "\t%g\t%g", s->own[0][i], s->own[1][i]);
        row.extra = *extra ? extra : NULL;
        bl_row_format(&row, &text);
    }
    ck_assert_int_eq(bl_output_write(&out, text.data, text.size, &e), 0);
    ck_assert_int_eq(bl_output_commit(&out, &e), 0);
}

static inline void sample_manifest(const struct sample *s)
{
    struct bl_error e = {0};
    OWNED(bl_manifest_free) struct bl_manifest m = {.format = s->format, .skipped = 1};
    if (!s->sound) {
        m.failed = 1;
        m.failed_steps = s->length[SAMPLE_FAILED];
    }
    bl_plan_info_make(&m.plan_info, &s->plan, &s->options);
    ck_assert_int_eq(bl_manifest_text(&m.tool, "0.0.0", &e), 0);
    ck_assert_int_eq(bl_manifest_text(&m.simd, "avx2", &e), 0);
    ck_assert_int_eq(bl_manifest_text(&m.made[0], "size 5x4", &e), 0);
    ck_assert_int_eq(bl_manifest_pair(&m.libraries, "libexample", "1.2.3", &e), 0);
    ck_assert_int_eq(bl_manifest_configure(&m, "T: 16\nsize: 5x4\nodd: a\tb\xff\n", &e), 0);
    ck_assert_int_eq(bl_manifest_add_file(&m, s->dir, "sequences.tsv", &e), 0);
    ck_assert_int_eq(bl_manifest_add_file(&m, s->dir, BL_SHARDS_FILE, &e), 0);
    ck_assert_int_eq(bl_manifest_add_file(&m, s->dir, BL_INDEX_FILE, &e), 0);
    ck_assert_msg(bl_manifest_write(&m, s->dir, &e) == 0, "%s", e.text);
}

/* A finished dataset in a new directory. */
static inline void sample_make(struct sample *s, struct sample_kind kind)
{
    struct bl_error e = {0};
    *s = (struct sample){.sound = kind.sound};
    unit_mkdir(s->dir);
    sample_plan(s, kind);
    struct bl_output shards;
    struct bl_index_writer index;
    ck_assert_int_eq(bl_folders_prepare(s->dir, &e), 0);
    ck_assert_int_eq(bl_shard_table_open(&shards, s->dir, &e), 0);
    ck_assert_int_eq(bl_index_begin(&index, s->dir, &s->plan, s->length, s->format.fields.count, &e), 0);
    for (int64_t i = 0; i < bl_format_shards(&s->format); i++) {
        OWNED(bl_shard_record_free) struct bl_shard_record record;
        sample_shard(s, i, &record);
        ck_assert_int_eq(bl_shard_table_add(&shards, &s->format, &record, &e), 0);
        ck_assert_msg(bl_index_add_checksums(&index, record.block_checksum,
                                             (size_t)record.blocks * (size_t)s->format.fields.count, &e) == BL_OK,
                      "%s", e.text);
    }
    ck_assert_int_eq(bl_output_commit(&shards, &e), 0);
    ck_assert_msg(bl_index_finish(&index, &e) == 0, "%s", e.text);
    sample_sequences(s);
    sample_manifest(s);
}

/* Whether the shard is finished; then its record is filled. */
static inline bool sample_find(const struct sample *s, int64_t shard, struct bl_shard_record *record)
{
    struct bl_error e = {0};
    bool found = false;
    ck_assert_msg(bl_shard_find(&s->format, s->dir, shard, record, &found, &e) == 0, "%s", e.text);
    return found;
}

/* Removes a directory and all in it. */
static inline void sample_remove(const char *dir)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf -- '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static inline void sample_free(struct sample *s)
{
    if (*s->dir)
        sample_remove(s->dir);
    bl_plan_free(&s->plan);
}

/* A dataset, and a plan, of the public interface that are freed at the end of their block. */
#define CLOSED_DATASET OWNED(sample_close_dataset)
#define FREED_PLAN OWNED(sample_free_plan)

static inline void sample_close_dataset(struct bload_dataset **dataset)
{
    bload_dataset_close(*dataset);
}

static inline void sample_free_plan(struct bload_plan **plan)
{
    bload_plan_free(*plan);
}

/* A test like UNIT_LOOP's that has a sample s of the kind, which may depend on _i. */
#define SAMPLE_LOOP(name, count, ...)                                                                                  \
    static void name##_with(int _i, struct sample *s, struct bl_error e);                                              \
    UNIT_LOOP(name, count)                                                                                             \
    {                                                                                                                  \
        struct sample s;                                                                                               \
        sample_make(&s, __VA_ARGS__);                                                                                  \
        name##_with(_i, &s, e);                                                                                        \
        sample_free(&s);                                                                                               \
    }                                                                                                                  \
    static void name##_with(int _i CK_ATTRIBUTE_UNUSED, struct sample *s, struct bl_error e CK_ATTRIBUTE_UNUSED)

#define SAMPLE_TEST(name, ...) SAMPLE_LOOP(name, 1, __VA_ARGS__)

#endif
