/* The digest of an input's content, in 64 bits: the column content of the table, by which a file that was replaced by
 * one of the same size is noticed. It depends on bytes alone, not on times or inodes, and is the same on every machine.
 *
 * For a file: XXH3 of its size (8 bytes, little-endian) and its first and last 64 KiB, or all of it if it has at most
 * 128 KiB. For a folder of images: XXH3 of the names and these digests. For a document within a file: XXH3 of the
 * document. 0: not known. */
#ifndef BL_CONTENT_H
#define BL_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* The digest of a file, by two reads; 0 if it cannot be opened. BL_EFAIL: the system fails. */
int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e);

/* The digest of bytes in memory; size may be 0. */
uint64_t bl_content_hash(const void *data, size_t size);

/* Appends 16 hexadecimal digits, or nothing for 0. */
void bl_content_format(uint64_t content, struct bl_buffer *out);

/* Parses that; false: malformed. */
bool bl_content_parse(const char *text, uint64_t *content);

#endif
