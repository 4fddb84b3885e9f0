/* A feed: the bytes of a file in order, decompressed on the way where they are gzip (of many members) or zstd (of many
 * frames), which the first bytes tell. Memory is bounded whatever the file says. */
#ifndef BL_INSTREAM_H
#define BL_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

struct bl_instream;

/* Whether a file that begins so is compressed. */
bool bl_instream_is_compressed(const void *head, size_t size);

/* Opens path ("-": standard input) to be read from byte begin. What begins at 0 may be compressed. cancel: once it is
 * raised, reading returns BL_ECANCEL, also while it waits for standard input; or NULL. BL_EDATA: the file's
 * name says gzip or zstd (.gz, .zst), and it is not. The path outlives the feed. */
int bl_instream_open(struct bl_instream **feed, const char *path, int64_t begin, const struct bl_cancel *cancel,
                     struct bl_error *e);
void bl_instream_close(struct bl_instream *feed);

/* Reads on to the end of standard input, whatever is left of it, for the checksum (XXH3) of all of it; of a feed of
 * another file 0. */
int bl_instream_drain(struct bl_instream *feed, uint64_t *checksum, struct bl_error *e);

/* Puts up to size bytes into data; *got is 0 at the end alone. BL_EDATA: damaged or cut off, with the place. */
int bl_instream_read(struct bl_instream *feed, void *data, size_t size, size_t *got, struct bl_error *e);

/* Bytes of the file that were taken in so far, from its beginning. */
int64_t bl_instream_offset(const struct bl_instream *feed);

#endif
