/* Decompression: of zlib data in memory, and of gzip and zstd files that are read as a stream. */
#ifndef BL_INSTREAM_H
#define BL_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

/* --- zlib data in memory ------------------------------------------------------------------------------------------ */

/* Decompresses zlib data (RFC 1950) that is in memory. */

/* Decompresses the beginning of data into out, up to its capacity, and sets *got, the number of bytes in out: fewer
 * where the data ends or is damaged. BL_EFAIL: out of memory. */
int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e);

/* --- input streams ------------------------------------------------------------------------------------------------ */

/* An input stream: the bytes of a file in order, decompressed if they are gzip (also several members) or zstd (also
 * several frames). The first bytes give the format. Memory is bounded for any file. */

struct bl_instream;

/* Returns whether a file that begins with head is compressed. */
bool bl_instream_is_compressed(const void *head, size_t size);

/* Reads the first bytes of a file as they are. *got: how many; 0 also if the file cannot be opened, which reading it
 * will report. BL_EFAIL: the disk or the network failed. */
int bl_instream_head(const char *path, void *head, size_t size, size_t *got, struct bl_error *e);

/* Opens path ("-": standard input) for reading from byte begin; only a file read from 0 may be compressed. cancel, or
 * NULL: once it is set, reading returns BL_ECANCEL, even while it waits for standard input. BL_EDATA: the name ends
 * in .gz or .zst, but the content is neither. path must outlive the stream. */
int bl_instream_open(struct bl_instream **stream, const char *path, int64_t begin, const struct bl_cancel *cancel,
                     struct bl_error *e);
void bl_instream_close(struct bl_instream *stream);

/* Reads the rest of standard input and sets the checksum (XXH3) of all of it. For any other file the checksum is 0. */
int bl_instream_drain(struct bl_instream *stream, uint64_t *checksum, struct bl_error *e);

/* Reads up to size bytes into data; *got is 0 only at the end. BL_EDATA: damaged or truncated, with the offset; then
 * *got bytes came before the damage, and they are the same however the file was read. */
int bl_instream_read(struct bl_instream *stream, void *data, size_t size, size_t *got, struct bl_error *e);

/* After BL_EDATA: whether all bytes were decoded, up to the end of the file or to bytes that are no gzip or zstd. */
bool bl_instream_is_whole(const struct bl_instream *stream);

/* Returns the bytes of the file that were read so far: compressed bytes if the file is compressed. */
int64_t bl_instream_offset(const struct bl_instream *stream);

#endif
