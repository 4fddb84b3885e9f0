/* Text: numbers read strictly, values written into tables, names put in order, quantities for people. */
#ifndef BL_TEXT_H
#define BL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* A whole decimal integer, optional minus, nothing before or after it. False when it is none or out of [min, max]. */
bool bl_text_to_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value);

/* Whether text is before, a number of digits digits or more, and behind, with the number just as "%0*d" writes it:
 * "shard-00000012.record". False for one that is negative. */
bool bl_text_numbered(const char *text, const char *before, int digits, const char *behind, int64_t *number);

/* Bytes with an optional suffix K, M, G, T (or KiB...: powers of 1024). */
bool bl_text_to_bytes(const char *text, int64_t *value);

/* Natural order: runs of digits by value, everything else by byte, no locale; texts that are equal so (a1, a01) by
 * bytes. Negative, 0, positive as strcmp. */
int bl_text_natural(const char *a, const char *b);

/* The next line of a text from *at on, without its newline and a return before that; false at the end. Advances *at. */
bool bl_text_next_line(const char *text, size_t size, size_t *at, const char **line, size_t *line_size);

/* A value in a table: tab, newline, return, backslash as \t \n \r \\, a byte that is not UTF-8 as \xHH. */
void bl_text_escape(struct bl_buffer *out, const char *text, size_t size);

/* Undoes bl_text_escape in place. Returns the new size, or -1 for a backslash sequence that is none. */
int64_t bl_text_unescape(char *text, size_t size);

/* Bytes of the valid UTF-8 character at text (of size bytes), or 0 when there is none. */
size_t bl_text_utf8(const char *text, size_t size);

/* The code point of a valid UTF-8 character, of length bytes. */
uint32_t bl_text_code_point(const char *text, size_t length);

/* Bytes of the longest beginning of a UTF-8 character at text, of size > 0 bytes; whole tells whether it is all of one.
 * At least 1: a byte that begins none. */
size_t bl_text_utf8_part(const char *text, size_t size, bool *whole);

/* Bytes of the UTF-8 character at text (of size bytes) that can be shown to people as it is; 0: what stands there is a
 * control character, ends a line, turns the direction of writing, or is not UTF-8. */
size_t bl_text_visible(const char *text, size_t size);

/* Puts "?" in place of each character and byte that bl_text_visible refuses, but for those in keep. Returns the new
 * size, which is not larger, and ends the text there where it has become less. */
size_t bl_text_mask(char *text, size_t size, const char *keep);

/* Appends the text, masked: a name in what people read. */
void bl_text_append_masked(struct bl_buffer *out, const char *text);

/* "1,234,567" and "1.5 GiB"; the buffer must hold 32 bytes. They return it. */
char *bl_text_count(char *buffer, int64_t value);
char *bl_text_size(char *buffer, int64_t bytes);

#define BL_PLURAL_SIZE 96 /* bytes: a count and a noun of up to 63 */

/* "1 file", "1,234 files": the count with its noun, which is given in the singular and gets
 * the regular ending ("entry" -> "entries", "batch" -> "batches"), or as "SINGULAR|PLURAL". The buffer must hold
 * BL_PLURAL_SIZE bytes, and is returned. */
char *bl_text_plural(char *buffer, int64_t count, const char *noun);

/* Appends the same. */
void bl_text_append_plural(struct bl_buffer *out, int64_t count, const char *noun);

#endif
