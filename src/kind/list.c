/* Lists of inputs: paths, the clips of a list, and the rows of its lines.
 *
 * A list names one file per line, and possibly a part of it. The reader of the scan has split each line into six values
 * and further columns, with a tab between them; here they are parsed. Two lines of a list, and the ids of their clips:
 *
 *     path        start  end   start_frame  end_frame  id
 *     a/b.mp4     1:30   95.5                                     a/b.mp4#1:30-95.5
 *     a/b.mp4                  250          500        intro      intro
 *
 * The number behind a "#" in end_frame is that in the name of the last image (of the column stop_frame); start_frame is
 * then the number in the name of the first one.
 *
 * A line that cannot be used becomes a skipped row with a reason; it never ends the run. */
#include "kind/list.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* Emits the row of one input. A fault of its content (BL_EDATA) turns the row into a skipped one, which keeps only the
 * reason; other failures end the run. */
int bl_chunk_emit_row(bl_row_emit *emit, void *sink, struct bl_row *row, int code, const struct bl_error *fault,
                      struct bl_error *e)
{
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", fault->text);
    if (code) {
        row->status = BL_ROW_SKIPPED;
        row->length = 0;
        row->reason = fault->text;
        row->extra = NULL;
        row->form = NULL;
        row->times = NULL;
    }
    return emit(sink, 0, row, e);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* The reader accepts gzip and zstd, and these formats. */
bool bl_list_has_name(const char *path)
{
    static const char *const extensions[] = {"csv",       "tsv",        "jsonl",   "json",     "ndjson",
                                             "txt",       "csv.gz",     "tsv.gz",  "jsonl.gz", "json.gz",
                                             "ndjson.gz", "txt.gz",     "csv.zst", "tsv.zst",  "jsonl.zst",
                                             "json.zst",  "ndjson.zst", "txt.zst", NULL};
    return bl_path_has_extension(path, extensions);
}

bool bl_list_is_kaldi(const char *path)
{
    const char *name = bl_path_name(path);
    return strcmp(name, "wav.scp") == 0 || strcmp(name, "segments") == 0;
}

void bl_list_path_free(struct bl_list_path *path)
{
    bl_buffer_free(&path->path);
    bl_buffer_free(&path->open_path);
}

/* Sets both paths: the one that the table contains, relative as the list has it, and the one that open() takes. Without
 * a base both are equal. The name of the list decides whether `base` applies to a path beside it. */
int bl_list_path_set(struct bl_list_path *out, const struct bl_chunk *chunk, const char *path, bool from_list,
                     struct bl_error *e)
{
    const char *list = chunk->input->name, *slash = strrchr(list, '/');
    bool is_url = bl_path_is_url(path), is_far = bl_path_is_url(list);
    /* A list from afar never names a local file. */
    bool is_beside = !is_url && slash && (is_far || (from_list && *path != '/'));
    size_t folder = is_beside ? (size_t)(slash + 1 - list) : 0;
    bl_buffer_clear(&out->path);
    bl_buffer_clear(&out->open_path);
    if (chunk->base && !is_url && !is_far && (folder ? *list : *path) != '/')
        bl_buffer_printf(&out->open_path, "%s/", chunk->base);
    if (folder)
        bl_buffer_append(&out->path, list, folder);
    bl_buffer_text(&out->path, path);
    bl_buffer_text(&out->open_path, out->path.data ? out->path.data : "");
    BL_TRY(bl_buffer_check(&out->path, e));
    return bl_buffer_check(&out->open_path, e);
}

/* Reports the id and path that a line names, for selections by id. An unusable line reports NULL for its path. */
int bl_list_names_of_clip(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                          struct bl_error *e)
{
    struct bl_clip clip = {0};
    struct bl_list_path path = {0};
    struct bl_error unusable = {0};
    int code = bl_clip_parse(&clip, line->text, line->size, &unusable);
    if (code && code != BL_EDATA) {
        bl_error_pass(e, code, &unusable);
        goto out;
    }
    const char *id = clip.path && *clip.path ? clip.id.data : NULL;
    if (code) {
        code = take(sink, id, NULL, NULL, e);
        goto out;
    }
    code = bl_list_path_set(&path, chunk, clip.path, !bl_list_is_kaldi(chunk->input->name), e);
    if (!code)
        code = take(sink, id, path.path.data, path.open_path.data, e);
out:
    bl_clip_free(&clip);
    bl_list_path_free(&path);
    return code;
}

/* --- clips -------------------------------------------------------------------------------------------------------- */

#define SECONDS_MAX 1e9               /* 31 years: a larger number is a mistake, such as a time in nanoseconds */
#define FRAMES_MAX ((int64_t)1 << 40) /* 1,100 years at 30 frames per second */

const char *const bl_clip_value_name[BL_CLIP_VALUES] = {"path", "start", "end", "start_frame", "end_frame", "id"};

void bl_clip_free(struct bl_clip *clip)
{
    bl_buffer_free(&clip->id);
    bl_buffer_free(&clip->further);
    bl_buffer_free(&clip->scratch);
    *clip = (struct bl_clip){0};
}

bool bl_clip_is_whole(const struct bl_clip *clip)
{
    return clip->start < 0 && clip->end < 0 && clip->first < 0 && clip->behind < 0;
}

/* --- values ----------------------------------------------------------------------------------------------------- */

/* Parses a number that is not negative: digits, and a fraction or an exponent if `fraction` allows them. strtod would
 * also accept spaces, signs, hexadecimal numbers and "inf". */
static bool number_parse(const char *text, size_t size, bool fraction, double *value)
{
    char copy[64], *end;
    size_t digits = strspn(text, fraction ? "0123456789.eE+-" : "0123456789");
    if (!size || size >= sizeof copy || digits < size || !strchr("0123456789.", *text))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *value = strtod(copy, &end);
    return end != copy && !*end && isfinite(*value);
}

/* Parses 95.5, 1:30.5 or 0:01:30. Below the first part, minutes and seconds are under 60. */
bool bl_clip_parse_time(const char *text, double *seconds)
{
    double sum = 0, value;
    int parts = 0;
    for (const char *colon; (colon = strchr(text, ':')); text = colon + 1) {
        bool lower = parts > 0;
        if (++parts > 2 || !number_parse(text, (size_t)(colon - text), false, &value) || (lower && value >= 60))
            return false;
        /* Each colon moves what stands before it by a factor of 60. */
        sum = (sum + value) * 60;
    }
    if (!number_parse(text, strlen(text), true, &value) || (parts && value >= 60))
        return false;
    *seconds = sum + value;
    return *seconds <= SECONDS_MAX;
}

/* Sets a time in seconds, or -1 where there is no value. BL_EDATA: it is no time. */
static int clip_set_time(double *seconds, const char *text, const char *name, struct bl_error *e)
{
    *seconds = -1;
    if (*text && !bl_clip_parse_time(text, seconds))
        return bl_error_set(e, BL_EDATA, "\"%s\" is no time: \"%.40s\" (seconds, or h:mm:ss.s)", name, text);
    return BL_OK;
}

/* Sets the number of a frame, or -1 where there is no value. pandas writes whole numbers as 50.0 in a column in which
 * some values are empty, so that a fraction of zeros is accepted. */
static int clip_set_frame(int64_t *frame, const char *text, const char *name, struct bl_error *e)
{
    size_t size = strcspn(text, "."), zeros = text[size] ? strspn(text + size + 1, "0") : 0;
    bool whole = !text[size] || (zeros && !text[size + 1 + zeros]);
    *frame = -1;
    if (*text && !(whole && bl_text_to_int(text, size, 0, FRAMES_MAX, frame)))
        return bl_error_set(e, BL_EDATA, "\"%s\" is no number of a frame: \"%.40s\"", name, text);
    return BL_OK;
}

/* Sets where the clip starts and ends, by times or by numbers of frames. BL_EDATA: by both, or the end is first. */
static int clip_set_ends(struct bl_clip *clip, const char *const value[BL_CLIP_VALUES], struct bl_error *e)
{
    const char *end_frame = value[BL_CLIP_END_FRAME];
    clip->by_number = *end_frame == '#';
    end_frame += clip->by_number;
    BL_TRY(clip_set_time(&clip->start, value[BL_CLIP_START], "start", e));
    BL_TRY(clip_set_time(&clip->end, value[BL_CLIP_END], "end", e));
    BL_TRY(clip_set_frame(&clip->first, value[BL_CLIP_START_FRAME], "start_frame", e));
    BL_TRY(clip_set_frame(&clip->behind, end_frame, clip->by_number ? "stop_frame" : "end_frame", e));
    clip->by_time = clip->start >= 0 || clip->end >= 0;
    clip->clock = strchr(value[BL_CLIP_START], ':') || strchr(value[BL_CLIP_END], ':');
    if (clip->by_time && (clip->first >= 0 || clip->behind >= 0))
        return bl_error_set(e, BL_EDATA, "times and numbers of frames: give one of them");
    if ((clip->end >= 0 && clip->end < clip->start) || (clip->behind >= 0 && clip->behind < clip->first))
        return bl_error_set(e, BL_EDATA, "ends before it starts: from %s%s to %s%s", value[BL_CLIP_START],
                            value[BL_CLIP_START_FRAME], value[BL_CLIP_END], end_frame);
    return BL_OK;
}

/* --- a line ----------------------------------------------------------------------------------------------------- */

/* Sets the clip's id: that of the list, or "path#start-end" with the values as the list writes them. A clip without
 * start and end has the path. The channels of a line follow: "call.wav#ch1". */
static void clip_set_id(struct bl_clip *clip, const char *const value[BL_CLIP_VALUES])
{
    const char *start = *value[BL_CLIP_START] ? value[BL_CLIP_START] : value[BL_CLIP_START_FRAME];
    const char *end = *value[BL_CLIP_END] ? value[BL_CLIP_END] : value[BL_CLIP_END_FRAME];
    end += *end == '#';
    bl_buffer_clear(&clip->id);
    if (*value[BL_CLIP_ID])
        bl_buffer_text(&clip->id, value[BL_CLIP_ID]);
    else if (*start || *end)
        bl_buffer_printf(&clip->id, "%s#%s-%s", value[BL_CLIP_PATH], start, end);
    else
        bl_buffer_text(&clip->id, value[BL_CLIP_PATH]);
    if (!*value[BL_CLIP_ID] && *clip->channel)
        bl_buffer_printf(&clip->id, "#ch%s", clip->channel);
}

/* Splits the line into its values and removes their escapes, in scratch. The values point into scratch, and `further`
 * holds the other columns, each with a tab before it. Returns false if the line has fewer values than BL_CLIP_VALUES.
 */
static bool clip_split(struct bl_clip *clip, const char *line, size_t size, const char *value[BL_CLIP_VALUES])
{
    bl_buffer_clear(&clip->scratch);
    bl_buffer_append(&clip->scratch, line, size);
    char *at = clip->scratch.data;
    if (clip->scratch.failed || !at || strlen(at) != size)
        return false;
    char *channel = strchr(at, '\n'); /* newlines of values are escaped */
    if (channel)
        *channel++ = '\0';
    clip->channel = channel ? channel : "";
    for (int v = 0; v < BL_CLIP_VALUES; v++) {
        char *end = at + strcspn(at, "\t"), *next = end + 1;
        bool more = *end == '\t', last = v == BL_CLIP_VALUES - 1;
        if (!more && !last)
            return false;
        /* The further columns go into the table as they are, so that their escapes stay. */
        if (last)
            bl_buffer_text(&clip->further, end);
        int64_t length = bl_text_unescape(at, (size_t)(end - at));
        if (length < 0 || memchr(at, '\0', (size_t)length))
            return false;
        at[length] = '\0';
        value[v] = at;
        at = next;
    }
    return true;
}

/* The id is set before the path is checked: a row that is skipped for its times still has an id. */
int bl_clip_parse(struct bl_clip *clip, const char *line, size_t size, struct bl_error *e)
{
    const char *value[BL_CLIP_VALUES];
    bl_buffer_clear(&clip->id);
    bl_buffer_clear(&clip->further);
    clip->path = clip->channel = "";
    if (!clip_split(clip, line, size, value))
        return clip->scratch.failed ? bl_error_memory(e) : bl_error_set(e, BL_EDATA, "not a line of a list of clips");
    clip_set_id(clip, value);
    BL_TRY(bl_buffer_check(&clip->id, e));
    BL_TRY(bl_buffer_check(&clip->further, e));
    clip->path = value[BL_CLIP_PATH];
    if (!*clip->path)
        return bl_error_set(e, BL_EDATA, "no path");
    return clip_set_ends(clip, value, e);
}

/* --- counting lines ----------------------------------------------------------------------------------------------- */

/* Fills in the row of a clip and its columns: those of the kind, those of BL_CLIP_COLUMNS (begin, end, where decoding
 * begins), and the further ones of the list. An unusable clip has no known end. BL_EDATA: the clip is unusable, and its
 * row still has all columns. */
static int list_fill_clip(struct bl_list_counter *c, const struct bl_chunk *chunk, const struct bl_line *line,
                          struct bl_row *row, struct bl_error *e)
{
    int code = bl_clip_parse(&c->clip, line->text, line->size, e);
    if (code && code != BL_EDATA)
        return code;
    bl_buffer_clear(&c->extra);
    bl_buffer_clear(&c->seek);
    bl_buffer_text(&c->seek, "");
    row->id = *c->clip.path ? c->clip.id.data : NULL;
    if (!code) {
        code = bl_list_path_set(&c->path, chunk, c->clip.path, !bl_list_is_kaldi(chunk->input->name), e);
        row->path = code ? NULL : c->path.path.data;
    }
    if (!code)
        code = c->fill_clip(c, row, e);
    if (code && code != BL_EDATA)
        return code;
    bl_buffer_text(&c->extra, code ? c->unusable : "");
    /* The end of a clip that was counted is at least 1. */
    if (row->clip_end)
        bl_buffer_printf(&c->extra, "\t%" PRId64 "\t%" PRId64 "\t%s", row->clip_begin, row->clip_end, c->seek.data);
    else
        bl_buffer_text(&c->extra, "\t0\t\t");
    bl_buffer_text(&c->extra, c->clip.further.data);
    int failed = bl_buffer_check(&c->extra, e);
    row->extra = c->extra.data;
    return failed ? failed : code;
}

/* Emits the row of a line. An unusable line has a skipped row, whose reason names the file, or the list and the line:
 * "clips.csv:12: a.mp4: ends before it starts". */
static int list_count_line(struct bl_list_counter *c, const struct bl_chunk *chunk, const struct bl_line *line,
                           bl_row_emit *emit, void *sink, struct bl_error *e)
{
    struct bl_error unusable = {0};
    struct bl_row row = {.stream = -1, .offset = line->number, .reason = c->reason};
    c->reason[0] = '\0';
    int code = line->unusable ? bl_error_set(&unusable, BL_EDATA, "%.*s", (int)line->size, line->text)
               : chunk->clips ? list_fill_clip(c, chunk, line, &row, &unusable)
                              : c->fill_entry(c, chunk, line, &row, &unusable);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &unusable);
    if (code) {
        if (row.path)
            bl_error_prefix(&unusable, "%s", row.path);
        if (row.id) /* the list's own, which does not name list and line */
            bl_error_prefix(&unusable, "%s:%" PRId64, chunk->input->name, line->number);
        row.status = BL_ROW_SKIPPED;
        row.reason = unusable.text;
        row.length = 0;
    }
    return emit(sink, 0, &row, e);
}

/* Counts the lines of a chunk. Lists may be long, so that a cancel is looked for at each line. */
int bl_list_count(struct bl_list_counter *c, const struct bl_chunk *chunk, bl_row_emit *emit, void *sink,
                  struct bl_error *e)
{
    for (int i = 0; i < chunk->lines; i++) {
        if (bl_cancelled(c->env->cancel))
            return BL_ECANCEL;
        BL_TRY(list_count_line(c, chunk, &chunk->line[i], emit, sink, e));
    }
    /* The list itself could not be read beyond these lines; that makes a row, too. */
    if (!chunk->fault)
        return BL_OK;
    struct bl_row row = {.status = BL_ROW_SKIPPED, .stream = -1, .offset = -1, .reason = chunk->fault};
    return emit(sink, 0, &row, e);
}

void bl_list_counter_free(struct bl_list_counter *c)
{
    bl_clip_free(&c->clip);
    bl_list_path_free(&c->path);
    bl_buffer_free(&c->extra);
    bl_buffer_free(&c->seek);
}
