#include "store/sequence_paths.h"

#include <string.h>

#include "store/groups.h"
#include "store/row_reader.h"

/* In a table merged from several, the rows of a file need not be consecutive. */
int bl_sequence_paths_visit(const struct bl_sequences *t,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_groups paths = {0};
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        if (!t->length[i])
            continue;
        code = bl_row_reader_read(t, i, &text, e);
        size_t before = paths.count;
        uint32_t group;
        if (!code)
            code = bl_groups_find(&paths, text.row.path, strlen(text.row.path), &group, e);
        if (!code && paths.count > before)
            code = visit(context, text.row.path, e);
    }
    bl_groups_free(&paths);
    bl_row_reader_free(&text);
    return code;
}
