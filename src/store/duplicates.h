/* Ids that stand twice in a table. The hashes of all ids, sorted, tell whether there is one at 8 bytes a row; only then
 * are the two rows looked up. */
#ifndef BL_DUPLICATES_H
#define BL_DUPLICATES_H

#include <stdint.h>

#include "base/error.h"
#include "store/sequence_table.h"

/* hash: XXH3 of each row's id, as it stands there; they are sorted. BL_EFAIL names an id that comes twice, and its
 * rows. */
int bl_duplicates_check(const struct bl_sequences *sequences, uint64_t *hash, struct bl_error *e);

#endif
