#include "kind/frames/clips.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/image.h"
#include "kind/list.h"

struct bl_counter {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    char *path; /* of the folder that was read last, or NULL */
    struct bl_image_folder folder;
    uint64_t content;
    int code; /* of reading it, with the reason */
    struct bl_error fault;
    struct bl_clip clip;
    struct bl_list_path list_path;
    struct bl_buffer extra;
    char reason[1024];
};

int bl_frames_clips_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
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

static void clips_leave_folder(struct bl_counter *c)
{
    bl_image_folder_free(&c->folder);
    free(c->path);
    c->path = NULL;
    c->content = 0;
    bl_error_clear(&c->fault);
}

void bl_frames_clips_close(struct bl_counter *c)
{
    clips_leave_folder(c);
    bl_clip_free(&c->clip);
    bl_list_path_free(&c->list_path);
    bl_buffer_free(&c->extra);
    free(c);
}

/* Lists the images, of which those that match --images remain, and hashes all. */
static int clips_read_folder(struct bl_counter *c, const char *path, struct bl_error *e)
{
    int64_t bytes;
    int code = bl_image_folder_stat(path, &bytes, &c->content, e);
    if (!code)
        code = bl_image_folder_list(&c->folder, path, c->config->images, e);
    if (!code && c->folder.count > INT32_MAX)
        code = bl_error_set(e, BL_EDATA, "too many images");
    if (!code && !c->folder.count)
        code = bl_error_set(e, BL_EDATA, "no images%s%s", c->config->images ? " of the name " : "",
                            c->config->images ? c->config->images : "");
    return code;
}

/* Makes it the folder of the counter, unless it is. BL_EDATA: it is unusable. */
static int clips_enter_folder(struct bl_counter *c, const char *path, struct bl_error *e)
{
    if (!c->path || strcmp(c->path, path) != 0) {
        clips_leave_folder(c);
        c->path = strdup(path);
        if (!c->path)
            return bl_error_memory(e);
        c->code = clips_read_folder(c, path, &c->fault);
    }
    return c->code ? bl_error_set(e, c->code, "%s", c->fault.text) : BL_OK;
}

/* Which images the clip has. */
static int clips_find_images(struct bl_counter *c, int64_t *begin, int64_t *end, struct bl_error *e)
{
    const struct bl_clip *clip = &c->clip;
    int64_t count = (int64_t)c->folder.count;
    if (clip->by_time)
        return bl_error_set(e, BL_EDATA, "images have no times: give start_frame and end_frame");
    *begin = clip->first < 0 ? 0 : clip->first;
    *end = clip->behind < 0 || clip->behind > count ? count : clip->behind;
    if (*begin >= count)
        return bl_error_set(e, BL_EDATA, "begins with image %" PRId64 ", and the folder has %" PRId64, *begin, count);
    if (*end <= *begin)
        return bl_error_set(e, BL_EDATA, "no image lies between its start and its end");
    if (clip->behind > count)
        bl_row_append_reason(c->reason, sizeof c->reason,
                             "ends %" PRId64 " images behind the folder's end: so many are missing",
                             clip->behind - count);
    return BL_OK;
}

/* Fills in what the row has from its folder. */
static int frames_clips_fill_row(struct bl_counter *c, struct bl_row *row, int64_t *missing, struct bl_error *e)
{
    int64_t begin = 0, end = 0, stride = c->config->stride;
    int code = clips_enter_folder(c, c->list_path.open_path.data, e);
    row->bytes = c->folder.bytes;
    row->content = c->content;
    if (!code)
        code = clips_find_images(c, &begin, &end, e);
    if (!code)
        code = bl_frames_check_headers(&c->folder, (size_t)begin, (size_t)end, c->path, c->config, c->env, e);
    if (code)
        return code;
    row->length = (end - begin + stride - 1) / stride;
    *missing = bl_image_folder_count_missing(&c->folder, (size_t)begin, (size_t)end);
    if (bl_clip_is_whole(&c->clip)) /* it is read as a folder is that no list names */
        return BL_OK;
    row->clip_begin = begin;
    row->clip_end = end;
    return BL_OK;
}

/* Fills in the row of a line. BL_EDATA: unusable. */
static int frames_clips_fill(void *counter, const struct bl_chunk *chunk, const struct bl_line *line,
                             struct bl_row *row, struct bl_error *e)
{
    struct bl_counter *c = counter;
    int64_t missing = 0;
    int code = bl_clip_parse(&c->clip, line->text, line->size, e);
    if (code && code != BL_EDATA)
        return code;
    row->id = *c->clip.path ? c->clip.id.data : NULL;
    if (!code) {
        code = bl_list_path_set(&c->list_path, chunk, c->clip.path, true, e);
        row->path = code ? NULL : c->list_path.path.data;
    }
    if (!code)
        code = frames_clips_fill_row(c, row, &missing, e);
    if (code && code != BL_EDATA)
        return code;
    bl_buffer_clear(&c->extra);
    bl_buffer_printf(&c->extra, "\t%" PRId64, missing);
    bl_clip_append_columns(&c->extra, row->clip_begin, row->clip_end, "");
    bl_buffer_text(&c->extra, c->clip.further.data);
    int failed = bl_buffer_check(&c->extra, e);
    row->extra = c->extra.data;
    return failed ? failed : code;
}

int bl_frames_clips_count(const struct bl_kind_env *env, struct bl_counter *c, const struct bl_chunk *chunk,
                          bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_list_counting counting = {.fill = frames_clips_fill, .counter = c, .reason = c->reason};
    return bl_list_count(&counting, env, chunk, emit, sink, e);
}

int bl_frames_check_headers(const struct bl_image_folder *folder, size_t begin, size_t end, const char *path,
                            const struct bl_video_config *config, const struct bl_kind_env *env, struct bl_error *e)
{
    struct bl_buffer file = {0};
    enum bl_channels channels = (enum bl_channels)config->pixels;
    int code = BL_OK;
    for (size_t i = begin; i < end && !code; i += (size_t)config->stride) {
        if (bl_cancelled(env->cancel)) {
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
            break;
        }
        bl_buffer_clear(&file);
        bl_buffer_printf(&file, "%s/%s", path, folder->image[i].name);
        code = bl_buffer_check(&file, e);
        if (!code)
            code = bl_image_check(&folder->image[i], file.data, channels, env, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", folder->image[i].name);
    }
    bl_buffer_free(&file);
    return code;
}
