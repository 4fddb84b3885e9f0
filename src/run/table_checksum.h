/* The checksum of the table in DIR/.bload, stored beside it, so that a table that was edited or damaged later is not
 * packed. */
#ifndef BL_TABLE_CHECKSUM_H
#define BL_TABLE_CHECKSUM_H

#include "run/state.h"

/* Checks the table against its checksum. A table without one, which was written just now, gets one. BL_EFAIL: the table
 * has changed. */
int bl_table_checksum_verify(const struct bl_state *state, struct bl_error *e);

/* Removes the checksum of an earlier table, before a new table is made. */
int bl_table_checksum_forget(const struct bl_state *state, struct bl_error *e);

#endif
