#include "kind/audio/recordings.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "kind/input.h"
#include "kind/input_stat.h"

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

void bl_recordings_close(struct bl_recordings *r)
{
    recordings_clear(r);
    free(r->slot);
    r->slot = NULL;
}

int bl_recordings_find(struct bl_recordings *r, const struct bl_audio_config *config, const struct bl_kind_env *env,
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
        return bl_error_set(e, slot->code, "%s", fault.text);
    code = unusable ? BL_OK : bl_input_recheck(NULL, &input, e);
    if (code)
        return code;
    slot->reason = slot->code ? strdup(fault.text) : NULL;
    if (slot->code && !slot->reason)
        return bl_error_memory(e);
    slot->path = strdup(path); /* last: it makes the entry valid */
    return slot->path ? BL_OK : bl_error_memory(e);
}
