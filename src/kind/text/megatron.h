/* Token ids in the pairs of .idx and .bin files that Megatron writes. */
#ifndef BL_MEGATRON_H
#define BL_MEGATRON_H

#include "kind/text/item.h"

/* One row for each sequence of the .idx file at path, from the .bin file beside it; or, as the options say, for each
 * document, whose sequences are joined. The offset of a row is that of the sequence's length in the .idx, or of the
 * document's entry. BL_EDATA: the files are damaged; the row that was begun last has the offset. */
int bl_megatron_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                      void *context, struct bl_error *e);

/* A hash of the size and time of the .bin file of the .idx file at path; 0: there is none. */
uint64_t bl_megatron_stamp(const char *path);

/* The same of its content (kind/content.h). */
int bl_megatron_content(const char *path, uint64_t *content, struct bl_error *e);

#endif
