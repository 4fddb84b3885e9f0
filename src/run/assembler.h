/* The assembler: reads the pieces of blocks and pads the rest. Each worker has its own. */
#ifndef BL_ASSEMBLER_H
#define BL_ASSEMBLER_H

#include "base/memory_budget.h"
#include "base/meter.h"
#include "run/outcome.h"
#include "run/pack_params.h"
#include "store/block.h"

struct bl_assembler;

/* The sequence that an assembler reads a piece of, for another thread that watches it. */
struct bl_reading {
    atomic_llong sequence; /* its row + 1; 0: none, or several blocks are filled at once */
    atomic_llong since;    /* bl_meter_clock */
};

/* pack, memory and reading must outlive it; memory: of all workers, for inputs that need more than a reader takes. */
int bl_assembler_open(struct bl_assembler **assembler, const struct bl_pack_params *pack,
                      struct bl_memory_budget *memory, struct bl_reading *reading, struct bl_error *e);
/* NULL is accepted. */
void bl_assembler_close(struct bl_assembler *assembler);

/* Fills the fields of these planned blocks. What fails or is noted is added to outcomes in the order of the pieces; a
 * failed piece is marked in its block. meter: its sum, tick and sink; a step counts when its piece has been read, or,
 * where several blocks are filled at once, with them. */
int bl_assembler_fill(struct bl_assembler *assembler, struct bl_block *block, int blocks, const struct bl_meter *meter,
                      struct bl_outcomes *outcomes, struct bl_error *e);

/* The row of the sequence that took longest in the last fill, if that was of one block, else -1; and how long. */
int64_t bl_assembler_slowest(const struct bl_assembler *assembler, double *seconds);

#endif
