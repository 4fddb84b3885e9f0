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

/* Appends the text with U+FFFD for every maximal subpart of a character that is ill-formed (The Unicode Standard, 3.9:
 * "U+FFFD Substitution of Maximal Subparts"; as Python's errors="replace" and Rust's from_utf8_lossy), and adds their
 * number to *replaced. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_text_replace_invalid(const char *text, size_t size, struct bl_buffer *out, int64_t *replaced);

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
