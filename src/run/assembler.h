/* The assembler: reads the pieces of blocks and pads the rest. Each worker has its own. */
#ifndef BL_ASSEMBLER_H
#define BL_ASSEMBLER_H

#include "base/memory_budget.h"
#include "base/meter.h"
#include "run/outcome.h"
#include "run/pack_params.h"
#include "store/block.h"

struct bl_assembler;

/* pack and memory must outlive it; memory: of all workers, for inputs that need more than a reader takes. */
int bl_assembler_open(struct bl_assembler **assembler, const struct bl_pack_params *pack,
                      struct bl_memory_budget *memory, struct bl_error *e);
/* NULL is accepted. */
void bl_assembler_close(struct bl_assembler *assembler);

/* Fills the fields of these planned blocks. What fails or is noted is added to outcomes in the order of the pieces; a
 * failed piece is marked in its block. meter: its sum, tick and sink; a step counts when its piece has been read, or,
 * where several blocks are filled at once, with them. */
int bl_assembler_fill(struct bl_assembler *assembler, struct bl_block *block, int blocks, const struct bl_meter *meter,
                      struct bl_outcomes *outcomes, struct bl_error *e);

#endif
