/* The content of an input, told by 64 bits: what the column content of the table holds, so that a file that was
 * replaced by one of the same size is found out. The same on every machine, as nothing but bytes counts: no time, no
 * number of an inode.
 *
 * Of a file: XXH3 of its size (8 bytes, little-endian) and of its first and last 64 KiB; of one of 128 KiB or less, of
 * all of it. Of a folder of images: XXH3 over the names and these digests. Of a document within a file: XXH3 of the
 * document. 0 stands for one that is not known. */
#ifndef BL_CONTENT_H
#define BL_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* A file's, which costs two reads. 0 for one that cannot be opened. BL_EFAIL: the system failed. */
int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e);

/* Of bytes that are in memory; size may be 0. */
uint64_t bl_content_hash(const void *data, size_t size);

/* Appends 16 hexadecimal digits, or nothing for 0. */
void bl_content_format(uint64_t content, struct bl_buffer *out);

/* Takes that back; false for a text that is neither. */
bool bl_content_parse(const char *text, uint64_t *content);

#endif
