#include "store/duplicates.h"

#include <string.h>
#include <xxhash.h>

#include "base/sort.h"
#include "base/text.h"
#include "store/rows.h"

/* Names the rows whose ids have this hash, if they are the same indeed. */
static int name_duplicate(const struct bl_sequences *t, uint64_t hash, struct bl_error *e)
{
    struct bl_row_text text = {0}, first = {0};
    size_t at = SIZE_MAX;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        code = bl_sequences_row(t, i, &text, e);
        struct bl_buffer escaped = {0};
        if (!code)
            bl_text_escape(&escaped, text.row.id, strlen(text.row.id));
        if (!code && escaped.data && XXH3_64bits(escaped.data, escaped.size) == hash) {
            if (at == SIZE_MAX) {
                at = i;
                code = bl_sequences_row(t, i, &first, e);
            } else if (strcmp(first.row.id, text.row.id) == 0) {
                code = bl_error_set(e, BL_EFAIL, "two sequences have the id \"%s\": rows %zu and %zu (%s, %s)",
                                    text.row.id, at, i, first.row.path, text.row.path);
            }
        }
        bl_buffer_free(&escaped);
    }
    bl_row_text_free(&text);
    bl_row_text_free(&first);
    return code;
}

int bl_duplicates_check(const struct bl_sequences *t, uint64_t *hash, struct bl_error *e)
{
    bl_sort_u64(hash, t->count, 0);
    for (size_t i = 1; i < t->count; i++) {
        if (hash[i] != hash[i - 1])
            continue;
        /* Rows of stdin are gone; two equal hashes of 64 bits are two equal ids for all practical purposes. */
        for (int f = 0; f < t->files; f++) {
            if (t->file[f].fd < 0)
                return bl_error_set(e, BL_EFAIL, "%s: two sequences have the same id", t->file[f].path);
        }
        int code = name_duplicate(t, hash[i], e);
        if (code)
            return code;
    }
    return BL_OK;
}
