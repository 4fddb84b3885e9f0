#include "kind/composite/clip_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "kind/clip.h"
#include "kind/content.h"

void bl_clip_list_free(struct bl_clip_list *list)
{
    bl_buffer_free(&list->text);
    bl_hash_free(&list->by_id);
    free(list->place);
    *list = (struct bl_clip_list){0};
}

/* Finds the clip with the id of these bytes. */
static const struct bl_clip_place *list_find(const struct bl_clip_list *list, const char *id, size_t size)
{
    struct bl_hash_probe probe = bl_hash_begin(&list->by_id, bl_content_hash(id, size));
    size_t number;
    while (bl_hash_next(&list->by_id, &probe, &number)) {
        const char *own = list->text.data + list->place[number].id;
        if (strlen(own) == size && memcmp(own, id, size) == 0)
            return &list->place[number];
    }
    return NULL;
}

/* Adds the line under its id, which is not there yet. */
static int list_append(struct bl_clip_list *list, const char *id, const struct bl_line *line, struct bl_error *e)
{
    size_t size = strlen(id) + 1, at = list->text.size;
    int code = BL_ARRAY_RESERVE(list->place, list->capacity, list->count + 1, e);
    if (code)
        return code;
    bl_buffer_append(&list->text, id, size);
    bl_buffer_append(&list->text, line->text, line->size);
    code = bl_buffer_check(&list->text, e);
    if (!code)
        code = bl_hash_add(&list->by_id, bl_content_hash(id, size - 1), list->count, e);
    if (code)
        return code;
    list->place[list->count++] = (struct bl_clip_place){at, at + size, line->size, line->number};
    return BL_OK;
}

int bl_clip_list_add(struct bl_clip_list *list, const struct bl_line *line, struct bl_error *e)
{
    struct bl_clip clip = {0};
    if (line->unusable)
        return bl_error_set(e, BL_EDATA, "%.*s", (int)line->size, line->text);
    int code = bl_clip_parse(&clip, line->text, line->size, e);
    const char *id = code ? "" : clip.id.data;
    const struct bl_clip_place *same = code ? NULL : list_find(list, id, strlen(id));
    if (same)
        code = bl_error_set(e, BL_EDATA, "the id %s is that of line %" PRId64, id, same->number);
    if (!code)
        code = list_append(list, id, line, e);
    bl_clip_free(&clip);
    return code;
}

bool bl_clip_list_find(const struct bl_clip_list *list, const char *id, struct bl_line *line)
{
    const struct bl_clip_place *place = list_find(list, id, strlen(id));
    if (!place)
        place = list_find(list, id, bl_path_stem(id));
    if (place)
        *line = (struct bl_line){.text = list->text.data + place->line, .size = place->size, .number = place->number};
    return place != NULL;
}

uint64_t bl_clip_list_digest(const struct bl_clip_list *list)
{
    return bl_content_hash(list->text.data, list->text.size);
}
