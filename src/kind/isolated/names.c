#include "kind/isolated/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static size_t names_put(struct bl_isolated_names *n, const char *text)
{
    size_t at = text ? n->text.size : 0;
    if (text)
        bl_buffer_append(&n->text, text, strlen(text) + 1);
    return at;
}

static int names_take(void *names, const char *id, const char *path, const char *open_path, struct bl_error *e)
{
    struct bl_isolated_names *n = names;
    int code = BL_ARRAY_RESERVE(n->name, n->capacity, (size_t)n->count + 1, e);
    if (code)
        return code;
    struct bl_isolated_name *name = &n->name[n->count++];
    name->line = n->line;
    name->id = names_put(n, id);
    name->path = names_put(n, path);
    name->open_path = names_put(n, open_path);
    return bl_buffer_check(&n->text, e);
}

int bl_isolated_names_find(struct bl_isolated_names *n, const struct bl_kind_scan *scan, const struct bl_chunk *chunk,
                           int first, int end, struct bl_error *e)
{
    int code = BL_OK;
    n->count = 0;
    bl_buffer_clear(&n->text);
    bl_buffer_byte(&n->text, '\0'); /* so that no offset is 0 */
    for (n->line = first; n->line < end && !code; n->line++) {
        if (!chunk->line[n->line].unusable)
            code = scan->names(chunk, &chunk->line[n->line], names_take, n, e);
    }
    return code;
}

void bl_isolated_names_free(struct bl_isolated_names *n)
{
    bl_buffer_free(&n->text);
    free(n->name);
}

const char *bl_isolated_names_path(const struct bl_isolated_names *n, int64_t number)
{
    bool is_one = number >= 0 && number < n->count && n->name[number].open_path;
    return is_one ? n->text.data + n->name[number].open_path : NULL;
}

static bool name_is(const struct bl_isolated_names *n, size_t at, const char *text)
{
    return !text || (at && strcmp(n->text.data + at, text) == 0);
}

bool bl_isolated_names_allow(const struct bl_isolated_names *n, int line, const struct bl_row *row)
{
    if (!row->id && !row->path)
        return true;
    for (int i = 0; i < n->count; i++) {
        const struct bl_isolated_name *name = &n->name[i];
        if (name->line == line && name_is(n, name->id, row->id) && name_is(n, name->path, row->path))
            return true;
    }
    return false;
}
