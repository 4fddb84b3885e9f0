/* Trades: two blocks exchange parcels of up to two sequences, under the maxima of all their loads. None becomes empty.
 */
#ifndef BL_TRADE_H
#define BL_TRADE_H

#include "plan/loads.h"

/* Makes the trade that leaves the least excess in both, if that is no more than now. */
void bl_trade_relieve(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b);

/* Makes any trade of sequences for sequences after which neither has too much. Returns whether there was one. */
bool bl_trade_any(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b);

#endif
