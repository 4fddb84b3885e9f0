/* Counts the lines of a manifest of speech: each becomes a row of the table of sequences.
 *
 * Many lines cut pieces from one recording. A cache keeps the results for each recording, so that a worker decodes a
 * file once: a manifest of 10,000 lines over 100 recordings takes 100 decodings. Lines of a list of clips take the same
 * way, and get a point (marks.h) at which decoding for the clip may begin. */
#include "kind/audio/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/input_file.h"
#include "base/text.h"
#include "kind/audio/manifest_lines.h"
#include "kind/audio/mix.h"
#include "kind/audio/options.h"
#include "kind/env.h"
#include "kind/input_stat.h"
#include "kind/list.h"

/* The results of counting one recording. */
struct bl_recording {
    char *path; /* NULL: no entry */
    int64_t bytes;
    uint64_t content; /* kind/input_stat.h */
    int code;         /* of bl_audio_count: BL_OK, or BL_EDATA with the reason */
    struct bl_audio_info info;
    struct bl_marks marks; /* none of a damaged one */
    char *reason;
};

/* A hash table of recordings without chains. Start from {0}. */
struct bl_recordings {
    struct bl_recording *slot; /* by the path's hash; a new one replaces the old. NULL: none yet */
    bool wants_marks;          /* of recordings, for clips */
    size_t memory;             /* bytes of all marks */
};

/* --- cache of recordings ------------------------------------------------------------------------------------------ */

#define SLOTS 8192 /* 4 MiB */

/* Bytes of marks, which are hundreds of hours of sound. If there are more, the cache forgets all recordings. */
#define MARKS_MAX ((size_t)64 << 20)

static size_t marks_memory(const struct bl_marks *marks)
{
    return marks->capacity * sizeof *marks->mark;
}

/* Empties a slot of the table. */
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

/* Finds the recording at path, and counts it if the cache does not have it. *recording is valid until the next call. A
 * file that cannot be used is a result, too: its code is BL_EDATA. BL_EFAIL, BL_ECANCEL. */
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
    BL_TRY(bl_input_stat_content(NULL, &input, &unusable, e));
    slot->bytes = input.bytes;
    slot->content = input.content;
    struct bl_marks *marks = r->wants_marks ? &slot->marks : NULL;
    slot->code = bl_audio_count(config, env, path, NULL, marks, &slot->info, &fault);
    /* In a damaged recording places in the file and in the sound differ, so that marks would lead to other samples. */
    if (slot->code || *slot->info.reason)
        bl_marks_free(&slot->marks);
    r->memory += marks_memory(&slot->marks);
    if (slot->code && slot->code != BL_EDATA)
        return bl_error_pass(e, slot->code, &fault);
    if (!unusable) {
        BL_TRY(bl_input_recheck(NULL, &input, e));
    }
    slot->reason = slot->code ? strdup(fault.text) : NULL;
    if (slot->code && !slot->reason)
        return bl_error_memory(e);
    slot->path = strdup(path); /* last: it makes the entry valid */
    return slot->path ? BL_OK : bl_error_memory(e);
}

/* --- manifests ---------------------------------------------------------------------------------------------------- */

/* A counter of one worker, for lines of manifests and for clips. */
struct cut_counter {
    struct bl_list_counter list;
    const struct bl_audio_config *config;
    struct bl_recordings recordings;
    struct bl_entry entry;
    struct bl_buffer left; /* the value of the column BL_AUDIO_LEFT of the line, if the table has that column */
};

static bool cuts_path_is_missing(const struct cut_counter *c)
{
    struct stat status;
    return bl_input_file_stat(c->list.path.open_path.data, &status) != 0;
}

/* Sets the value of the column BL_AUDIO_LEFT. channels: of the recording, 0: not known; chosen: of the cut. */
static void cuts_set_left(struct cut_counter *c, int channels, int chosen)
{
    bl_buffer_clear(&c->left);
    bl_audio_append_values(c->config, channels, chosen, false, &c->left);
}

/* Fills in the members of a valid line's row that come from its recording. A fault of the recording becomes a reason of
 * the row where it may lie within the cut. BL_EDATA: the recording is unusable, the cut has no samples, or its channels
 * cannot be used. */
static int cuts_fill_row(struct cut_counter *c, const struct bl_cut *cut, struct bl_row *row, struct bl_error *e)
{
    const struct bl_recording *recording;
    BL_TRY(recordings_find(&c->recordings, c->config, c->list.env, c->list.path.open_path.data, &recording, e));
    const struct bl_audio_info *info = &recording->info;
    row->bytes = recording->bytes;
    row->content = recording->content;
    row->stream = info->stream;
    if (recording->code)
        return bl_error_set(e, BL_EDATA, "%s", recording->reason);
    BL_TRY(bl_audio_check_channels(c->config, info, &cut->channels, e));
    cuts_set_left(c, info->channels, cut->channels.count);
    if (info->decoded < 0 && (!bl_cut_is_whole(cut) || cut->channels.count))
        return bl_error_set(e, BL_EDATA, "its recording %s, so that no part of it can be cut out", info->reason);
    if (bl_cut_is_whole(cut)) {
        if (*info->reason)
            BL_LIST_REASON(&c->list, "%s", info->reason);
        return bl_audio_count_steps(c->config, info->samples, &row->length, e);
    }
    int64_t begin, end;
    bl_cut_range(cut, info->rate, &begin, &end);
    double seconds = (double)info->decoded / info->rate;
    if (begin >= info->decoded)
        return bl_error_set(e, BL_EDATA, "begins at %.3f s, and the recording ends at %.3f s",
                            (double)begin / info->rate, seconds);
    if (end <= begin)
        return bl_error_set(e, BL_EDATA, "shorter than a sample");
    /* An end of INT64_MAX stands for the recording's end. */
    if (end != INT64_MAX && (double)(end - info->decoded) > BL_CUT_TOLERANCE * info->rate)
        BL_LIST_REASON(&c->list, "ends %.3f s behind the recording's end at %.3f s: so much is missing",
                       (double)(end - info->decoded) / info->rate, seconds);
    bool damaged = end > info->damaged_begin || end > info->decoded;
    bool odd = begin < info->odd_end && end > info->odd_begin;
    if (*info->reason && (damaged || odd))
        BL_LIST_REASON(&c->list, "the recording: %s", info->reason);
    end = end > info->decoded ? info->decoded : end;
    int64_t samples = bl_mix_length(end - begin, info->rate, (int)c->config->rate);
    return bl_audio_count_steps(c->config, samples, &row->length, e);
}

/* Sets the columns of a manifest's line, such as "\t0.5\t2.25\t0\tgood morning" and the further columns of its table.
 * text: NULL, or the spoken words. */
static int cuts_set_extra(struct cut_counter *c, const char *start, const char *duration, const char *channel,
                          const struct bl_buffer *text, struct bl_error *e)
{
    bl_buffer_clear(&c->list.extra);
    if (c->left.size)
        bl_buffer_append(&c->list.extra, c->left.data, c->left.size);
    bl_buffer_printf(&c->list.extra, "\t%s\t%s\t%s\t", start, duration, channel);
    if (text && text->size)
        bl_text_escape(&c->list.extra, text->data, text->size);
    if (c->entry.further_size)
        bl_buffer_append(&c->list.extra, c->entry.further, c->entry.further_size);
    bl_buffer_text(&c->list.extra, "");
    c->list.extra.failed |= c->left.failed;
    return bl_buffer_check(&c->list.extra, e);
}

/* Fills in the row of a line, for struct bl_list_counter. BL_EDATA: unusable. */
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
        code = bl_error_set(e, BL_EDATA, "not JSON: standard input must be a manifest (for a list of paths use @-)");
    }
    /* An unusable line has all columns, too, with nothing in them. */
    cuts_set_left(c, 0, 0);
    int failed = cuts_set_extra(c, "", "", "", NULL, e);
    row->extra = c->list.extra.data;
    if (code || failed)
        return code ? code : failed;
    if (!bl_cut_parse(&cut, &part))
        return bl_error_set(e, BL_EDATA, "an impossible part of a recording: start %s s, duration %s s", entry->start,
                            *entry->duration ? entry->duration : "all");
    /* lhotse opens the path as it is. NeMo tries the manifest's folder first, then the working directory. Where both
     * lack the file, the message names the manifest's folder. */
    bool relative = bl_entry_is_relative(entry, chunk);
    BL_TRY(bl_list_path_set(&c->list.path, chunk, entry->path.data, relative, e));
    if (relative && cuts_path_is_missing(c)) {
        BL_TRY(bl_list_path_set(&c->list.path, chunk, entry->path.data, false, e));
        BL_TRY(bl_list_path_set(&c->list.path, chunk, entry->path.data, cuts_path_is_missing(c), e));
    }
    BL_TRY(cuts_set_extra(c, entry->start, entry->duration, entry->channel, &entry->text, e));
    row->path = c->list.path.path.data;
    row->start = entry->start;
    row->duration = entry->duration;
    row->channel = entry->channel;
    row->extra = c->list.extra.data;
    if (entry->text_truncated)
        BL_LIST_REASON(&c->list, "its text is cut to %zu bytes", entry->text.size);
    BL_TRY(cuts_fill_row(c, &cut, row, e));
    BL_TRY(cuts_set_extra(c, entry->start, entry->duration, entry->channel, &entry->text, e));
    row->extra = c->list.extra.data;
    return BL_OK;
}

/* Fills in the members of a clip's row that come from its recording, for struct bl_list_counter. The clip's ends are
 * rounded to samples of the recording. */
static int cuts_fill_clip(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    struct cut_counter *c = (struct cut_counter *)counter;
    const struct bl_clip *clip = &counter->clip;
    const struct bl_recording *recording;
    struct bl_cut cut = bl_cut_whole;
    size_t size = strlen(clip->channel);
    c->recordings.wants_marks = true;
    if (!bl_channel_list_parse(clip->channel, size, BL_CHANNEL_NUMBER_MAX, &cut.channels))
        return bl_error_set(e, BL_EDATA,
                            "\"channel\" chooses no channels: \"%.40s\" (different numbers from 0, such as 1, or 0,4)",
                            clip->channel);
    BL_TRY(recordings_find(&c->recordings, c->config, counter->env, counter->path.open_path.data, &recording, e));
    const struct bl_audio_info *info = &recording->info;
    if (!recording->code && info->rate > 0 && !bl_clip_is_whole(clip)) {
        int64_t begin = clip->by_time ? bl_cut_samples(clip->start, info->rate) : clip->first;
        cut.begin = begin > 0 ? begin : 0;
        cut.end = INT64_MAX;
        if (clip->by_time && clip->end >= 0)
            cut.end = bl_cut_samples(clip->end, info->rate);
        else if (!clip->by_time && clip->behind >= 0)
            cut.end = clip->behind;
    }
    BL_TRY(cuts_fill_row(c, &cut, row, e));
    if (c->left.size)
        bl_buffer_append(&counter->extra, c->left.data, c->left.size);
    counter->extra.failed |= c->left.failed;
    if (bl_cut_is_whole(&cut))
        return BL_OK;
    row->clip_begin = cut.begin;
    row->clip_end = cut.end < info->decoded ? cut.end : info->decoded;
    struct bl_sound_point point;
    bl_sound_point_make(&point, &recording->marks, row->clip_begin, row->clip_end);
    bl_sound_point_format(&point, &counter->seek);
    return BL_OK;
}

static void cuts_counter_close(struct bl_counter *counter)
{
    struct cut_counter *c = (struct cut_counter *)counter;
    recordings_clear(&c->recordings);
    free(c->recordings.slot);
    bl_entry_free(&c->entry);
    bl_buffer_free(&c->left);
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
                                       .unusable = bl_audio_counts_left(config) ? "\t" : "",
                                       .fill_entry = cuts_fill_entry};
    c->config = config;
    *counter = &c->list.base;
    return BL_OK;
}
