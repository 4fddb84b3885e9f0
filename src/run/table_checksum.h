/* The table in DIR/.bload: what it is when it is written is kept beside it as a checksum, so that one that was edited
 * or damaged later is not packed. */
#ifndef BL_TABLE_CHECKSUM_H
#define BL_TABLE_CHECKSUM_H

#include "run/state.h"

/* Whether the table is as it was written. One that has no checksum yet, as its writer had just finished it, gets one.
 * BL_EFAIL: it is another. */
int bl_table_checksum_verify(const struct bl_state *state, struct bl_error *e);

/* Before a table is made: that of an earlier one is of no account. */
int bl_table_checksum_forget(const struct bl_state *state, struct bl_error *e);

#endif
