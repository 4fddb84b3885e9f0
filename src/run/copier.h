/* The copier: fills blocks with the stored steps of a view, without decoding any. Each worker has its own. */
#ifndef BL_COPIER_H
#define BL_COPIER_H

#include "base/meter.h"
#include "run/options.h"
#include "store/block.h"
#include "store/shard_writer.h"
#include "store/view.h"

struct bl_copier;

/* Bytes that a copier of the view takes at most, beside a codec's. */
int64_t bl_copier_memory(const struct bl_view *view);

/* Opens the view pack->view once more. pack must outlive the copier. */
int bl_copier_open(struct bl_copier **copier, const struct bl_pack_params *pack, struct bl_error *e);
/* NULL is accepted. */
void bl_copier_close(struct bl_copier *copier);

/* Fills the fields of these planned blocks, as encoded ones: JPEG files go into the shard. meter: as of
 * bl_assembler_fill. BL_EFAIL: a source cannot be read, or is damaged. */
int bl_copier_fill(struct bl_copier *copier, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                   const struct bl_meter *meter, struct bl_error *e);

#endif
