/* The checksum of the table in DIR/.bload, stored beside it, so that a table that was edited or damaged later is not
 * packed. */
#ifndef BL_TABLE_CHECKSUM_H
#define BL_TABLE_CHECKSUM_H

#include "run/state.h"
#include "store/sequences.h"

/* Keeps the checksum of a table that was written just now. */
int bl_table_checksum_keep(const struct bl_state *state, uint64_t checksum, struct bl_error *e);

/* Checks the table against its checksum, which is stored in *checksum. A table without one, which a killed run leaves,
 * gets one. BL_EFAIL: the table has changed. */
int bl_table_checksum_verify(const struct bl_state *state, uint64_t *checksum, struct bl_error *e);

/* Compares what was read of the table with its checksum. BL_EFAIL: it has changed. */
int bl_table_checksum_compare(const struct bl_sequences *table, uint64_t checksum, struct bl_error *e);

/* Removes the checksum of an earlier table, before a new table is made. */
int bl_table_checksum_forget(const struct bl_state *state, struct bl_error *e);

#endif
