/* Counts rows of a table by a text, such as a folder, a reason or a label. */
#include "report/tally.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/archive.h"

/* Counts a row under this key. *entry: the entry of the key, or the common entry of all keys beyond BL_TALLY_KEYS;
 * valid until the next call, as the array may move. */
int bl_tally_add(struct bl_tally *tally, const char *key, struct bl_tally_entry **entry, struct bl_error *e)
{
    uint64_t hash = XXH3_64bits(key, strlen(key));
    struct bl_hash_probe probe = bl_hash_begin(&tally->hash, hash);
    *entry = NULL;
    for (size_t at; !*entry && bl_hash_next(&tally->hash, &probe, &at);) {
        if (strcmp(tally->entry[at].key, key) == 0)
            *entry = &tally->entry[at];
    }
    /* The limit bounds the memory: a dataset may have a million folders. */
    if (!*entry && tally->count == BL_TALLY_KEYS)
        *entry = &tally->rest;
    if (*entry) {
        (*entry)->rows++;
        return BL_OK;
    }
    int code = BL_ARRAY_RESERVE(tally->entry, tally->capacity, tally->count + 1, e);
    if (!code)
        code = bl_hash_add(&tally->hash, hash, tally->count, e);
    if (code)
        return code;
    *entry = &tally->entry[tally->count++];
    **entry = (struct bl_tally_entry){.key = strdup(key), .rows = 1};
    return (*entry)->key ? BL_OK : bl_error_memory(e);
}

int bl_tally_add_example(struct bl_tally_entry *entry, const char *example, struct bl_error *e)
{
    if (entry->examples == BL_TALLY_EXAMPLES)
        return BL_OK;
    char *copy = strdup(example);
    if (!copy)
        return bl_error_memory(e);
    entry->example[entry->examples++] = copy;
    return BL_OK;
}

/* Orders entries by steps, then by rows, the largest first, and equal ones by key, so that the page is always the
 * same. */
static int tally_compare_entries(const void *a, const void *b)
{
    /* Steps come first, as a place with many steps matters more than one with many rows. */
    const struct bl_tally_entry *x = a, *y = b;
    if (x->steps != y->steps)
        return x->steps < y->steps ? 1 : -1;
    if (x->rows != y->rows)
        return x->rows < y->rows ? 1 : -1;
    return strcmp(x->key, y->key);
}

void bl_tally_sort(struct bl_tally *tally)
{
    /* The positions in the hash table are wrong after sorting, and nothing is added any more. */
    bl_hash_free(&tally->hash);
    if (tally->count)
        qsort(tally->entry, tally->count, sizeof *tally->entry, tally_compare_entries);
}

static void tally_free_examples(struct bl_tally_entry *entry)
{
    for (int i = 0; i < entry->examples; i++)
        free(entry->example[i]);
}

void bl_tally_free(struct bl_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++) {
        tally_free_examples(&tally->entry[i]);
        free(tally->entry[i].key);
    }
    /* The common entry has examples and no key. */
    tally_free_examples(&tally->rest);
    free(tally->entry);
    bl_hash_free(&tally->hash);
    *tally = (struct bl_tally){0};
}

void bl_tally_append_folder(const char *path, struct bl_buffer *out)
{
    const char *slash = strrchr(path, '/');
    struct bl_member member;
    /* "/a.mp4" lies in "/", which keeps its slash. */
    if (bl_member_parse(path, &member))
        bl_buffer_append(out, path, member.tar);
    else
        bl_buffer_append(out, slash ? path : ".", slash ? (size_t)(slash - path) + (slash == path) : 1);
}
