/* Counts the lines of a manifest of speech: each becomes a row. */
#include "kind/audio/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/text.h"
#include "kind/audio/manifest_lines.h"
#include "kind/audio/mix.h"
#include "kind/audio/options.h"
#include "kind/env.h"
#include "kind/input_stat.h"
#include "kind/list.h"

struct bl_recording {
    char *path; /* NULL: no entry */
    int64_t bytes;
    uint64_t content; /* kind/input_stat.h */
    int code;         /* of bl_audio_count: BL_OK, or BL_EDATA with the reason */
    struct bl_audio_info info;
    struct bl_marks marks; /* none of a damaged one */
    char *reason;
};

struct bl_recordings {
    struct bl_recording *slot; /* by the path's hash; a new one replaces the old. NULL: none yet */
    bool wants_marks;          /* of recordings, for clips */
    size_t memory;             /* bytes of all marks */
};

/* --- cache of recordings ------------------------------------------------------------------------------------------ */

/* What counting found in the files that a manifest names. A worker decodes a file once, even if many lines are
 * cut from it. */

#define SLOTS 8192 /* 4 MiB */

#define MARKS_MAX                                                                                                      \
    ((size_t)64 << 20) /* bytes of marks: hundreds of hours of sound. If there are more, all are forgotten */

static size_t marks_memory(const struct bl_marks *marks)
{
    return marks->capacity * sizeof *marks->mark;
}

static void recording_clear(struct bl_recordings *r, struct bl_recording *slot)
{
    r->memory -= marks_memory(&slot->marks);
    bl_marks_free(&slot->marks);
    free(slot->path);
    free(slot->reason);
    *slot = (struct bl_recording){0};
}

static void recordings_clear(struct bl_recordings *r)
{
    for (int i = 0; r->slot && i < SLOTS; i++)
        recording_clear(r, &r->slot[i]);
}

/* Start from {0}. */
static void recordings_close(struct bl_recordings *r)
{
    recordings_clear(r);
    free(r->slot);
    r->slot = NULL;
}

/* Finds the recording at path, and counts it where it is not in the cache. Valid until the next call. BL_EFAIL,
 * BL_ECANCEL. */
static int recordings_find(struct bl_recordings *r, const struct bl_audio_config *config, const struct bl_kind_env *env,
                           const char *path, const struct bl_recording **recording, struct bl_error *e)
{
    if (!r->slot && !(r->slot = calloc(SLOTS, sizeof *r->slot)))
        return bl_error_memory(e);
    struct bl_recording *slot = &r->slot[XXH3_64bits(path, strlen(path)) % SLOTS];
    struct bl_error fault = {0};
    struct bl_input input = {.path = path};
    const char *unusable;
    *recording = slot;
    if (slot->path && strcmp(slot->path, path) == 0)
        return BL_OK;
    recording_clear(r, slot);
    if (r->memory > MARKS_MAX)
        recordings_clear(r);
    int code = bl_input_stat_content(NULL, &input, &unusable, e);
    if (code)
        return code;
    slot->bytes = input.bytes;
    slot->content = input.content;
    struct bl_marks *marks = r->wants_marks ? &slot->marks : NULL;
    slot->code = bl_audio_count(config, env, path, NULL, marks, &slot->info, &fault);
    if (slot->code || *slot->info.reason)
        bl_marks_free(&slot->marks);
    r->memory += marks_memory(&slot->marks);
    if (slot->code && slot->code != BL_EDATA)
        return bl_error_pass(e, slot->code, &fault);
    code = unusable ? BL_OK : bl_input_recheck(NULL, &input, e);
    if (code)
        return code;
    slot->reason = slot->code ? strdup(fault.text) : NULL;
    if (slot->code && !slot->reason)
        return bl_error_memory(e);
    slot->path = strdup(path); /* last: it makes the entry valid */
    return slot->path ? BL_OK : bl_error_memory(e);
}

/* --- manifests ---------------------------------------------------------------------------------------------------- */

struct cut_counter {
    struct bl_list_counter list;
    const struct bl_audio_config *config;
    struct bl_recordings recordings;
    struct bl_entry entry;
};

/* --- the file --------------------------------------------------------------------------------------------------- */

static bool cuts_path_is_missing(const struct cut_counter *c)
{
    return access(c->list.path.open_path.data, F_OK) != 0;
}

/* lhotse opens the path as it is. NeMo tries the manifest's folder first, then the working directory. */
static int cuts_find_path(struct cut_counter *c, const struct bl_chunk *chunk, struct bl_error *e)
{
    const char *path = c->entry.path.data;
    bool relative = bl_entry_is_relative(&c->entry, chunk);
    int code = bl_list_path_set(&c->list.path, chunk, path, relative, e);
    if (code || !relative || !cuts_path_is_missing(c))
        return code;
    code = bl_list_path_set(&c->list.path, chunk, path, false, e);
    if (code || !cuts_path_is_missing(c))
        return code;
    return bl_list_path_set(&c->list.path, chunk, path, true, e);
}

/* --- the part of it --------------------------------------------------------------------------------------------- */

/* Which samples [begin, end) of the recording the cut has; end INT64_MAX: up to its end. BL_EDATA: none. */
static int cuts_resolve_range(struct cut_counter *c, const struct bl_audio_info *info, const struct bl_cut *cut,
                              int64_t *begin, int64_t *end, struct bl_error *e)
{
    bl_cut_range(cut, info->rate, begin, end);
    double seconds = (double)info->decoded / info->rate;
    if (*begin >= info->decoded)
        return bl_error_set(e, BL_EDATA, "begins at %.3f s, and the recording ends at %.3f s",
                            (double)*begin / info->rate, seconds);
    if (*end <= *begin)
        return bl_error_set(e, BL_EDATA, "shorter than a sample");
    if (*end == INT64_MAX || *end <= info->decoded)
        return BL_OK;
    if ((double)(*end - info->decoded) > BL_CUT_TOLERANCE * info->rate)
        BL_LIST_REASON(&c->list, "ends %.3f s behind the recording's end at %.3f s: so much is missing",
                       (double)(*end - info->decoded) / info->rate, seconds);
    return BL_OK;
}

/* Counts samples at the wanted rate. Faults of the recording become a reason where they may lie within the cut. */
static int cuts_count_samples(struct cut_counter *c, const struct bl_audio_info *info, const struct bl_cut *cut,
                              int64_t *samples, struct bl_error *e)
{
    int64_t begin, end;
    BL_TRY(bl_audio_check_channels(c->config, info, cut->channel, e));
    if (info->decoded < 0 && (!bl_cut_is_whole(cut) || cut->channel >= 0))
        return bl_error_set(e, BL_EDATA, "of a recording that %s no part can be taken", info->reason);
    if (bl_cut_is_whole(cut)) {
        *samples = info->samples;
        if (*info->reason)
            BL_LIST_REASON(&c->list, "%s", info->reason);
        return BL_OK;
    }
    BL_TRY(cuts_resolve_range(c, info, cut, &begin, &end, e));
    bool damaged = end > info->damaged_begin || end > info->decoded;
    bool odd = begin < info->odd_end && end > info->odd_begin;
    if (*info->reason && (damaged || odd))
        BL_LIST_REASON(&c->list, "the recording: %s", info->reason);
    end = end > info->decoded ? info->decoded : end;
    *samples = bl_mix_length(end - begin, info->rate, (int)c->config->rate);
    return BL_OK;
}

/* Fills in what the row of a valid line has from its recording. BL_EDATA: unusable. */
static int cuts_fill_row(struct cut_counter *c, const struct bl_cut *cut, struct bl_row *row, struct bl_error *e)
{
    const struct bl_recording *recording;
    int64_t samples = 0;
    int code = recordings_find(&c->recordings, c->config, c->list.env, c->list.path.open_path.data, &recording, e);
    if (code)
        return code;
    row->bytes = recording->bytes;
    row->content = recording->content;
    row->stream = recording->info.stream;
    if (recording->code)
        return bl_error_set(e, BL_EDATA, "%s", recording->reason);
    code = cuts_count_samples(c, &recording->info, cut, &samples, e);
    if (code)
        return code;
    return bl_audio_count_steps(c->config, samples, &row->length, e);
}

/* --- a line ----------------------------------------------------------------------------------------------------- */

/* Sets the columns of a manifest's line. text: NULL, or what is spoken. */
static int cuts_set_extra(struct cut_counter *c, const char *start, const char *duration, const char *channel,
                          const struct bl_buffer *text, struct bl_error *e)
{
    bl_buffer_clear(&c->list.extra);
    bl_buffer_printf(&c->list.extra, "\t%s\t%s\t%s\t", start, duration, channel);
    if (text && text->size)
        bl_text_escape(&c->list.extra, text->data, text->size);
    if (c->entry.further_size)
        bl_buffer_append(&c->list.extra, c->entry.further, c->entry.further_size);
    bl_buffer_text(&c->list.extra, "");
    return bl_buffer_check(&c->list.extra, e);
}

/* Fills in the row of a line. BL_EDATA: unusable. */
static int cuts_fill_entry(struct bl_list_counter *counter, const struct bl_chunk *chunk, const struct bl_line *line,
                           struct bl_row *row, struct bl_error *e)
{
    struct cut_counter *c = (struct cut_counter *)counter;
    const struct bl_entry *entry = &c->entry;
    struct bl_row part = {.start = entry->start, .duration = entry->duration, .channel = entry->channel};
    struct bl_cut cut;
    int code = bl_entry_parse(&c->entry, line->text, line->size, e);
    if (entry->id.size)
        row->id = entry->id.data;
    if (code == BL_EDATA && line->number == 1 && strcmp(chunk->input->name, "-") == 0 && *line->text != '{') {
        bl_error_clear(e);
        code = bl_error_set(e, BL_EDATA, "no JSON: standard input is a manifest (a list of paths is @-)");
    }
    int failed = cuts_set_extra(c, "", "", "", NULL, e);
    row->extra = c->list.extra.data;
    if (code || failed)
        return code ? code : failed;
    if (!bl_cut_parse(&cut, &part))
        return bl_error_set(e, BL_EDATA, "a part that cannot be: from %s s on, for %s s", entry->start,
                            *entry->duration ? entry->duration : "all");
    BL_TRY(cuts_find_path(c, chunk, e));
    BL_TRY(cuts_set_extra(c, entry->start, entry->duration, entry->channel, &entry->text, e));
    row->path = c->list.path.path.data;
    row->start = entry->start;
    row->duration = entry->duration;
    row->channel = entry->channel;
    row->extra = c->list.extra.data;
    if (entry->text_truncated)
        BL_LIST_REASON(&c->list, "its text is cut to %zu bytes", entry->text.size);
    return cuts_fill_row(c, &cut, row, e);
}

/* A clip's ends are rounded to samples of the recording. */
static struct bl_cut cuts_make_cut(const struct bl_clip *clip, int rate)
{
    struct bl_cut cut = bl_cut_whole;
    if (bl_clip_is_whole(clip) || rate <= 0)
        return cut;
    int64_t begin = clip->by_time ? bl_cut_samples(clip->start, rate) : clip->first;
    cut.begin = begin > 0 ? begin : 0;
    cut.end = INT64_MAX;
    if (clip->by_time && clip->end >= 0)
        cut.end = bl_cut_samples(clip->end, rate);
    else if (!clip->by_time && clip->behind >= 0)
        cut.end = clip->behind;
    return cut;
}

/* Fills in what the row of a clip has from its recording. */
static int cuts_fill_clip(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    struct cut_counter *c = (struct cut_counter *)counter;
    const struct bl_recording *recording;
    c->recordings.wants_marks = true;
    int code = recordings_find(&c->recordings, c->config, counter->env, counter->path.open_path.data, &recording, e);
    if (code)
        return code;
    const struct bl_audio_info *info = &recording->info;
    struct bl_cut cut = cuts_make_cut(&counter->clip, recording->code ? 0 : info->rate);
    code = cuts_fill_row(c, &cut, row, e);
    if (code || bl_cut_is_whole(&cut))
        return code;
    row->clip_begin = cut.begin;
    row->clip_end = cut.end < info->decoded ? cut.end : info->decoded;
    struct bl_sound_point point;
    bl_sound_point_make(&point, &recording->marks, row->clip_begin, row->clip_end);
    bl_sound_point_format(&point, &counter->seek);
    return BL_OK;
}

/* --- the counter ------------------------------------------------------------------------------------------------ */

static void cuts_counter_close(struct bl_counter *counter)
{
    struct cut_counter *c = (struct cut_counter *)counter;
    recordings_close(&c->recordings);
    bl_entry_free(&c->entry);
    bl_list_counter_free(&c->list);
    free(c);
}

int bl_cuts_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e)
{
    struct cut_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->list = (struct bl_list_counter){.base.close = cuts_counter_close,
                                       .env = env,
                                       .fill_clip = cuts_fill_clip,
                                       .unusable = "",
                                       .fill_entry = cuts_fill_entry};
    c->config = config;
    *counter = &c->list.base;
    return BL_OK;
}
