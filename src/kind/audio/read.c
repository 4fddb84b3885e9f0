/* Reads pieces of sound for the packing run, and has the functions of the audio kind that the media module exports.
 *
 * Most pieces come one after the other from one cut: then the decoder goes on. A sequence that is read in several
 * pieces in any order, and is not too long, is kept decoded: see KEPT_MAX. Features need their utterance as a unit, and
 * are always kept. Decoding that begins at a point (marks.h) is verified against the scan's checksum, and repeated from
 * the beginning of the file where it differs. */
#include "kind/audio/read.h"

#include <inttypes.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswresample/swresample.h>
#include <soxr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/audio/features.h"
#include "kind/audio/mix.h"
#include "kind/audio/options.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A sequence of at most so many bytes is kept in memory: 26 minutes of 16-bit samples at 16 kHz. */
#define KEPT_MAX (48 << 20)

struct audio_reader {
    struct bl_reader base;
    const struct bl_audio_config *config;
    const struct bl_kind_env *env;
    size_t step_bytes;
    struct bl_mix mix;
    struct bl_features *features; /* or NULL */

    char *path; /* of the open file, or NULL */
    int64_t bytes;
    int stream;
    struct bl_cut cut; /* of it */
    struct bl_samples samples;
    bool from_start;       /* points (marks.h) are not used */
    char *missed;          /* path of the file whose points last led to other samples; or NULL */
    int misses;            /* so many in a row */
    struct bl_buffer kept; /* all steps of the cut, */
    bool is_kept;          /* if they are there */
};

/* Closes the open file, if there is one. */
static void audio_reader_leave(struct audio_reader *r)
{
    if (r->path)
        bl_samples_close(&r->samples);
    free(r->path);
    r->path = NULL;
    r->is_kept = false;
}

static void audio_reader_close(struct bl_reader *reader)
{
    struct audio_reader *r = (struct audio_reader *)reader;
    audio_reader_leave(r);
    free(r->missed);
    bl_features_close(r->features);
    bl_buffer_free(&r->kept);
    bl_mix_free(&r->mix);
    free(r);
}

/* Returns whether the open file is the row's. */
static bool audio_reader_has_file(const struct audio_reader *r, const struct bl_row *row)
{
    return r->path && strcmp(r->path, row->path) == 0 && r->stream == row->stream && r->bytes == row->bytes;
}

/* Parses the row's part of its file; false: it is invalid. Channels of the row take precedence over the options'. */
static bool audio_reader_parse_cut(const struct audio_reader *r, const struct bl_row *row, struct bl_cut *cut)
{
    bool parsed = bl_cut_parse(cut, row);
    if (!cut->channels.count)
        cut->channels = r->config->channel;
    return parsed;
}

/* Returns whether the open file and cut are the row's. */
static bool audio_reader_has_sequence(const struct audio_reader *r, const struct bl_row *row)
{
    struct bl_cut cut;
    return audio_reader_has_file(r, row) && audio_reader_parse_cut(r, row, &cut) && cut.start == r->cut.start &&
           cut.duration == r->cut.duration && bl_channel_list_are_same(&cut.channels, &r->cut.channels) &&
           cut.begin == r->cut.begin && cut.end == r->cut.end;
}

/* Goes to the beginning of the row's sequence. A file that is open for another cut stays open. BL_EDATA also for
 * invalid columns of the row. */
static int audio_reader_enter(struct audio_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_cut cut;
    struct bl_sound_point point;
    if (!bl_sound_point_parse(&point, row->clip_seek))
        return bl_error_set(e, BL_EDATA, "invalid clip_seek: \"%s\"", row->clip_seek);
    if (!audio_reader_parse_cut(r, row, &cut))
        return bl_error_set(e, BL_EDATA, "invalid start, duration or channel: \"%s\", \"%s\", \"%s\"", row->start,
                            row->duration ? row->duration : "", row->channel ? row->channel : "");
    r->is_kept = false;
    if (!audio_reader_has_file(r, row)) {
        audio_reader_leave(r);
        char *path = strdup(row->path);
        int code = path ? bl_samples_open(&r->samples, &r->mix, path, row->bytes, row->stream, bl_audio_gap(r->config),
                                          r->env, e)
                        : bl_error_memory(e);
        if (code) {
            free(path);
            return code;
        }
        r->path = path;
        r->bytes = row->bytes;
        r->stream = row->stream;
    }
    r->cut = cut;
    bl_samples_begin(&r->samples, &cut, *row->reason != 0);
    bl_trim_set_point(&r->samples.trim, r->from_start ? NULL : &point);
    return BL_OK;
}

/* Reports that decoding gives another number of steps than the scan. */
static int row_count_mismatch(const struct bl_row *row, const char *steps, int64_t length, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " %s, decoding gives %s%" PRId64, row->length, steps,
                        length > row->length ? "at least " : "", length);
}

#define CHUNK 65536 /* samples between two reports to the meter */

/* Reads so many samples, or up to the end; out NULL: skips them. The meter counts the steps of the piece: they are
 * reported in proportion to the samples from `first` on, of which there are `all`. */
static int audio_reader_read_samples(struct audio_reader *r, uint8_t *out, int64_t wanted,
                                     const struct bl_request *request, int64_t first, int64_t all, int64_t *got,
                                     struct bl_error *e)
{
    struct bl_samples *s = &r->samples;
    *got = 0;
    for (int64_t n = 1; *got < wanted && n;) {
        int64_t chunk = wanted - *got < CHUNK ? wanted - *got : CHUNK;
        BL_TRY(bl_samples_read(s, out ? out + (size_t)*got * s->step_bytes : NULL, chunk, &n, e));
        *got += n;
        bl_meter_report(request->meter,
                        (int64_t)((double)request->steps * (double)(s->position - first) / (double)all));
    }
    return BL_OK;
}

/* Reads a piece straight from the decoder: skips to its first sample, and behind the last piece makes sure that no
 * sample follows. */
static int audio_reader_stream(struct audio_reader *r, const struct bl_request *request, struct bl_error *e)
{
    const struct bl_row *row = &request->row;
    struct bl_samples *s = &r->samples;
    int64_t got, end = request->source_start + request->steps;
    bool at_hand = audio_reader_has_sequence(r, row) && !r->is_kept && s->position <= request->source_start;
    int code = at_hand ? BL_OK : audio_reader_enter(r, row, e);
    if (code)
        goto out;
    int64_t first = s->position, before = request->source_start - first, all = before + request->steps;
    code = audio_reader_read_samples(r, NULL, before, request, first, all, &got, e);
    if (!code && got == before)
        code = audio_reader_read_samples(r, request->out[0], request->steps, request, first, all, &got, e);
    if (!code && s->position < end)
        code = row_count_mismatch(row, "samples", s->position, e);
    if (code || end != row->length)
        goto out;
    code = bl_samples_read(s, NULL, 1, &got, e);
    if (!code && got)
        code = row_count_mismatch(row, "samples", s->position, e);
out:
    if (code || (end == row->length && bl_cut_is_whole(&r->cut)))
        audio_reader_leave(r);
    return code;
}

/* Decodes the sequence and keeps all its steps; at most one sample more than the scan counted. */
static int audio_reader_keep(struct audio_reader *r, const struct bl_request *request, struct bl_error *e)
{
    const struct bl_row *row = &request->row;
    int64_t got, most = row->length + 1;
    BL_TRY(audio_reader_enter(r, row, e));
    bl_buffer_clear(&r->kept);
    if (r->features) {
        float chunk[4096];
        bl_features_begin(r->features);
        do {
            BL_TRY(bl_samples_read(&r->samples, (uint8_t *)chunk, sizeof chunk / sizeof *chunk, &got, e));
            BL_TRY(bl_features_push(r->features, chunk, got, &r->kept, e));
            double done = (double)(r->kept.size / r->step_bytes) / (double)row->length;
            bl_meter_report(request->meter, (int64_t)((double)request->steps * done));
        } while (got);
        BL_TRY(bl_features_end(r->features, &r->kept, e));
    } else {
        if (!bl_buffer_reserve(&r->kept, (size_t)most * r->step_bytes))
            return bl_error_memory(e);
        BL_TRY(audio_reader_read_samples(r, (uint8_t *)r->kept.data, most, request, 0, most, &got, e));
        r->kept.size = (size_t)got * r->step_bytes;
    }
    int64_t steps = (int64_t)(r->kept.size / r->step_bytes);
    if (steps != row->length)
        return row_count_mismatch(row, r->features ? "frames" : "samples", steps, e);
    r->is_kept = true;
    return BL_OK;
}

/* Reads the piece from the kept steps (kept), or from the decoder. BL_EDATA also if decoding began at a point and gave
 * other samples than the scan's. */
static int audio_reader_read_way(struct audio_reader *r, const struct bl_request *request, bool kept,
                                 struct bl_error *e)
{
    bool fresh = !kept || !r->is_kept || !audio_reader_has_sequence(r, &request->row), exact = true;
    int code = BL_OK;
    if (!kept)
        code = audio_reader_stream(r, request, e);
    else if (fresh)
        code = audio_reader_keep(r, request, e);
    if (kept && code)
        audio_reader_leave(r);
    if (code)
        return code;
    if (kept)
        memcpy(request->out[0], r->kept.data + (size_t)request->source_start * r->step_bytes,
               (size_t)request->steps * r->step_bytes);
    if (fresh && r->path) {
        BL_TRY(bl_trim_verify(&r->samples.trim, &exact, e));
    }
    return exact ? BL_OK
                 : bl_error_set(e, BL_EDATA, "decoding from the middle gives other samples than from the beginning");
}

/* Writes a piece of a sequence without sound: zeros, or the features of as many zeros as the sequence's frames need. */
static int audio_reader_silence(struct audio_reader *r, const struct bl_request *request, struct bl_error *e)
{
    static const float zeros[4096];
    const size_t size = (size_t)request->steps * r->step_bytes;
    struct bl_features_spec spec;
    int64_t samples = request->row.length;
    if (!bl_features_from_config(r->config, &spec)) {
        memset(request->out[0], 0, size);
        return BL_OK;
    }
    const int shift = spec.rate / 100; /* a frame more for each */
    while (bl_features_frames(&spec, samples) < request->row.length)
        samples += shift;
    audio_reader_leave(r);
    bl_buffer_clear(&r->kept);
    bl_features_begin(r->features);
    for (int64_t left = samples, count; left; left -= count) {
        count = left < (int64_t)(sizeof zeros / sizeof *zeros) ? left : (int64_t)(sizeof zeros / sizeof *zeros);
        BL_TRY(bl_features_push(r->features, zeros, count, &r->kept, e));
    }
    BL_TRY(bl_features_end(r->features, &r->kept, e));
    memcpy(request->out[0], r->kept.data + (size_t)request->source_start * r->step_bytes, size);
    return BL_OK;
}

/* Reads a piece, for struct bl_reader. */
static int audio_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                              struct bl_error *e)
{
    struct audio_reader *r = (struct audio_reader *)reader;
    const struct bl_row *row = &request->row;
    bool part = request->steps < row->length, fits = row->length < KEPT_MAX / (int64_t)r->step_bytes;
    bool kept = r->features || (part && fits), points = row->clip_seek && *row->clip_seek;
    bool missed = points && r->missed && strcmp(r->missed, row->path) == 0;
    note->text[0] = '\0';
    if (r->config->common.zeros && bl_row_has_value(row, BL_KIND_SILENT, "1"))
        return audio_reader_silence(r, request, e);
    r->from_start = part && !kept; /* the samples of such a piece cannot be checked */
    if (missed && r->misses >= 3)  /* points of this file are not worth a try: decoding goes on from cut to cut */
        r->from_start = true;
    int code = audio_reader_read_way(r, request, kept, e);
    if (!code && missed && !r->from_start)
        r->misses = 0;
    if (code != BL_EDATA || !points || r->from_start)
        return code;
    /* Only decoding from the beginning shows whether the content is bad. */
    bl_error_clear(e);
    audio_reader_leave(r);
    r->from_start = true;
    if (!r->missed || strcmp(r->missed, row->path) != 0) {
        free(r->missed);
        r->misses = 0;
        r->missed = strdup(row->path);
    }
    r->misses++;
    return r->missed ? audio_reader_read_way(r, request, kept, e) : bl_error_memory(e);
}

int bl_audio_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_audio_config *c = config;
    struct bl_features_spec spec;
    bool features = bl_features_from_config(c, &spec);
    struct audio_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){audio_reader_piece, audio_reader_close};
    r->config = c;
    r->env = env;
    r->step_bytes = bl_field_step_bytes(&fields->field[0]);
    bl_mix_init(&r->mix, (int)c->rate, bl_audio_channels(c), features || c->common.dtype == BL_AUDIO_F32,
                (enum bl_resampler_engine)c->resampler);
    int code = features ? bl_features_open(&r->features, &spec, e) : BL_OK;
    if (code)
        audio_reader_close(&r->base);
    else
        *reader = &r->base;
    return code;
}

/* --- functions of the module -------------------------------------------------------------------------------------- */

int bl_audio_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_list_count((struct bl_list_counter *)counter, chunk, emit, sink, e);
    const struct bl_input *input = chunk->input;
    const struct bl_audio_config *c = config;
    struct bl_error fault = {0};
    struct bl_audio_info info = {.stream = -1};
    struct bl_row row = {.bytes = input->bytes, .reason = info.reason, .offset = -1};
    bool silent = c->common.zeros && chunk->followed && !*input->path;
    int code = silent ? BL_OK : bl_audio_count_file(c, env, input->path, chunk->meter, &info, &fault);
    silent |= c->common.zeros && chunk->followed && code == BL_EDATA && info.stream_missing;
    if (silent) {
        code = BL_OK;
        row.length = chunk->followed->length;
    } else if (!code) {
        code = bl_audio_count_steps(c, info.samples, &row.length, &fault);
    }
    row.stream = info.stream;
    struct bl_buffer extra = {0};
    bl_audio_append_values(c, silent ? 0 : info.channels, 0, silent, &extra);
    int failed = bl_buffer_check(&extra, e);
    row.extra = extra.data;
    code = failed ? failed : bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    bl_buffer_free(&extra);
    return code;
}

/* Emits the version of a library of FFmpeg, such as "59.27.100". */
static void libav_version_emit(bl_version_emit *emit, void *sink, const char *name, unsigned version)
{
    char text[64];
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
             AV_VERSION_MICRO(version));
    emit(sink, name, text);
}

void bl_audio_decoding_versions(const void *config, bl_version_emit *emit, void *sink)
{
    (void)config;
    const char *soxr = strchr(soxr_version(), '-');
    emit(sink, "ffmpeg", av_version_info());
    libav_version_emit(emit, sink, "libavformat", avformat_version());
    libav_version_emit(emit, sink, "libavcodec", avcodec_version());
    libav_version_emit(emit, sink, "libswresample", swresample_version());
    emit(sink, "libsoxr", soxr ? soxr + 1 : soxr_version());
}
