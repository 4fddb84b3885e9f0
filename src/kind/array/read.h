/* Reading pieces of arrays: straight into the block where the file has consecutive steps, otherwise in tiles, so that
 * memory is bounded whatever the array's size and order. */
#ifndef BL_ARRAY_READ_H
#define BL_ARRAY_READ_H

#include "kind/kind.h"

#define BL_ARRAY_READER_MEMORY ((int64_t)4 << 20) /* bytes: a tile, libzip and zlib */

/* See struct bl_kind_read. */
int bl_array_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e);
int bl_array_reader_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e);
void bl_array_reader_close(struct bl_reader *reader);

#endif
