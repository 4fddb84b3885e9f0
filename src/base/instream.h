/* Files that are read in order: gzip and zstd decompressed on the way, line by line; and zlib data in memory. */
#ifndef BL_INSTREAM_H
#define BL_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/buffer.h"
#include "base/checksum.h"

/* --- zlib data in memory ------------------------------------------------------------------------------------------ */

/* Decompresses zlib data (RFC 1950) that is in memory. */

/* Decompresses the beginning of data into out, up to its capacity, and sets *got, the number of bytes in out: fewer
 * where the data ends or is damaged. BL_EFAIL: out of memory. */
int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e);

/* --- input streams ------------------------------------------------------------------------------------------------ */

/* An input stream: the bytes of a file in order, decompressed if they are gzip (also several members) or zstd (also
 * several frames). The first bytes give the format. Memory is bounded for any file. */

struct bl_instream;

/* Whether a file that begins with head is compressed. */
bool bl_instream_is_compressed(const void *head, size_t size);

/* Opens path ("-": standard input) for reading from byte begin; only a file read from 0 may be compressed. cancel, or
 * NULL: once it is raised, reading returns BL_ECANCEL, even while it waits for standard input. BL_EDATA: the name ends
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

/* Bytes of the file read so far, compressed bytes if the file is compressed. */
int64_t bl_instream_offset(const struct bl_instream *stream);

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The lines of a file, read in large chunks. */

/* The lines of a file or of stdin ("-"). */
struct bl_lines {
    int fd;
    const char *path; /* for messages; owned by the caller */
    char mark;        /* that ends a line */
    int64_t number;   /* of the last returned line, from 1 */
    int64_t offset;   /* of that line's first byte */
    char *data;
    size_t capacity, at, end;
    int64_t read_to; /* offset in the file of data + end */
    bool eof;
    struct bl_checksum_state *sum; /* of what was read; the caller's, NULL: not wanted */
};

#define BL_LINE_MAX (1 << 20)

int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e);
/* For lists of names: where there is a zero byte in what is read first, more than a line can have, zero bytes end the
 * lines, as find -print0 writes them. A byte order mark is skipped. BL_EFAIL also for UTF-16. */
int bl_lines_open_list(struct bl_lines *lines, const char *path, struct bl_error *e);
/* *line: the next line, without its newline, NUL-terminated in place, valid until the next call; NULL at the end.
 * *ended: whether it had a newline. A line over BL_LINE_MAX is BL_EFAIL. */
int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e);
/* Text that has been read beyond the last returned line, perhaps none, for callers that parse most lines themselves.
 * Such a caller then reports how many bytes and lines it took. At least 8 bytes past the text can be read. */
size_t bl_lines_ahead(const struct bl_lines *lines, const char **text);
void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count);
/* Appends the lines of a list of names, each with a NUL after it, without \r at their ends and empty ones. BL_EUSAGE:
 * no such file. */
int bl_lines_append_list(const char *path, struct bl_buffer *out, struct bl_error *e);
void bl_lines_close(struct bl_lines *lines);

#endif
