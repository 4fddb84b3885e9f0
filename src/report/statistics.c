/* Reads a sample of blocks and gathers the moments of each channel.
 *
 * Blocks are drawn by the seed of the plan and read in their order; of a block only the pieces of sequences are, so no
 * padding counts. Values are taken in slices, the sums of a slice are made in two passes (mean, then squared
 * differences), and slices are merged by the formula of Chan, Golub and LeVeque (1979). This is stable where a mean is
 * large beside the deviation, and the order is always the same, so the digits are. */
#include "report/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/random.h"
#include "store/blocks.h"
#include "store/plan_info.h"

#define SLICE ((int64_t)1 << 16)           /* values that are summed in two passes; at least one of each channel */
#define STATISTICS_CHUNK ((size_t)1 << 20) /* bytes of steps that are read at a time; at least one step */

/* --- moments ------------------------------------------------------------------------------------------------------ */

/* Sets count, least, most and the mean of each channel of a slice, whose moments are 0 before. Values are less the
 * first value of the channel: so a large mean costs no digits, however small the slices are. */
static void slice_sum(struct bl_moments *slice, struct bl_moments *all, int64_t channels, enum bl_dtype dtype,
                      const uint8_t *data, int64_t values)
{
    const size_t size = bl_dtype_size(dtype);
    for (int64_t i = 0; i < values; i += channels) {
        for (int64_t c = 0; c < channels; c++, data += size) {
            struct bl_moments *m = &slice[c];
            double value = dtype == BL_U8 ? *data : bl_element_number(dtype, data);
            if (!isfinite(value)) {
                m->not_finite++;
                continue;
            }
            if (!m->count && !all[c].count)
                all[c].first = value;
            m->least = !m->count || value < m->least ? value : m->least;
            m->most = !m->count || value > m->most ? value : m->most;
            m->count++;
            m->mean += value - all[c].first;
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        slice[c].first = all[c].first;
        slice[c].mean = slice[c].count ? slice[c].mean / (double)slice[c].count : 0;
    }
}

/* Sets m2 of each channel of a slice. */
static void slice_square(struct bl_moments *slice, int64_t channels, enum bl_dtype dtype, const uint8_t *data,
                         int64_t values)
{
    const size_t size = bl_dtype_size(dtype);
    for (int64_t i = 0; i < values; i += channels) {
        for (int64_t c = 0; c < channels; c++, data += size) {
            double value = dtype == BL_U8 ? *data : bl_element_number(dtype, data);
            double off = value - slice[c].first - slice[c].mean;
            slice[c].m2 += isfinite(value) ? off * off : 0;
        }
    }
}

/* Adds the moments of one set of values to those of another. */
static void moments_merge(struct bl_moments *into, const struct bl_moments *from)
{
    into->not_finite += from->not_finite;
    if (!from->count)
        return;
    const int64_t count = into->count + from->count;
    const double off = from->mean - into->mean, share = (double)from->count / (double)count;
    into->least = !into->count || from->least < into->least ? from->least : into->least;
    into->most = !into->count || from->most > into->most ? from->most : into->most;
    into->m2 += from->m2 + off * off * (double)into->count * share;
    into->mean = into->count ? into->mean + off * share : from->mean;
    into->count = count;
}

void bl_moments_add(struct bl_moments *moments, int64_t channels, enum bl_dtype dtype, const uint8_t *data,
                    int64_t values, struct bl_moments *scratch)
{
    const int64_t most = SLICE > channels ? SLICE / channels * channels : channels;
    for (int64_t at = 0; at < values; at += most) {
        int64_t n = values - at < most ? values - at : most;
        const uint8_t *slice = data + (size_t)at * bl_dtype_size(dtype);
        memset(scratch, 0, (size_t)channels * sizeof *scratch);
        slice_sum(scratch, moments, channels, dtype, slice, n);
        slice_square(scratch, channels, dtype, slice, n);
        for (int64_t c = 0; c < channels; c++)
            moments_merge(&moments[c], &scratch[c]);
    }
}

struct bl_channel_numbers bl_channel_numbers(const struct bl_field_statistics *field, int64_t channel)
{
    const struct bl_moments *m = &field->channel[channel];
    if (!m->count)
        return (struct bl_channel_numbers){NAN, NAN, NAN, NAN};
    return (struct bl_channel_numbers){.mean = (m->first + m->mean) / field->scale,
                                       .std = sqrt(m->m2 / (double)m->count) / field->scale,
                                       .least = m->least / field->scale,
                                       .most = m->most / field->scale};
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Sets what the channels of a field are; false: its values are nothing that trainers normalize. */
static bool field_describe(const struct bl_manifest *m, int f, struct bl_field_statistics *out)
{
    const struct bl_field *field = &m->format.fields.field[f];
    bool is_picture = strcmp(field->kind, "video") == 0 || strcmp(field->kind, "frames") == 0;
    bool is_sound = strcmp(field->kind, "audio") == 0, is_array = strcmp(field->kind, "array") == 0;
    int64_t samples = bl_manifest_step_samples(m, f);
    int axes = field->rank - (samples > 1); /* the samples of a step are one after the other */
    *out = (struct bl_field_statistics){.field = f, .scale = 1, .of = "values"};
    out->channels = axes > 0 ? field->shape[field->rank - 1] : 1;
    if (field->own || !(is_picture || is_sound || is_array) || (is_picture && field->rank < 2))
        return false;
    if (is_array)
        return field->dtype != BL_BOOL && !bl_element_is_integer(field); /* an integer a step is an id or a label */
    if (is_picture)
        out->of = "pixels";
    else
        out->of = strncmp(field->name, "features", 8) == 0 ? "features" : "amplitude";
    if (is_picture)
        out->scale = field->dtype == BL_U8 ? 255 : field->dtype == BL_U16 ? 65535 : 1;
    else
        out->scale = field->dtype == BL_I16 ? 32768 : 1;
    return true;
}

/* Finds the fields to read. BL_EUSAGE: there are none. */
static int statistics_find_fields(struct bl_statistics *s, const struct bl_manifest *m, const char *dir,
                                  struct bl_error *e)
{
    const struct bl_fields *fields = &m->format.fields;
    for (int f = 0; f < fields->count; f++) {
        struct bl_field_statistics *field = &s->field[s->fields];
        if (!field_describe(m, f, field)) {
            s->left_out[s->left++] = f;
            continue;
        }
        field->channel = calloc((size_t)field->channels, sizeof *field->channel);
        if (!field->channel)
            return bl_error_memory(e);
        s->fields++;
    }
    if (!s->fields)
        return bl_error_set(
            e, BL_EUSAGE,
            "--statistics: no field of %s has pixels, sound or features; a mean of ids, labels or times "
            "says nothing",
            dir);
    return BL_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The pieces of a block, and room for what is read of them. */
struct statistics_reading {
    struct bl_statistics *s;
    struct bl_view view;
    const struct bl_cancel *cancel;
    int64_t *sequence, *source_start; /* [capacity] of the pieces */
    int32_t *length;
    size_t pieces, capacity, capacity_start, capacity_length;
    uint8_t *data;              /* steps of a field */
    struct bl_moments *scratch; /* [channels of a field] */
};

/* Reads the pieces of block b from the plan. Those that failed while packing get a length of 0. */
static int reading_find_pieces(struct statistics_reading *r, int64_t b, struct bl_error *e)
{
    int64_t ptr[2];
    const struct bl_block *block; /* the tables of the block are checked */
    BL_TRY(bl_view_tables(&r->view, b, &block, e));
    BL_TRY(bl_index_read(&r->view.index, BL_INDEX_BLOCK_PTR, b, 2, ptr, e));
    r->pieces = (size_t)(ptr[1] - ptr[0]);
    BL_TRY(BL_ARRAY_RESERVE(r->sequence, r->capacity, r->pieces, e));
    BL_TRY(BL_ARRAY_RESERVE(r->source_start, r->capacity_start, r->pieces, e));
    BL_TRY(BL_ARRAY_RESERVE(r->length, r->capacity_length, r->pieces, e));
    const struct bl_index_column column[] = {
        {BL_INDEX_SEQUENCE, r->sequence}, {BL_INDEX_LENGTH, r->length}, {BL_INDEX_SOURCE_START, r->source_start}};
    if (r->pieces)
        BL_TRY(bl_index_read_columns(&r->view.index, column, 3, ptr[0], (int64_t)r->pieces, e));
    for (size_t i = 0; i < r->pieces; i++) {
        const struct bl_row *row;
        BL_TRY(bl_view_row(&r->view, r->sequence[i], &row, e));
        if (row->status != BL_ROW_OK) {
            r->length[i] = 0;
            r->s->failed++;
            continue;
        }
        r->s->sequences++;
        r->s->steps += r->length[i];
    }
    return BL_OK;
}

/* Adds the values of a field in one piece. *stored: of the piece before, whose checked block need not be checked again.
 */
static int reading_add_moments(struct statistics_reading *r, struct bl_field_statistics *field, size_t piece,
                               struct bl_stored_sequence *stored, struct bl_error *e)
{
    const struct bl_field *format = &r->view.manifest.format.fields.field[field->field];
    const size_t step = bl_field_step_bytes(format);
    const int64_t most = step < STATISTICS_CHUNK ? (int64_t)(STATISTICS_CHUNK / step) : 1;
    const struct bl_step_range range = {
        .first = r->source_start[piece], .end = r->source_start[piece] + r->length[piece], .is_given = true};
    const struct bl_dataset *checked = stored->checked;
    const int64_t checked_block = stored->checked_block;
    int64_t steps = 1;
    BL_TRY(bl_stored_sequence_begin(stored, &r->view, r->sequence[piece], field->field, &range, e));
    stored->checked = checked;
    stored->checked_block = checked_block;
    for (;;) {
        if (bl_cancelled(r->cancel))
            return BL_ECANCEL;
        BL_TRY(bl_stored_sequence_read(stored, most, r->data, &steps, e));
        if (!steps)
            return BL_OK;
        bl_moments_add(field->channel, field->channels, format->dtype, r->data,
                       steps * (int64_t)(step / bl_dtype_size(format->dtype)), r->scratch);
    }
}

static int reading_add_block(struct statistics_reading *r, int64_t b, struct bl_error *e)
{
    BL_TRY(reading_find_pieces(r, b, e));
    for (int f = 0; f < r->s->fields; f++) {
        struct bl_stored_sequence stored = {0};
        for (size_t i = 0; i < r->pieces; i++) {
            if (r->length[i])
                BL_TRY(reading_add_moments(r, &r->s->field[f], i, &stored, e));
        }
    }
    r->s->blocks++;
    return BL_OK;
}

/* Makes room for a chunk of steps of any field, and for a slice of its channels. */
static int reading_reserve(struct statistics_reading *r, struct bl_error *e)
{
    size_t bytes = STATISTICS_CHUNK, channels = 1;
    for (int f = 0; f < r->s->fields; f++) {
        const struct bl_field_statistics *field = &r->s->field[f];
        size_t step = bl_field_step_bytes(&r->view.manifest.format.fields.field[field->field]);
        bytes = step > bytes ? step : bytes;
        channels = (size_t)field->channels > channels ? (size_t)field->channels : channels;
    }
    r->data = malloc(bytes);
    r->scratch = calloc(channels, sizeof *r->scratch);
    return r->data && r->scratch ? BL_OK : bl_error_memory(e);
}

/* Draws blocks without repetition, in ascending order: block b is taken with the probability wanted / left, which
 * draws every set of blocks equally often (Fan, Muller and Rezucha, 1962). */
static int reading_draw(struct statistics_reading *r, int64_t wanted, struct bl_error *e)
{
    struct bl_random random;
    bl_random_seed(&random, r->view.manifest.plan_info.seed, BL_STREAM_STATISTICS);
    for (int64_t b = 0, left = r->s->all_blocks; left && wanted; b++, left--) {
        if (bl_random_below(&random, (uint64_t)left) >= (uint64_t)wanted)
            continue;
        wanted--;
        int code = reading_add_block(r, b, e);
        if (code == BL_EDATA || code == BL_EUSAGE)
            e->code = code = BL_EFAIL; /* a damaged block is a failure; bload verify names all of them */
        BL_TRY(code);
    }
    return BL_OK;
}

int bl_statistics_read(struct bl_statistics *s, const char *dir, int64_t blocks, const struct bl_cancel *cancel,
                       struct bl_error *e)
{
    struct statistics_reading r = {.s = s, .cancel = cancel};
    *s = (struct bl_statistics){0};
    BL_TRY(bl_view_open(&r.view, dir, e));
    int code = statistics_find_fields(s, &r.view.manifest, dir, e);
    s->all_blocks = r.view.index.blocks;
    if (!code)
        code = reading_reserve(&r, e);
    if (!code)
        code = reading_draw(&r, blocks && blocks < s->all_blocks ? blocks : s->all_blocks, e);
    free(r.sequence);
    free(r.source_start);
    free(r.length);
    free(r.data);
    free(r.scratch);
    bl_view_close(&r.view);
    return code;
}

void bl_statistics_free(struct bl_statistics *s)
{
    for (int f = 0; f < BL_FIELDS_MAX; f++)
        free(s->field[f].channel);
    *s = (struct bl_statistics){0};
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* Returns a number, or null if it is none. */
static json_t *number_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *field_json(const struct bl_field_statistics *field, const char *name)
{
    json_t *channels = json_array(), *object = json_object();
    for (int64_t c = 0; c < field->channels; c++) {
        struct bl_channel_numbers n = bl_channel_numbers(field, c);
        json_t *channel = json_object();
        bl_jansson_set(&channel, "values", json_integer(field->channel[c].count));
        bl_jansson_set(&channel, "not_finite", json_integer(field->channel[c].not_finite));
        bl_jansson_set(&channel, "mean", number_json(n.mean));
        bl_jansson_set(&channel, "std", number_json(n.std));
        bl_jansson_set(&channel, "min", number_json(n.least));
        bl_jansson_set(&channel, "max", number_json(n.most));
        bl_jansson_push(&channels, channel);
    }
    bl_jansson_set(&object, "field", json_string(name));
    bl_jansson_set(&object, "of", json_string(field->of));
    bl_jansson_set(&object, "scale", json_real(field->scale));
    bl_jansson_set(&object, "channels", channels);
    return object;
}

struct json_t *bl_statistics_json(const struct bl_statistics *s, const struct bl_format *format)
{
    json_t *fields = json_array(), *left_out = json_array(), *object = json_object();
    for (int f = 0; f < s->fields; f++)
        bl_jansson_push(&fields, field_json(&s->field[f], format->fields.field[s->field[f].field].name));
    for (int f = 0; f < s->left; f++)
        bl_jansson_push(&left_out, json_string(format->fields.field[s->left_out[f]].name));
    bl_jansson_set(&object, "blocks", json_integer(s->blocks));
    bl_jansson_set(&object, "all_blocks", json_integer(s->all_blocks));
    bl_jansson_set(&object, "sequences", json_integer(s->sequences));
    bl_jansson_set(&object, "steps", json_integer(s->steps));
    bl_jansson_set(&object, "failed", json_integer(s->failed));
    bl_jansson_set(&object, "fields", fields);
    bl_jansson_set(&object, "left_out", left_out);
    return object;
}
