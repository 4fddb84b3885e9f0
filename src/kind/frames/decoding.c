#include "kind/frames/decoding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kind/frames/clips.h"
#include "kind/frames/image.h"
#include "kind/frames/image_folder.h"
#include "kind/video/options.h"

/* The positions of every stride-th image, to be freed. */
static int frames_number_steps(const struct bl_image_folder *folder, int64_t stride, double **positions,
                               struct bl_error *e)
{
    *positions = malloc((folder->count / (size_t)stride + 1) * sizeof **positions);
    if (!*positions)
        return bl_error_memory(e);
    for (size_t i = 0, step = 0; i < folder->count; i += (size_t)stride) {
        int code = bl_image_folder_position(folder, i, &(*positions)[step++], e);
        if (code)
            return code;
    }
    return BL_OK;
}

static int frames_count_folder(const struct bl_video_config *config, const struct bl_kind_env *env,
                               const struct bl_chunk *chunk, struct bl_image_folder *folder, double **times,
                               struct bl_error *e)
{
    int code = bl_image_folder_list(folder, chunk->input->path, config->images, e);
    if (code)
        return code;
    if (folder->count == 0 || folder->count > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "%s images%s%s", folder->count ? "too many" : "no",
                            config->images ? " of the name " : "", config->images ? config->images : "");
    code = bl_frames_check_headers(folder, 0, folder->count, chunk->input->path, config, env, e);
    if (code)
        return code;
    return chunk->times ? frames_number_steps(folder, config->stride, times, e) : BL_OK;
}

int bl_frames_decoding_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                             struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_frames_clips_count(env, counter, chunk, emit, sink, e);
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_error fault = {0};
    double *times = NULL;
    char extra[32];
    int code = frames_count_folder(config, env, chunk, &folder, &times, &fault);
    snprintf(extra, sizeof extra, "\t%" PRId64, bl_image_folder_count_missing(&folder, 0, folder.count));
    struct bl_row row = {.status = BL_ROW_OK,
                         .length = ((int64_t)folder.count + config->stride - 1) / config->stride,
                         .reason = "",
                         .extra = extra,
                         .stream = -1,
                         .offset = -1,
                         .times = times};
    code = bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    bl_image_folder_free(&folder);
    free(times);
    return code;
}
