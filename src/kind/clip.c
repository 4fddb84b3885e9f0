#include "kind/clip.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SECONDS_MAX 1e9
#define FRAMES_MAX ((int64_t)1 << 40)

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

/* Digits, and a fraction or an exponent where that is allowed. */
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

bool bl_clip_parse_time(const char *text, double *seconds)
{
    double sum = 0, value;
    int parts = 0;
    for (const char *colon; (colon = strchr(text, ':')); text = colon + 1) {
        bool lower = parts > 0;
        if (++parts > 2 || !number_parse(text, (size_t)(colon - text), false, &value) || (lower && value >= 60))
            return false;
        sum = (sum + value) * 60;
    }
    if (!number_parse(text, strlen(text), true, &value) || (parts && value >= 60))
        return false;
    *seconds = sum + value;
    return *seconds <= SECONDS_MAX;
}

/* A time, or -1 where there is no value. */
static int clip_set_time(double *seconds, const char *text, const char *name, struct bl_error *e)
{
    *seconds = -1;
    if (*text && !bl_clip_parse_time(text, seconds))
        return bl_error_set(e, BL_EDATA, "\"%s\" is no time: \"%.40s\" (seconds, or h:mm:ss.s)", name, text);
    return BL_OK;
}

/* A number, or -1 where there is no value. pandas writes whole numbers as 50.0 where a value of the column is empty. */
static int clip_set_frame(int64_t *frame, const char *text, const char *name, struct bl_error *e)
{
    size_t size = strcspn(text, "."), zeros = text[size] ? strspn(text + size + 1, "0") : 0;
    bool whole = !text[size] || (zeros && !text[size + 1 + zeros]);
    *frame = -1;
    if (*text && !(whole && bl_text_to_int(text, size, 0, FRAMES_MAX, frame)))
        return bl_error_set(e, BL_EDATA, "\"%s\" is no number of a frame: \"%.40s\"", name, text);
    return BL_OK;
}

static int clip_set_ends(struct bl_clip *clip, const char *const value[BL_CLIP_VALUES], struct bl_error *e)
{
    int code = clip_set_time(&clip->start, value[BL_CLIP_START], "start", e);
    if (!code)
        code = clip_set_time(&clip->end, value[BL_CLIP_END], "end", e);
    if (!code)
        code = clip_set_frame(&clip->first, value[BL_CLIP_START_FRAME], "start_frame", e);
    if (!code)
        code = clip_set_frame(&clip->behind, value[BL_CLIP_END_FRAME], "end_frame", e);
    if (code)
        return code;
    clip->by_time = clip->start >= 0 || clip->end >= 0;
    if (clip->by_time && (clip->first >= 0 || clip->behind >= 0))
        return bl_error_set(e, BL_EDATA, "times and numbers of frames: give one of them");
    if ((clip->end >= 0 && clip->end < clip->start) || (clip->behind >= 0 && clip->behind < clip->first))
        return bl_error_set(e, BL_EDATA, "ends before it starts: from %s%s to %s%s", value[BL_CLIP_START],
                            value[BL_CLIP_START_FRAME], value[BL_CLIP_END], value[BL_CLIP_END_FRAME]);
    return BL_OK;
}

/* --- a line ----------------------------------------------------------------------------------------------------- */

/* "path#start-end", as they are written; of a clip that is all of its file, the path. */
static void clip_set_id(struct bl_clip *clip, const char *const value[BL_CLIP_VALUES])
{
    const char *start = *value[BL_CLIP_START] ? value[BL_CLIP_START] : value[BL_CLIP_START_FRAME];
    const char *end = *value[BL_CLIP_END] ? value[BL_CLIP_END] : value[BL_CLIP_END_FRAME];
    bl_buffer_clear(&clip->id);
    if (*value[BL_CLIP_ID])
        bl_buffer_text(&clip->id, value[BL_CLIP_ID]);
    else if (*start || *end)
        bl_buffer_printf(&clip->id, "%s#%s-%s", value[BL_CLIP_PATH], start, end);
    else
        bl_buffer_text(&clip->id, value[BL_CLIP_PATH]);
}

/* Splits the line into its values, unescaped in scratch. False: it has not the form of kind/clip.h. */
static bool clip_split(struct bl_clip *clip, const char *line, size_t size, const char *value[BL_CLIP_VALUES])
{
    bl_buffer_clear(&clip->scratch);
    bl_buffer_append(&clip->scratch, line, size);
    char *at = clip->scratch.data;
    if (clip->scratch.failed || !at || strlen(at) != size)
        return false;
    for (int v = 0; v < BL_CLIP_VALUES; v++) {
        char *end = at + strcspn(at, "\t"), *next = end + 1;
        bool more = *end == '\t', last = v == BL_CLIP_VALUES - 1;
        if (!more && !last)
            return false;
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

int bl_clip_parse(struct bl_clip *clip, const char *line, size_t size, struct bl_error *e)
{
    const char *value[BL_CLIP_VALUES];
    bl_buffer_clear(&clip->id);
    bl_buffer_clear(&clip->further);
    clip->path = "";
    if (!clip_split(clip, line, size, value))
        return clip->scratch.failed ? bl_error_memory(e) : bl_error_set(e, BL_EDATA, "not a line of a list of clips");
    clip_set_id(clip, value);
    int code = bl_buffer_check(&clip->id, e);
    if (!code)
        code = bl_buffer_check(&clip->further, e);
    if (code)
        return code;
    clip->path = value[BL_CLIP_PATH];
    if (!*clip->path)
        return bl_error_set(e, BL_EDATA, "no path");
    return clip_set_ends(clip, value, e);
}

void bl_clip_append_columns(struct bl_buffer *out, int64_t begin, int64_t end, const char *seek)
{
    if (end)
        bl_buffer_printf(out, "\t%" PRId64 "\t%" PRId64 "\t%s", begin, end, seek);
    else
        bl_buffer_text(out, "\t0\t\t");
}
