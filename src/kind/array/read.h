/* Reading pieces of arrays: from files that have the steps one after the other straight into the block, from others in
 * tiles, so that memory is bounded whatever their size and order. */
#ifndef BL_ARRAY_READ_H
#define BL_ARRAY_READ_H

#include "kind/kind.h"

#define BL_ARRAY_READER_MEMORY ((int64_t)4 << 20) /* a tile, and what libzip and zlib take */

/* See struct bl_kind. */
int bl_array_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e);
int bl_array_reader_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e);
void bl_array_reader_close(struct bl_reader *reader);

#endif
