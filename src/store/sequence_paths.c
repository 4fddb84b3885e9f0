#include "store/sequence_paths.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "store/row_reader.h"

/* Hashes of the paths seen so far. In a table merged from several, the rows of a file need not be consecutive. */
struct seen {
    uint64_t *hash; /* [capacity] open addressing; 0: free */
    size_t count, capacity;
};

static bool seen_add(struct seen *seen, uint64_t hash)
{
    size_t at = hash & (seen->capacity - 1);
    while (seen->hash[at] && seen->hash[at] != hash)
        at = (at + 1) & (seen->capacity - 1);
    bool is_new = !seen->hash[at];
    seen->hash[at] = hash;
    seen->count += is_new;
    return is_new;
}

static int seen_grow(struct seen *seen, struct bl_error *e)
{
    if (2 * seen->count < seen->capacity)
        return BL_OK;
    struct seen larger = {.capacity = seen->capacity ? 2 * seen->capacity : 1024};
    larger.hash = calloc(larger.capacity, sizeof *larger.hash);
    if (!larger.hash)
        return bl_error_memory(e);
    for (size_t i = 0; i < seen->capacity; i++) {
        if (seen->hash[i])
            seen_add(&larger, seen->hash[i]);
    }
    free(seen->hash);
    *seen = larger;
    return BL_OK;
}

int bl_sequence_paths_visit(const struct bl_sequences *t,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct seen seen = {0};
    uint64_t last = 0;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        if (!t->length[i])
            continue;
        code = bl_row_reader_read(t, i, &text, e);
        uint64_t hash = code ? 0 : XXH3_64bits(text.row.path, strlen(text.row.path)) | 1;
        if (code || hash == last)
            continue;
        last = hash;
        code = seen_grow(&seen, e);
        if (!code && seen_add(&seen, hash))
            code = visit(context, text.row.path, e);
    }
    free(seen.hash);
    bl_row_reader_free(&text);
    return code;
}
