/* Audio per step as a kind: it counts the sound beside a sequence of another kind, and reads the samples of each step.
 *
 * Example: a video has 25 frames a second and the sound 16,000 samples. Each step has ceil(16000 / 25) = 640 samples,
 * and the step at 0.04 s begins with sample 640, or 0.04 s * 16000 + lead where the tracks do not begin together. The
 * scan notes the lead in the row, so that the packing run places the steps without opening the other kind's file. */
#include "kind/audio/per_step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/archive.h"
#include "base/input_file.h"
#include "kind/audio/audio.h"
#include "kind/audio/manifest_lines.h"
#include "kind/audio/read.h"
#include "kind/media/module.h"

#define BL_PER_STEP_SAMPLES_MAX (1 << 20)

/* The options of sound per step, and the values that follow from the kind that it follows. */
struct bl_per_step_config {
    struct bl_audio_config audio; /* first: see bl_kind_follow.per_step_of */
    int64_t samples;              /* of each step; 0: as many as the rate of steps needs */
    struct bl_rational step_rate; /* steps per second; den 0: as in the sequences */
    /* per_step_attach sets these: */
    int64_t window;    /* samples of each step */
    int64_t tolerance; /* as bl_steps_is_short's */
};

extern const struct bl_kind bl_kind_audio_per_step;

/* --- samples of a step -------------------------------------------------------------------------------------------- */

/* These functions compute which samples of a sound belong to each step of another kind's sequence. They need times
 * alone.
 *
 * A step that begins at t has a fixed number of samples from sample round((t + lead) * rate) on, halves rounded up.
 * With ceil(rate / steps per second) of them, no sample between two steps of a constant rate is lost, and neighbours
 * share at most one. */

#define SAMPLES_MAX 0x1p53 /* no sound is that long, and a double holds each whole number up to it */

static int64_t place_clamp(int64_t place, int64_t length)
{
    return place < 0 ? 0 : place > length ? length : place;
}

int64_t bl_steps_samples(int64_t rate, int64_t num, int64_t den)
{
    __int128 samples = ((__int128)rate * den + num - 1) / num;
    return samples > INT64_MAX ? INT64_MAX : (int64_t)samples;
}

int64_t bl_steps_begin(const struct bl_steps *steps, double time)
{
    double samples = (time + steps->lead) * steps->rate;
    if (samples >= SAMPLES_MAX || samples <= -SAMPLES_MAX)
        return samples > 0 ? (int64_t)SAMPLES_MAX : -(int64_t)SAMPLES_MAX;
    return bl_cut_samples(time + steps->lead, steps->rate);
}

void bl_steps_add(struct bl_steps_sum *sum, const struct bl_steps *steps, double time)
{
    int64_t first = bl_steps_begin(steps, time);
    int64_t begin = place_clamp(first, steps->length), end = place_clamp(first + steps->samples, steps->length);
    sum->left_out += begin > sum->passed ? begin - sum->passed : 0;
    sum->passed = end > sum->passed ? end : sum->passed;
    sum->filled += steps->samples - (end - begin);
    sum->silent = first >= steps->length ? sum->silent + 1 : 0;
    sum->last = first;
}

void bl_steps_end(struct bl_steps_sum *sum, const struct bl_steps *steps)
{
    sum->left_out += steps->length - sum->passed;
    sum->passed = steps->length;
}

bool bl_steps_is_short(const struct bl_steps_sum *sum, const struct bl_steps *steps, int64_t tolerance)
{
    if (tolerance >= 0)
        return sum->silent > tolerance;
    const double seconds = 0.5; /* the tracks of one recording may end so far apart */
    return (double)(sum->last - steps->length) > seconds * steps->rate;
}

/* --- audio per step ----------------------------------------------------------------------------------------------- */

#define CHUNK 65536 /* samples to read at once, at least */

static const char *const extensions[] = {NULL};

static const struct bl_option options[] = {
    BL_OPTION_INT("samples", struct bl_per_step_config, samples, BL_AFFECTS_BYTES, NULL, .min = 1,
                  .max = BL_PER_STEP_SAMPLES_MAX),
    BL_OPTION_RATIONAL("step-rate", struct bl_per_step_config, step_rate, BL_AFFECTS_BYTES, NULL),
    {0},
};

/* Checks the options. BL_EUSAGE. */
static int per_step_config_check(const void *values, struct bl_error *e)
{
    const struct bl_per_step_config *config = values;
    if (config->audio.features)
        return bl_error_set(
            e, BL_EUSAGE,
            "per-step needs samples, not features: they have a rate of their own and frames that cannot be cut "
            "(pack features as a dataset of their own)");
    return bl_audio_check(&config->audio, e);
}

/* Returns whether the steps' numbers suffice, since the options give their rate, or each step's time is needed. */
static enum bl_follow_needs per_step_needs(const void *values)
{
    const struct bl_per_step_config *config = values;
    return config->step_rate.den ? BL_FOLLOW_NUMBERS : BL_FOLLOW_TIMES;
}

/* Takes over the rate of the kind that is followed, num / den steps a second, den 0: each file has its own; and the
 * tolerance of its lengths. BL_EUSAGE: the samples of a step do not follow from these. */
static int per_step_attach(void *values, int64_t num, int64_t den, int64_t tolerance, struct bl_error *e)
{
    struct bl_per_step_config *config = values;
    int64_t rate = config->audio.rate;
    if (config->step_rate.den) {
        num = config->step_rate.num;
        den = config->step_rate.den;
    }
    config->audio.by_clock = true;
    config->tolerance = tolerance;
    config->window = config->samples;
    if (!config->window && den)
        config->window = bl_steps_samples(rate, num, den);
    if (!config->window)
        return bl_error_set(
            e, BL_EUSAGE,
            "per-step cannot tell how many samples a step has, as every file has a rate of its own: give "
            "samples (%" PRId64 " for 25 steps a second, %" PRId64 " for 30), or fps",
            bl_steps_samples(rate, 25, 1), bl_steps_samples(rate, 30, 1));
    if (config->window > BL_PER_STEP_SAMPLES_MAX)
        return bl_error_set(e, BL_EUSAGE, "steps of %" PRId64 " samples are too long: at most %d", config->window,
                            BL_PER_STEP_SAMPLES_MAX);
    return BL_OK;
}

/* Adds the names of the columns that per_step_count fills in. */
static void per_step_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)lists;
    bl_buffer_text(out, "\tlead\tleft_out\tfilled");
    bl_audio_option_columns(config, out);
}

static void per_step_config_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_per_step_config *config = values;
    bl_audio_sampling(&config->audio, out);
    bl_buffer_printf(out, " samples=%" PRId64, config->window);
    if (config->step_rate.den)
        bl_buffer_printf(out, " step-rate=%" PRId64 "/%" PRId64, config->step_rate.num, config->step_rate.den);
}

/* --- counting --------------------------------------------------------------------------------------------------- */

/* Counts the sound, and sums up which of its samples are in steps. *lead: seconds from the sound's first sample to the
 * first step; 0 unless both kinds read one file, with its clock. BL_EDATA: the sound is unusable. */
static int per_step_examine(const struct bl_per_step_config *config, const struct bl_kind_env *env,
                            const struct bl_chunk *chunk, struct bl_audio_info *info, double *lead,
                            struct bl_steps_sum *sum, struct bl_error *unusable)
{
    const struct bl_row *followed = chunk->followed;
    const char *path = chunk->input->path;
    const struct bl_media *media;
    struct stat sound, other;
    struct bl_member member = {0}, other_member = {0};
    BL_TRY(bl_media_open(&media, unusable));
    BL_TRY(media->count_sound(&config->audio, env, path, chunk->meter, info, unusable));
    if (bl_input_file_stat(path, &sound) != 0)
        return bl_error_errno(unusable, BL_EFAIL, "cannot examine %s", path);
    if (bl_input_file_stat(followed->path, &other) != 0)
        return bl_error_errno(unusable, BL_EFAIL, "cannot examine %s", followed->path);
    /* Two members of one tar have the same device and inode, and different places. */
    (void)bl_member_parse(path, &member);
    (void)bl_member_parse(followed->path, &other_member);
    bool same = sound.st_dev == other.st_dev && sound.st_ino == other.st_ino && member.begin == other_member.begin;
    *lead = same && !isnan(info->origin) ? followed->origin - info->origin : 0;
    struct bl_steps steps = {
        .rate = (int)config->audio.rate, .samples = config->window, .length = info->samples, .lead = *lead};
    *sum = (struct bl_steps_sum){0};
    if (!config->step_rate.den && !followed->times)
        return bl_error_set(unusable, BL_EDATA, "its frames have no times (set step-rate: N)");
    for (int64_t i = 0; i < followed->length; i++)
        bl_steps_add(sum, &steps, bl_kind_step_time(&config->step_rate, followed->times, 0, i));
    bl_steps_end(sum, &steps);
    if (!bl_steps_is_short(sum, &steps, config->tolerance))
        return BL_OK;
    return bl_error_set(unusable, BL_EDATA,
                        "the sound ends at %.3f s, and the last step begins at %.3f s: %" PRId64 " of %" PRId64
                        " steps have none (length-tolerance: %" PRId64 " fills them with zeros)",
                        (double)steps.length / steps.rate, (double)sum->last / steps.rate, sum->silent,
                        followed->length, sum->silent);
}

/* Appends the values of the columns of a sound file: "\t0.021\t0\t320", and those of the options. */
static int per_step_append_values(const struct bl_per_step_config *config, double lead, const struct bl_steps_sum *sum,
                                  int channels, bool silent, struct bl_buffer *out, struct bl_error *e)
{
    char seconds[40];
    /* 15 digits are enough for most numbers, and 17 for all, to be read back as the same double. */
    snprintf(seconds, sizeof seconds, "%.15g", lead);
    if (strtod(seconds, NULL) != lead)
        snprintf(seconds, sizeof seconds, "%.17g", lead);
    bl_buffer_printf(out, "\t%s\t%" PRId64 "\t%" PRId64, seconds, sum->left_out, sum->filled);
    bl_audio_append_values(&config->audio, channels, 0, silent, out);
    return bl_buffer_check(out, e);
}

/* Emits the one row of a sound file, or of a sequence without sound, which is silent. */
static int per_step_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                          struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    const struct bl_per_step_config *per_step = config;
    const bool zeros = per_step->audio.common.zeros;
    struct bl_error unusable = {0};
    struct bl_audio_info info = {.stream = -1};
    struct bl_steps_sum sum = {0};
    struct bl_buffer extra = {0};
    double lead = 0;
    bool silent = zeros && !*chunk->input->path;
    int code = silent ? BL_OK : per_step_examine(config, env, chunk, &info, &lead, &sum, &unusable);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &unusable);
    if (silent || (zeros && code && info.stream_missing)) {
        silent = true;
        code = BL_OK;
        info = (struct bl_audio_info){.stream = -1};
        sum.filled = per_step->window * chunk->followed->length;
    }
    struct bl_row row = {.length = info.samples,
                         .bytes = chunk->input->bytes,
                         .stream = info.stream,
                         .reason = info.reason,
                         .offset = -1};
    if (code) {
        row.status = BL_ROW_SKIPPED;
        row.reason = unusable.text;
    } else {
        code = per_step_append_values(config, lead, &sum, info.channels, silent, &extra, e);
        row.extra = extra.data;
    }
    code = row.status == BL_ROW_OK && code ? code : emit(sink, 0, &row, e);
    bl_buffer_free(&extra);
    return code;
}

/* The field of the audio kind, with a dimension for the samples of a step before that of the channels. */
static int per_step_config_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                                  struct bl_fields *out, struct bl_error *e)
{
    const struct bl_per_step_config *config = values;
    int code = bl_audio_fields(&config->audio, env, row, out, e);
    out->field[0].shape[0] = config->window;
    out->field[0].shape[1] = bl_audio_channels(&config->audio);
    out->field[0].rank++;
    return code;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Reads steps from a reader of the audio kind. Neighbouring steps may overlap or leave samples out, and the decoder
 * only goes forwards: so the reader holds a stretch of the sound, and moves it on. */
struct per_step_reader {
    struct bl_reader base;
    const struct bl_per_step_config *config;
    struct bl_reader *sound; /* of the audio kind */
    size_t size;             /* bytes of a sample, of all channels */
    char *path;              /* of the file whose samples are held, with bytes and stream; NULL: none are held */
    int64_t bytes;
    int stream;
    struct bl_buffer held; /* samples from `from` to `to` */
    int64_t from, to;
};

static void per_step_reader_close(struct bl_reader *reader)
{
    struct per_step_reader *r = (struct per_step_reader *)reader;
    if (r->sound)
        r->sound->close(r->sound);
    bl_buffer_free(&r->held);
    free(r->path);
    free(r);
}

/* Forgets the file and the samples that are held. */
static void per_step_reader_reset(struct per_step_reader *r)
{
    free(r->path);
    r->path = NULL;
    r->from = r->to = 0;
}

/* Holds the samples [begin, end), which lie within the sound, and reads at least CHUNK of them at once. */
static int per_step_reader_hold(struct per_step_reader *r, const struct bl_row *row, int64_t begin, int64_t end,
                                struct bl_error *e)
{
    struct bl_note note;
    if (begin >= r->from && end <= r->to)
        return BL_OK;
    int64_t kept = begin >= r->from && begin < r->to ? r->to - begin : 0;
    if (kept)
        memmove(r->held.data, r->held.data + (size_t)(begin - r->from) * r->size, (size_t)kept * r->size);
    r->from = begin;
    r->to = begin + kept;
    r->held.size = (size_t)kept * r->size;
    int64_t stop = begin + CHUNK > end ? begin + CHUNK : end;
    stop = stop < row->length ? stop : row->length;
    if (!bl_buffer_reserve(&r->held, (size_t)(stop - r->to) * r->size))
        return bl_error_memory(e);
    uint8_t *out = (uint8_t *)r->held.data + r->held.size;
    struct bl_request request = {.row = *row, .source_start = r->to, .steps = stop - r->to, .out = &out};
    BL_TRY(r->sound->piece(r->sound, &request, &note, e));
    r->held.size += (size_t)request.steps * r->size;
    r->to = stop;
    return BL_OK;
}

/* Reads the column "lead" that the scan wrote. */
static int per_step_row_lead(const struct bl_row *row, double *lead, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *end = NULL;
    bool found = bl_row_get_value(row, "lead", &text) && !text.failed, failed = text.failed;
    *lead = found ? strtod(text.data, &end) : 0;
    bool good = found && end != text.data && !*end && isfinite(*lead);
    bl_buffer_free(&text);
    if (failed)
        return bl_error_memory(e);
    return good ? BL_OK : bl_error_set(e, BL_EUSAGE, "the table does not tell when the sound begins: scan again");
}

/* Reads a piece, for struct bl_reader. With the last step it reads the end of the sound, too, even if that lies in no
 * step: the sound must have the length that the scan counted. */
static int per_step_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                 struct bl_error *e)
{
    struct per_step_reader *r = (struct per_step_reader *)reader;
    const struct bl_per_step_config *config = r->config;
    const struct bl_row *row = &request->row;
    struct bl_steps steps = {.rate = (int)config->audio.rate, .samples = config->window, .length = row->length};
    size_t bytes = (size_t)config->window * r->size;
    note->text[0] = '\0';
    if (config->audio.common.zeros && bl_row_has_value(row, BL_KIND_SILENT, "1")) {
        memset(request->out[0], 0, (size_t)request->steps * bytes);
        return BL_OK;
    }
    int code = per_step_row_lead(row, &steps.lead, e);
    if (code)
        goto out;
    if (!r->path || strcmp(r->path, row->path) != 0 || r->bytes != row->bytes || r->stream != row->stream) {
        per_step_reader_reset(r);
        r->bytes = row->bytes;
        r->stream = row->stream;
        r->path = strdup(row->path);
        code = r->path ? BL_OK : bl_error_memory(e);
    }
    if (code)
        goto out;
    for (int64_t i = 0; i < request->steps; i++) {
        double time = bl_kind_step_time(&config->step_rate, request->times, request->source_start, i);
        uint8_t *out = request->out[0] + (size_t)i * bytes;
        int64_t first = bl_steps_begin(&steps, time), last = first + config->window;
        int64_t begin = first > 0 ? first : 0, end = last < row->length ? last : row->length;
        if (begin >= end) { /* there are zeros where there is no sound */
            memset(out, 0, bytes);
            continue;
        }
        code = per_step_reader_hold(r, row, begin, end, e);
        if (code)
            goto out;
        size_t before = (size_t)(begin - first) * r->size, there = (size_t)(end - begin) * r->size;
        memset(out, 0, before);
        memcpy(out + before, r->held.data + (size_t)(begin - r->from) * r->size, there);
        memset(out + before + there, 0, bytes - before - there);
    }
    if (request->source_start + request->steps == request->followed)
        code = per_step_reader_hold(r, row, row->length - 1, row->length, e);
out:
    if (code)
        per_step_reader_reset(r);
    return code;
}

static int per_step_reader_open(const void *values, const struct bl_kind_env *env, const struct bl_fields *given,
                                struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_per_step_config *config = values;
    struct per_step_reader *r = calloc(1, sizeof *r);
    struct bl_fields own;
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){per_step_reader_piece, per_step_reader_close};
    r->config = config;
    r->size = bl_field_step_bytes(&given->field[0]) / (size_t)config->window;
    int code = bl_audio_fields(&config->audio, env, NULL, &own, e);
    if (!code)
        code = bl_audio_forward_open_reader(&config->audio, env, &own, &r->sound, e);
    if (code)
        per_step_reader_close(&r->base);
    else
        *reader = &r->base;
    return code;
}

/* --- the kind --------------------------------------------------------------------------------------------------- */

static void per_step_config_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_per_step_config *config = values;
    bl_buffer_printf(out, "for each step %" PRId64 " ", config->window);
    bl_audio_describe(&config->audio, field, out);
}

static const struct bl_total totals[] = {{.column = "left_out", .text = "samples that lie in no step, left out"},
                                         {.column = "filled", .text = "zero samples, where a step has no sound"},
                                         BL_AUDIO_LEFT_TOTAL,
                                         BL_AUDIO_SILENT_TOTAL,
                                         {0}};

static const struct bl_kind_scan audio_per_step_scan = {
    .sampling = per_step_config_sampling,
    .columns = per_step_columns,
    .totals = totals,
    .count = per_step_count,
};

static const struct bl_kind_read audio_per_step_read = {
    .memory = (int64_t)96 << 20,
    .fields = per_step_config_fields,
    .open = per_step_reader_open,
    .describe = per_step_config_describe,
    .versions = bl_audio_forward_versions,
};

static const struct bl_kind_follow audio_per_step_follow = {
    .per_step_of = &bl_kind_audio,
    .needs = per_step_needs,
    .attach = per_step_attach,
};

const struct bl_kind bl_kind_audio_per_step = {
    .name = "audio",
    .title = "Audio per step",
    .steps = "samples",
    .extensions = extensions,
    .decodes = bl_kind_decodes,
    .options = {.table = options,
                .config_size = sizeof(struct bl_per_step_config),
                .dtypes = bl_audio_dtypes,
                .has_streams = true,
                .has_zeros = true,
                .check = per_step_config_check},
    .scan = &audio_per_step_scan,
    .read = &audio_per_step_read,
    .follow = &audio_per_step_follow,
};
