#include "store/sequence_paths.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/hash.h"
#include "store/row_reader.h"

/* Hashes of the paths seen so far. In a table merged from several, the rows of a file need not be consecutive. */
struct paths {
    struct bl_hash table;
    uint64_t *hash;
    size_t count, capacity;
};

static int paths_add(struct paths *paths, uint64_t hash, bool *is_new, struct bl_error *e)
{
    size_t number;
    *is_new = false;
    for (struct bl_hash_probe probe = bl_hash_begin(&paths->table, hash);
         bl_hash_next(&paths->table, &probe, &number);) {
        if (paths->hash[number] == hash)
            return BL_OK;
    }
    int code = BL_ARRAY_RESERVE(paths->hash, paths->capacity, paths->count + 1, e);
    if (code)
        return code;
    code = bl_hash_add(&paths->table, hash, paths->count, e);
    if (code)
        return code;
    paths->hash[paths->count++] = hash;
    *is_new = true;
    return BL_OK;
}

int bl_sequence_paths_visit(const struct bl_sequences *t,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct paths paths = {0};
    uint64_t last = 0;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        if (!t->length[i])
            continue;
        code = bl_row_reader_read(t, i, &text, e);
        uint64_t hash = code ? 0 : XXH3_64bits(text.row.path, strlen(text.row.path));
        if (code || (paths.count && hash == last))
            continue;
        last = hash;
        bool is_new;
        code = paths_add(&paths, hash, &is_new, e);
        if (!code && is_new)
            code = visit(context, text.row.path, e);
    }
    free(paths.hash);
    bl_hash_free(&paths.table);
    bl_row_reader_free(&text);
    return code;
}
