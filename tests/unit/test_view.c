/* Views and epochs: each step of their blocks is that of the stored sequence, whatever the form of the datasets. */
#include "bload.h"
#include "run/view_make.h"
#include "sample.h"
#include "store/epochs.h"
#include "store/verify.h"

static const struct sample_kind kinds[] = {
    {0},
    {.compressed = true, .attributes = true, .frame_size = 4096},
    {.split = true, .segment_ids = true, .attributes = true},
    {.split = true, .compressed = true, .sound = true},
    {.split = true, .attributes = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
    {.split = true, .compressed = true, .encoding = {.kind = BL_ENCODING_DELTA, .quality = 0}},
    {.own = true, .split = true},
    {.own = true, .compressed = true, .attributes = true, .frame_size = 300},
};

#define OWN_KIND 6 /* the first with own fields */
#define KINDS COUNT(kinds)
#define STEPS_MAX 40
#define STEP_BYTES (60 + 8 + 24) /* of the three fields */

/* What two sources store, by row of the view: its steps, as a reader of the dataset gets them. */
struct content {
    struct sample source[2];
    bool stored[2 * SAMPLE_SEQUENCES];
    uint8_t step[2 * SAMPLE_SEQUENCES][STEPS_MAX][STEP_BYTES];
};

static struct bload_dataset *open_directory(const char *dir)
{
    struct bload_dataset *dataset;
    struct bload_error error;
    ck_assert_msg(bload_dataset_open(dir, &dataset, &error) == BLOAD_OK, "%s", error.text);
    return dataset;
}

/* Calls take for each step of each sequence in the blocks: its row, its number, and its bytes in all fields. */
typedef void step_function(struct content *c, int64_t row, int64_t step, const uint8_t *bytes);

static void each_step(struct bload_dataset *dataset, struct content *c, int64_t first_row, step_function *take)
{
    struct bload_error error;
    const struct bload_tables *tables;
    const struct bload_field *field[3];
    uint8_t *block[3], bytes[STEP_BYTES];
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    for (int f = 0; f < 3; f++) {
        ck_assert_ptr_nonnull(field[f] = bload_dataset_field(dataset, f));
        ck_assert_ptr_nonnull(block[f] = malloc(field[f]->block_bytes));
    }
    for (int64_t n = 0; n < counts->blocks; n++) {
        int64_t b = counts->blocks - 1 - n;
        for (int f = 0; f < 3; f++)
            ck_assert_msg(bload_dataset_read_block(dataset, b, f, block[f], field[f]->block_bytes, &error) == BLOAD_OK,
                          "%s", error.text);
        ck_assert_msg(bload_dataset_read_tables(dataset, b, &tables, &error) == BLOAD_OK, "%s", error.text);
        for (int i = 0; i < tables->num_sequences; i++) {
            for (int32_t t = 0; t < tables->length[i]; t++) {
                size_t at = 0;
                for (int f = 0; f < 3; f++) {
                    size_t size = field[f]->block_bytes / (size_t)counts->T;
                    memcpy(bytes + at, block[f] + (size_t)(tables->cu_seqlens[i] + t) * size, size);
                    at += size;
                }
                take(c, first_row + tables->sequence[i], tables->source_start[i] + t, bytes);
            }
        }
        for (int64_t t = tables->cu_seqlens[counts->S]; t < counts->T; t++) /* padding */
            ck_assert_uint_eq(block[1][t * 8], 0);
    }
    for (int f = 0; f < 3; f++)
        free(block[f]);
}

static void step_keep(struct content *c, int64_t row, int64_t step, const uint8_t *bytes)
{
    ck_assert(row < 2 * SAMPLE_SEQUENCES && step < STEPS_MAX);
    c->stored[row] = true;
    memcpy(c->step[row][step], bytes, STEP_BYTES);
}

static int64_t compared;

static void step_compare(struct content *c, int64_t row, int64_t step, const uint8_t *bytes)
{
    ck_assert(row < 2 * SAMPLE_SEQUENCES && step < STEPS_MAX);
    ck_assert_msg(c->stored[row], "row %" PRId64 " has no steps to plan", row);
    ck_assert_int_eq(memcmp(c->step[row][step], bytes, STEP_BYTES), 0);
    compared++;
}

static struct content *content_make(struct sample_kind first, struct sample_kind second)
{
    struct content *c = calloc(1, sizeof *c);
    ck_assert_ptr_nonnull(c);
    for (int s = 0; s < 2; s++) {
        sample_make(&c->source[s], s ? second : first);
        CLOSED_DATASET struct bload_dataset *dataset = open_directory(c->source[s].dir);
        each_step(dataset, c, s * SAMPLE_SEQUENCES, step_keep);
    }
    return c;
}

static void content_free(struct content **c)
{
    for (int s = 0; s < 2; s++)
        sample_free(&(*c)->source[s]);
    free(*c);
}

/* The plain options of a view of the first `count` sources. */
struct viewing {
    char out[80];
    const char *dir[2];
    double weight[2];
    struct bl_plan_options options;
    struct bl_subset_options subset;
    struct bl_options given;
    struct bl_view_request request;
};

static void viewing_begin(struct viewing *v, const struct content *c, int count)
{
    struct bl_error e = {0};
    *v = (struct viewing){.dir = {c->source[0].dir, c->source[1].dir}};
    unit_mkdir(v->out);
    ck_assert_int_eq(bl_options_add(&v->given, NULL, bl_plan_option_table, &v->options, &e), 0);
    ck_assert_int_eq(bl_options_add(&v->given, NULL, bl_plan_strategy_table, &v->options, &e), 0);
    v->options.T = 50;
    v->request = (struct bl_view_request){.tool = "0",
                                          .output = v->out,
                                          .dir = v->dir,
                                          .weight = v->weight,
                                          .count = count,
                                          .subset = &v->subset,
                                          .options = &v->options,
                                          .given = &v->given,
                                          .epochs = 2};
}

static void viewing_end(struct viewing *v)
{
    bl_options_free(&v->given);
    sample_remove(v->out);
}

static void count_fault(void *context, const char *file, const char *text)
{
    printf("%s: %s\n", file, text);
    ++*(int *)context;
}

static struct bl_cancel never;

static int faults_of(const char *dir)
{
    struct bl_error e = {0};
    int faults = 0;
    ck_assert_msg(bl_verify_view(dir, &never, count_fault, count_fault, &faults, &e) == BL_OK, "%s", e.text);
    return faults;
}

/* Makes the view and compares every step of both epochs. */
static void view_check(struct viewing *v, struct content *c)
{
    struct bl_error e = {0};
    OWNED(bl_view_made_free) struct bl_view_made made;
    struct bload_error error;
    ck_assert_msg(bl_view_make(&v->request, &made, &e) == BL_OK, "%s", e.text);
    ck_assert(!made.existed);
    struct bload_dataset *dataset = open_directory(v->out);
    ck_assert_int_eq(bload_dataset_epoch_count(dataset), 2);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        compared = 0;
        ck_assert_msg(bload_dataset_set_epoch(dataset, epoch, &error) == BLOAD_OK, "%s", error.text);
        each_step(dataset, c, 0, step_compare);
        if (!v->weight[0])
            ck_assert_int_eq(compared, made.manifest.plan_info.steps - made.manifest.plan_info.deleted);
        ck_assert_int_gt(compared, 0);
    }
    ck_assert_int_eq(bload_dataset_set_epoch(dataset, 2, &error), BLOAD_EUSAGE);
    bload_dataset_close(dataset);
    bl_view_made_free(&made);
    ck_assert_int_eq(faults_of(v->out), 0);
    ck_assert_msg(bl_view_make(&v->request, &made, &e) == BL_OK, "%s", e.text);
    ck_assert(made.existed);
}

UNIT_LOOP(steps_are_those_of_the_sources, KINDS)
{
    struct sample_kind other = kinds[_i];
    if (other.encoding.kind == BL_ENCODING_RAW)
        other.compressed = !other.compressed;
    other.frame_size = 0;
    other.spare = 0.2;
    OWNED(content_free) struct content *c = content_make(kinds[_i], other);
    for (int count = 1; count <= 2; count++) {
        for (int mix = 0; mix < count; mix++) {
            OWNED(viewing_end) struct viewing v;
            viewing_begin(&v, c, count);
            v.options.world_size = 2;
            v.request.mix = (enum bl_blending)mix;
            view_check(&v, c);
        }
    }
}

/* Sequences with own steps cannot be cut. */
UNIT_LOOP(a_shorter_T_cuts_what_is_longer, OWN_KIND)
{
    OWNED(content_free) struct content *c = content_make(kinds[_i], kinds[_i]);
    OWNED(viewing_end) struct viewing v;
    viewing_begin(&v, c, 2);
    v.options.T = 13;
    v.options.oversize = BL_OVERSIZE_SPLIT;
    v.options.align = 4;
    v.request.mix = BL_BLEND_RANDOM;
    view_check(&v, c);
}

UNIT_TEST(weights_go_through_each_source_at_its_own_pace)
{
    OWNED(content_free) struct content *c = content_make(kinds[2], kinds[3]);
    OWNED(viewing_end) struct viewing v;
    viewing_begin(&v, c, 2);
    v.weight[0] = 3;
    v.weight[1] = 1;
    v.options.batch_size = 2;
    v.request.epoch_steps = 50 * 40;
    view_check(&v, c);
}

/* A dataset's own epochs, whose failed sequence is marked as in its blocks. */
UNIT_LOOP(epochs_of_a_dataset, KINDS)
{
    OWNED(content_free) struct content *c = content_make(kinds[_i], kinds[_i]);
    const struct bl_epochs epochs = {.dir = c->source[0].dir, .count = 2, .seed = 5};
    struct bl_epochs_result result;
    struct bload_error error;
    int64_t stored = 0;
    ck_assert_msg(bl_epochs_add(&epochs, &result, &e) == BL_OK, "%s", e.text);
    CLOSED_DATASET struct bload_dataset *dataset = open_directory(c->source[0].dir);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        compared = 0;
        ck_assert_msg(bload_dataset_set_epoch(dataset, epoch, &error) == BLOAD_OK, "%s", error.text);
        each_step(dataset, c, 0, step_compare);
        ck_assert(!epoch || compared == stored);
        stored = compared;
    }
    ck_assert_int_eq(bload_dataset_set_epoch(dataset, 0, &error), BLOAD_OK);
}

/* Compares the own steps in each block with those that the sources' sequences have, and returns their number. */
static int64_t own_compare(struct bload_dataset *dataset, const struct content *c, int field)
{
    struct bload_error error;
    const struct bload_tables *tables;
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    const struct bload_field *own = bload_dataset_field(dataset, field);
    FREED uint8_t *block = malloc(own->block_bytes);
    const size_t step = own->block_bytes / (size_t)own->shape[0];
    const int32_t *start;
    int64_t steps = 0;
    ck_assert_int_ne(own->own, 0);
    for (int64_t b = 0; b < counts->blocks; b++) {
        int64_t sequence[100];
        ck_assert_msg(bload_dataset_read_block(dataset, b, field, block, own->block_bytes, &error) == BLOAD_OK, "%s",
                      error.text);
        ck_assert_int_eq(bload_dataset_read_tables(dataset, b, &tables, &error), BLOAD_OK);
        const int32_t count = tables->num_sequences;
        for (int32_t i = 0; i < count; i++)
            sequence[i] = tables->source_start[i] ? -2 : tables->sequence[i];
        ck_assert_int_eq(bload_dataset_read_places(dataset, b, field, &start, &error), BLOAD_OK);
        for (int32_t i = 0; i < count; i++) {
            const int64_t source = sequence[i] / SAMPLE_SEQUENCES, row = sequence[i] % SAMPLE_SEQUENCES;
            const bool has = sequence[i] >= 0 && c->source[source].plan.own.count;
            if (sequence[i] != -1) /* a failed sequence keeps its places */
                ck_assert_int_eq(start[i + 1] - start[i], has ? (int)c->source[source].own[field - 3][row] : 0);
            for (size_t k = (size_t)start[i] * step; k < (size_t)start[i + 1] * step; k++) {
                const int64_t at = (int64_t)(k / step) - start[i];
                ck_assert_uint_eq(block[k], sequence[i] == -1 ? 0 : sample_byte(field, row, at, k % step));
            }
        }
        for (size_t k = (size_t)start[count] * step; k < own->block_bytes; k++)
            ck_assert_uint_eq(block[k], 0);
        ck_assert_int_eq(start[counts->S], start[count]);
        steps += start[count];
    }
    return steps;
}

/* Views of sources with own fields, and of one that lacks them; epochs of a view and of a dataset. */
UNIT_LOOP(own_steps_are_those_of_the_sources, 4)
{
    const struct sample_kind first = kinds[OWN_KIND + _i % 2], second = {.own = _i > 1, .spare = 0.2};
    OWNED(content_free) struct content *c = content_make(first, second);
    OWNED(bl_view_made_free) struct bl_view_made made;
    OWNED(viewing_end) struct viewing v;
    struct bload_error error;
    viewing_begin(&v, c, 2);
    ck_assert_msg(bl_view_make(&v.request, &made, &e) == BL_OK, "%s", e.text);
    CLOSED_DATASET struct bload_dataset *view = open_directory(v.out);
    for (int f = 3; f < 5; f++) {
        int64_t steps = 0;
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < SAMPLE_SEQUENCES; i++)
                steps += sample_fails(&c->source[s], i) ? 0 : (int64_t)c->source[s].own[f - 3][i];
        }
        for (int64_t epoch = 0; epoch < 2; epoch++) {
            ck_assert_int_eq(bload_dataset_set_epoch(view, epoch, &error), BLOAD_OK);
            ck_assert_int_eq(own_compare(view, c, f), steps);
        }
    }
    ck_assert_int_eq(faults_of(v.out), 0);
    const struct bl_epochs epochs = {.dir = c->source[0].dir, .count = 2, .seed = 5};
    struct bl_epochs_result result;
    ck_assert_msg(bl_epochs_add(&epochs, &result, &e) == BL_OK, "%s", e.text);
    CLOSED_DATASET struct bload_dataset *dataset = open_directory(c->source[0].dir);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        ck_assert_int_eq(bload_dataset_set_epoch(dataset, epoch, &error), BLOAD_OK);
        ck_assert_int_gt(own_compare(dataset, c, 3), 50);
        ck_assert_int_gt(own_compare(dataset, c, 4), 50);
    }
}

/* Any changed byte of a view's files is a fault, and never a wrong step. */
UNIT_LOOP(damage_is_noticed, 2)
{
    static const char *const names[] = {"index.safetensors", "rows.safetensors", "manifest.json"};
    const struct sample_kind kind = kinds[_i ? OWN_KIND : 2];
    OWNED(content_free) struct content *c = content_make(kind, kind);
    struct bl_view_made made;
    OWNED(viewing_end) struct viewing v;
    viewing_begin(&v, c, 2);
    ck_assert_msg(bl_view_make(&v.request, &made, &e) == BL_OK, "%s", e.text);
    bl_view_made_free(&made);
    for (int n = 0; n < 3; n++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", v.out, names[n]);
        FILE *file = fopen(path, "r+b");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
        long size = ftell(file);
        for (long at = 16; at < size; at += size / 40 + 1) {
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            int byte = fgetc(file);
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            ck_assert_int_ne(fputc(byte ^ 0x41, file), EOF);
            ck_assert_int_eq(fflush(file), 0);
            struct bl_error why = {0};
            int faults = 0;
            int code = bl_verify_view(v.out, &never, count_fault, count_fault, &faults, &why);
            ck_assert_msg(code || faults, "%s: byte %ld", names[n], at);
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            ck_assert_int_ne(fputc(byte, file), EOF);
            ck_assert_int_eq(fflush(file), 0);
        }
        fclose(file);
    }
    ck_assert_int_eq(faults_of(v.out), 0);
}

/* Reads all blocks of a view that may be damaged: what counts is that it ends, with data or an error. */
static void read_whatever(const char *dir)
{
    struct bload_dataset *dataset;
    struct bload_error error;
    const struct bload_tables *tables;
    static uint8_t block[1 << 14];
    if (bload_dataset_open(dir, &dataset, &error) != BLOAD_OK)
        return;
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    for (int64_t b = 0; b < counts->blocks; b++) {
        for (int f = 0; f < bload_dataset_field_count(dataset); f++) {
            ck_assert_uint_le(bload_dataset_field(dataset, f)->block_bytes, sizeof block);
            bload_dataset_read_block(dataset, b, f, block, bload_dataset_field(dataset, f)->block_bytes, &error);
        }
        bload_dataset_read_tables(dataset, b, &tables, &error);
    }
    bload_dataset_close(dataset);
}

/* Extreme numbers in its tables are never taken for places in memory or files. */
UNIT_LOOP(any_number_in_a_table_is_survived, 2)
{
    static const int64_t extreme[] = {INT64_MIN, INT64_MAX, -1, INT64_MAX / 2, 0x7fffffff, INT64_C(0x8000000080000000)};
    static const char *const names[] = {"index.safetensors", "rows.safetensors"};
    const struct sample_kind kind = kinds[_i ? OWN_KIND : 2];
    OWNED(content_free) struct content *c = content_make(kind, kind);
    struct bl_view_made made;
    OWNED(viewing_end) struct viewing v;
    viewing_begin(&v, c, 2);
    ck_assert_msg(bl_view_make(&v.request, &made, &e) == BL_OK, "%s", e.text);
    bl_view_made_free(&made);
    for (int n = 0; n < 2; n++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", v.out, names[n]);
        FILE *file = fopen(path, "r+b");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
        long size = ftell(file);
        for (long at = 4096, k = 0; at + 8 <= size; at += 8 * (1 + size / 8 / (unit_brief() ? 12 : 400)), k++) {
            int64_t was;
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            ck_assert_uint_eq(fread(&was, sizeof was, 1, file), 1);
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            ck_assert_uint_eq(fwrite(&extreme[k % 6], sizeof was, 1, file), 1);
            ck_assert_int_eq(fflush(file), 0);
            read_whatever(v.out);
            ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
            ck_assert_uint_eq(fwrite(&was, sizeof was, 1, file), 1);
            ck_assert_int_eq(fflush(file), 0);
        }
        fclose(file);
    }
    ck_assert_int_eq(faults_of(v.out), 0);
}

/* A view whose manifest has other fields than its sources: their steps would not fit. */
UNIT_TEST(other_fields_are_refused)
{
    OWNED(content_free) struct content *c = content_make(kinds[0], kinds[0]);
    struct bload_error error;
    struct bload_dataset *dataset;
    OWNED(bl_view_made_free) struct bl_view_made made;
    OWNED(viewing_end) struct viewing v;
    viewing_begin(&v, c, 1);
    ck_assert_msg(bl_view_make(&v.request, &made, &e) == BL_OK, "%s", e.text);
    made.manifest.format.fields.field[0].shape[0]--;
    ck_assert_int_eq(bl_manifest_write(&made.manifest, v.out, &e), BL_OK);
    ck_assert_int_eq(bload_dataset_open(v.out, &dataset, &error), BLOAD_EDATA);
    ck_assert_ptr_nonnull(strstr(error.text, "its fields are not those of the view"));
}
