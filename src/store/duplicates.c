#include "store/duplicates.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/text.h"
#include "store/row_reader.h"

/* "a.tsv:5": file and line of a row; the header is line 1. */
static void duplicates_append_place(const struct bl_sequences *t, size_t row, const char *path, struct bl_buffer *out)
{
    int f = 0;
    while (f + 1 < t->files && t->file[f + 1].first <= row)
        f++;
    bl_buffer_printf(out, "%s:%zu", t->file[f].path, row - t->file[f].first + 2);
    if (*path)
        bl_buffer_printf(out, " (%s)", path);
}

/* first, second: the rows, or NULL if they cannot be read. */
static int duplicates_report_pair(const struct bl_sequences *t, size_t a, const struct bl_row *first, size_t b,
                                  const struct bl_row *second, struct bl_error *e)
{
    struct bl_buffer one = {0}, two = {0};
    duplicates_append_place(t, a, first && first->path ? first->path : "", &one);
    duplicates_append_place(t, b, second && second->path ? second->path : "", &two);
    int code = one.failed || two.failed ? bl_error_memory(e) : BL_OK;
    if (code)
        goto out;
    if (first)
        code = bl_error_set(e, BL_EFAIL, "two sequences have the id \"%s\": %s and %s%s", first->id, one.data, two.data,
                            first->is_clip ? "; a column id of the list can tell them apart" : "");
    else
        code = bl_error_set(e, BL_EFAIL, "two sequences have the same id: %s and %s", one.data, two.data);
out:
    bl_buffer_free(&one);
    bl_buffer_free(&two);
    return code;
}

/* Finds the rows whose ids have this hash, and reports them if the ids are equal. */
static int duplicates_report_ids(const struct bl_sequences *t, uint64_t hash, struct bl_error *e)
{
    struct bl_row_reader text = {0}, first = {0};
    size_t at = SIZE_MAX;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        code = bl_row_reader_read(t, i, &text, e);
        struct bl_buffer escaped = {0};
        if (!code)
            bl_text_escape(&escaped, text.row.id, strlen(text.row.id));
        if (!code && escaped.data && XXH3_64bits(escaped.data, escaped.size) == hash) {
            if (at == SIZE_MAX) {
                at = i;
                code = bl_row_reader_read(t, i, &first, e);
            } else if (strcmp(first.row.id, text.row.id) == 0) {
                code = duplicates_report_pair(t, at, &first.row, i, &text.row, e);
            }
        }
        bl_buffer_free(&escaped);
    }
    bl_row_reader_free(&text);
    bl_row_reader_free(&first);
    return code;
}

/* Rows of stdin, and so their ids, cannot be read again. Two equal 64-bit hashes are taken as equal ids. */
static int duplicates_report_hash(const struct bl_sequences *t, const uint64_t *unsorted, uint64_t hash,
                                  struct bl_error *e)
{
    size_t at = 0;
    while (unsorted[at] != hash)
        at++;
    size_t next = at + 1;
    while (unsorted[next] != hash)
        next++;
    return duplicates_report_pair(t, at, NULL, next, NULL, e);
}

int bl_duplicates_check(const struct bl_sequences *t, uint64_t *hash, struct bl_error *e)
{
    bool gone = false;
    int code = BL_OK;
    for (int f = 0; f < t->files; f++)
        gone |= t->file[f].fd < 0;
    uint64_t *unsorted = gone ? malloc((t->count + 1) * sizeof *unsorted) : NULL;
    if (gone && !unsorted)
        return bl_error_memory(e);
    if (gone && t->count)
        memcpy(unsorted, hash, t->count * sizeof *hash);
    bl_sort_u64(hash, t->count, 0);
    for (size_t i = 1; i < t->count && !code; i++) {
        if (hash[i] == hash[i - 1])
            code = gone ? duplicates_report_hash(t, unsorted, hash[i], e) : duplicates_report_ids(t, hash[i], e);
    }
    free(unsorted);
    return code;
}

/* Moves one of each hash that occurs several times to the front of a sorted array, and returns their number. */
static size_t duplicates_compact(uint64_t *sorted, size_t count)
{
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        uint64_t hash = sorted[i];
        bool again = hash == sorted[i - 1];
        while (i + 1 < count && sorted[i + 1] == hash)
            i++, again = true;
        if (again)
            sorted[kept++] = hash;
    }
    return kept;
}

/* Returns where a hash is among the compacted ones, or count. */
static size_t duplicates_find(const uint64_t *sorted, size_t count, uint64_t hash)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] == hash)
            return middle;
        if (sorted[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return count;
}

/* Lists the rows with one of `several` compacted hashes. */
static int duplicates_list(const uint64_t *sorted, size_t several, const uint64_t *hash, const int64_t *length,
                           size_t count, int64_t **rows, size_t *listed, struct bl_error *e)
{
    size_t capacity = 0;
    int code = BL_OK;
    uint8_t *usable = calloc(several, 1); /* rows with steps that have the hash; 2 stands for more */
    if (!usable)
        return bl_error_memory(e);
    for (size_t i = 0; i < count; i++) {
        size_t at = length[i] ? duplicates_find(sorted, several, hash[i]) : several;
        if (at < several && usable[at] < 2)
            usable[at]++;
    }
    for (size_t i = 0; i < count && !code; i++) {
        size_t at = duplicates_find(sorted, several, hash[i]);
        if (at == several || (length[i] && usable[at] == 1))
            continue;
        code = BL_ARRAY_RESERVE(*rows, capacity, *listed + 1, e);
        if (!code)
            (*rows)[(*listed)++] = (int64_t)i;
    }
    free(usable);
    return code;
}

int bl_duplicates_collect(const uint64_t *hash, const int64_t *length, size_t count, int64_t **rows, size_t *listed,
                          struct bl_error *e)
{
    *rows = NULL;
    *listed = 0;
    if (!count)
        return BL_OK;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return bl_error_memory(e);
    memcpy(sorted, hash, count * sizeof *sorted);
    bl_sort_u64(sorted, count, 0);
    size_t several = duplicates_compact(sorted, count);
    int code = several ? duplicates_list(sorted, several, hash, length, count, rows, listed, e) : BL_OK;
    free(sorted);
    return code;
}
