#include "kind/audio/cuts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"
#include "kind/audio/cut.h"
#include "kind/audio/entry.h"
#include "kind/audio/mix.h"
#include "kind/audio/recordings.h"

struct bl_counter {
    const struct bl_audio_config *config;
    const struct bl_kind_env *env;
    struct bl_recordings recordings;
    struct bl_entry entry;
    struct bl_buffer path, open_path, extra;
    char reason[4096 + 2048]; /* a path, and what is wrong */
};

bool bl_cuts_is_list(const char *path)
{
    static const char *const extension[] = {".jsonl", ".json", ".ndjson", NULL};
    static const char *const packed[] = {"", ".gz", ".zst", NULL};
    size_t size = strlen(path);
    char tail[16];
    for (int i = 0; extension[i]; i++) {
        for (int k = 0; packed[k]; k++) {
            size_t length = (size_t)snprintf(tail, sizeof tail, "%s%s", extension[i], packed[k]);
            if (size > length && strcasecmp(path + size - length, tail) == 0)
                return true;
        }
    }
    return strcmp(path, "-") == 0;
}

int bl_cuts_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e)
{
    struct bl_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->config = config;
    c->env = env;
    *counter = c;
    return BL_OK;
}

void bl_cuts_counter_close(struct bl_counter *c)
{
    bl_recordings_close(&c->recordings);
    bl_entry_free(&c->entry);
    bl_buffer_free(&c->path);
    bl_buffer_free(&c->open_path);
    bl_buffer_free(&c->extra);
    free(c);
}

/* --- reasons ---------------------------------------------------------------------------------------------------- */

static void reason_append(struct bl_counter *c, const char *format, ...) BL_PRINTF(2, 3);

static void reason_append(struct bl_counter *c, const char *format, ...)
{
    size_t used = strlen(c->reason);
    va_list arguments;
    if (used)
        used += (size_t)snprintf(c->reason + used, sizeof c->reason - used, "; ");
    if (used >= sizeof c->reason)
        return;
    va_start(arguments, format);
    vsnprintf(c->reason + used, sizeof c->reason - used, format, arguments);
    va_end(arguments);
}

/* The row is of no use. Where its id is one of lhotse's own, manifest and line are told. */
static void row_skip(struct bl_counter *c, struct bl_row *row, const char *manifest, const char *why)
{
    c->reason[0] = '\0';
    if (row->id)
        reason_append(c, "%s:%" PRId64 ": %s", manifest, row->offset, why);
    else
        reason_append(c, "%s", why);
    row->status = BL_ROW_SKIPPED;
    row->length = 0;
}

/* --- the file --------------------------------------------------------------------------------------------------- */

/* The path as the table has it, behind so many bytes of the manifest's, and as it is to be opened. */
static void cuts_set_path(struct bl_counter *c, const struct bl_chunk *stretch, size_t folder)
{
    const char *path = c->entry.path.data;
    bl_buffer_clear(&c->path);
    bl_buffer_clear(&c->open_path);
    if (stretch->base && (folder ? *stretch->input->name : *path) != '/')
        bl_buffer_printf(&c->open_path, "%s/", stretch->base);
    if (folder)
        bl_buffer_append(&c->path, stretch->input->name, folder);
    bl_buffer_text(&c->path, path);
    bl_buffer_text(&c->open_path, c->path.data ? c->path.data : "");
}

static bool cuts_path_is_missing(const struct bl_counter *c)
{
    return !c->open_path.failed && access(c->open_path.data, F_OK) != 0;
}

/* lhotse opens what is written there. NeMo looks beside the manifest, and where it runs. */
static int cuts_find_path(struct bl_counter *c, const struct bl_chunk *stretch, struct bl_error *e)
{
    const char *manifest = stretch->input->name, *slash = strrchr(manifest, '/');
    bool relative = c->entry.relative && *c->entry.path.data != '/' && slash;
    size_t folder = relative ? (size_t)(slash + 1 - manifest) : 0;
    cuts_set_path(c, stretch, folder);
    if (relative && cuts_path_is_missing(c)) {
        cuts_set_path(c, stretch, 0);
        if (cuts_path_is_missing(c))
            cuts_set_path(c, stretch, folder);
    }
    int code = bl_buffer_check(&c->path, e);
    return code ? code : bl_buffer_check(&c->open_path, e);
}

/* --- the part of it --------------------------------------------------------------------------------------------- */

/* The samples [begin, end) of the recording that the cut has. BL_EDATA: none. */
static int cuts_resolve_range(struct bl_counter *c, const struct bl_audio_info *count, const struct bl_cut *cut,
                              int64_t *begin, int64_t *end, struct bl_error *e)
{
    bl_cut_range(cut, count->rate, begin, end);
    double seconds = (double)count->decoded / count->rate;
    if (*begin >= count->decoded)
        return bl_error_set(e, BL_EDATA, "begins at %.3f s, and the recording ends at %.3f s", cut->start, seconds);
    if (*end == *begin)
        return bl_error_set(e, BL_EDATA, "shorter than a sample");
    if (*end == INT64_MAX || *end <= count->decoded)
        return BL_OK;
    if ((double)(*end - count->decoded) > BL_CUT_TOLERANCE * count->rate)
        reason_append(c, "ends %.3f s behind the recording's end at %.3f s: so much is missing",
                      (double)(*end - count->decoded) / count->rate, seconds);
    return BL_OK;
}

/* Samples at the wanted rate; what is wrong with the recording is noted where the cut may have it. */
static int cuts_count_samples(struct bl_counter *c, const struct bl_audio_info *count, const struct bl_cut *cut,
                              int64_t *samples, struct bl_error *e)
{
    int64_t begin = 0, end = INT64_MAX;
    bool whole = bl_cut_is_whole(cut);
    *samples = count->samples;
    if (cut->channel >= count->channels)
        return bl_error_set(e, BL_EDATA, "channel %d is wanted, and there are %d", cut->channel, count->channels);
    if (count->decoded < 0 && (!whole || cut->channel >= 0))
        return bl_error_set(e, BL_EDATA, "of a recording that %s no part can be taken", count->reason);
    int code = whole ? BL_OK : cuts_resolve_range(c, count, cut, &begin, &end, e);
    if (code)
        return code;
    bool damaged = end > count->damaged_begin || end > count->decoded;
    bool odd = begin < count->nonfinite_end && end > count->nonfinite_begin;
    if (*count->reason && (whole || damaged || odd))
        reason_append(c, whole ? "%s" : "the recording: %s", count->reason);
    end = end > count->decoded ? count->decoded : end;
    if (!whole)
        *samples = bl_mix_length(end - begin, count->rate, (int)c->config->rate);
    return BL_OK;
}

/* Fills in the row of a line that could be read. BL_EDATA: it is of no use. */
static int cuts_fill_from_recording(struct bl_counter *c, const struct bl_cut *cut, struct bl_row *row,
                                    struct bl_error *e)
{
    const struct bl_recording *recording;
    int64_t samples;
    int code = bl_recordings_find(&c->recordings, c->config, c->env->cancel, c->open_path.data, &recording, e);
    if (code)
        return code;
    row->bytes = recording->bytes;
    row->content = recording->content;
    row->stream = recording->count.stream;
    if (recording->code)
        return bl_error_set(e, BL_EDATA, "%s", recording->reason);
    code = cuts_count_samples(c, &recording->count, cut, &samples, e);
    return code ? code : bl_audio_count_steps(c->config, samples, &row->length, e);
}

/* --- a line ----------------------------------------------------------------------------------------------------- */

static int cuts_set_extra(struct bl_counter *c, struct bl_row *row, struct bl_error *e)
{
    bl_buffer_clear(&c->extra);
    bl_buffer_printf(&c->extra, "\t%s\t%s\t%s\t", row->start, row->duration, row->channel);
    bl_text_escape(&c->extra, c->entry.text.data ? c->entry.text.data : "", c->entry.text.size);
    row->extra = c->extra.data;
    return bl_buffer_check(&c->extra, e);
}

/* Fills in the row of a line of JSON. BL_EDATA as above. */
static int cuts_parse_line(struct bl_counter *c, const struct bl_chunk *stretch, const struct bl_line *line,
                           struct bl_row *row, struct bl_error *e)
{
    const struct bl_entry *entry = &c->entry;
    struct bl_row part = {.start = entry->start, .duration = entry->duration, .channel = entry->channel};
    struct bl_cut cut;
    if (line->too_long)
        return bl_error_set(e, BL_EDATA, "a line of more than %d bytes", BL_LIST_LINE_MAX);
    int code = bl_entry_parse(&c->entry, line->text, line->size, e);
    if (entry->id.size)
        row->id = entry->id.data;
    if (code)
        return code;
    if (!bl_cut_parse(&cut, &part))
        return bl_error_set(e, BL_EDATA, "a part that cannot be: from %s s on, for %s s", entry->start,
                            *entry->duration ? entry->duration : "all");
    code = cuts_find_path(c, stretch, e);
    if (code)
        return code;
    row->path = c->path.data;
    row->start = entry->start;
    row->duration = entry->duration;
    row->channel = entry->channel;
    if (entry->text_truncated)
        reason_append(c, "its text is cut to %zu bytes", entry->text.size);
    code = cuts_set_extra(c, row, e);
    return code ? code : cuts_fill_from_recording(c, &cut, row, e);
}

static int cuts_count_line(struct bl_counter *c, const struct bl_chunk *stretch, const struct bl_line *line,
                           bl_row_emit *emit, void *sink, struct bl_error *e)
{
    struct bl_error useless = {0};
    struct bl_row row = {.stream = -1, .offset = line->number, .reason = c->reason};
    c->reason[0] = '\0';
    int code = cuts_parse_line(c, stretch, line, &row, &useless);
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", useless.text);
    if (code && row.path)
        bl_error_prefix(&useless, "%s", row.path);
    if (code)
        row_skip(c, &row, stretch->input->name, useless.text);
    return emit(sink, 0, &row, e);
}

int bl_cuts_count(const struct bl_audio_config *config, const struct bl_kind_env *env, struct bl_counter *c,
                  const struct bl_chunk *stretch, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    int code = BL_OK;
    (void)config;
    for (int i = 0; i < stretch->lines && !code; i++)
        code = bl_cancelled(env->cancel) ? BL_ECANCEL : cuts_count_line(c, stretch, &stretch->line[i], emit, sink, e);
    if (code || !stretch->fault)
        return code;
    struct bl_row row = {.status = BL_ROW_SKIPPED, .stream = -1, .offset = -1, .reason = stretch->fault};
    return emit(sink, 0, &row, e);
}
