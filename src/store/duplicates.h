/* Duplicate ids in a table. Sorting the hashes of all ids finds out whether there is one, at 8 bytes per row; only then
 * are the two rows looked up. */
#ifndef BL_DUPLICATES_H
#define BL_DUPLICATES_H

#include <stdint.h>

#include "base/error.h"
#include "store/sequence_table.h"

/* hash: XXH3 of each row's id as written; they are sorted. BL_EFAIL: an id occurs twice; the message names it and both
 * rows. */
int bl_duplicates_check(const struct bl_sequences *sequences, uint64_t *hash, struct bl_error *e);

/* The rows whose id another row has too, ascending: *rows, [*listed], to be freed; NULL: there are none. Without the
 * one that has steps, if no other has: it needs no other name. hash, length: [count] of the id of each row, and its
 * steps. Two equal hashes are taken as equal ids. */
int bl_duplicates_collect(const uint64_t *hash, const int64_t *length, size_t count, int64_t **rows, size_t *listed,
                          struct bl_error *e);

#endif
