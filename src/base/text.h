/* Text: width on a terminal, Base64, numbers, escapes, quantities for people, and suggestions for mistyped
 * words. */
#ifndef BL_TEXT_H
#define BL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/utf8.h"

/* --- width on a terminal ------------------------------------------------------------------------------------------ */

/* Columns that a text takes on a terminal; they also estimate the width of a text in pictures, where it is not
 * measured. */

/* Returns the columns of a character: 2 for most scripts from U+1100 on, such as Chinese; 1 for Latin and Greek letters
 * with marks, and for punctuation. */
static inline int bl_columns_of_point(uint32_t point)
{
    return point >= 0x1100 && (point < 0x1e00 || point > 0x206f) ? 2 : 1;
}

/* Returns the columns of a text, at most; a byte that is not UTF-8 takes one. */
int bl_columns_of(const char *text);

/* Appends the text, masked. If the text has more columns, it appends a mark, such as "...", and the end, since the end
 * of a path says more than its beginning. Both together have at most so many columns, if the mark has no more. */
void bl_columns_append_end(struct bl_buffer *out, const char *text, const char *mark, int columns);

/* --- Base64 ------------------------------------------------------------------------------------------------------- */

/* Base64, as in YAML's !!binary. */

/* Appends the digits of size bytes, padded by = to a multiple of four. */
void bl_base64_append(struct bl_buffer *out, const void *data, size_t size);

/* Decodes in place and skips spaces and line ends. Returns the number of bytes, or -1 if the text is not base64. */
int64_t bl_base64_decode(char *text, size_t size);

/* --- numbers, escapes and quantities ------------------------------------------------------------------------------ */

/* Parses a decimal integer with an optional minus and nothing around it. False: it is not one, or out of [min, max]. */
bool bl_text_to_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value);

/* Whether text is before, a number of at least digits digits as "%0*d" writes it, and after: "shard-00000012.record".
 * False for a negative number. */
bool bl_text_numbered(const char *text, const char *before, int digits, const char *after, int64_t *number);

/* Parses bytes with an optional suffix K, M, G, T (or KiB...: powers of 1024). */
bool bl_text_to_bytes(const char *text, int64_t *value);

/* Natural order: runs of digits compare by value, everything else by byte, without locale. Texts that compare equal
 * this way (a1, a01) compare by bytes. Negative, 0 or positive, as strcmp. */
int bl_text_natural(const char *a, const char *b);

/* Sets the next line of a text from *at, without its newline and a carriage return before it, and advances *at. False:
 * the end. */
bool bl_text_next_line(const char *text, size_t size, size_t *at, const char **line, size_t *line_size);

/* Whether a list of words, with commas between, has the word. */
bool bl_text_list_has(const char *list, const char *word);

/* Moves both ends of the text past the bytes that are in blanks, and past zero bytes. */
void bl_text_trim(const char **text, size_t *size, const char *blanks);

/* Whether a line has nothing but spaces, tabs and carriage returns. */
bool bl_text_is_blank(const char *line, size_t size);

/* Appends a table value: tab, newline, carriage return and backslash as \t \n \r \\, a byte that is not UTF-8 as
 * \xHH. */
void bl_text_escape(struct bl_buffer *out, const char *text, size_t size);

/* The value of a hexadecimal digit, or -1. */
static inline int bl_text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Decodes bl_text_escape in place. Returns the new size, or -1 for an invalid escape. */
int64_t bl_text_unescape(char *text, size_t size);

/* Appends the text with U+FFFD for every maximal subpart of an ill-formed character (The Unicode Standard, 3.9: "U+FFFD
 * Substitution of Maximal Subparts"; as Python's errors="replace" and Rust's from_utf8_lossy), and adds their number to
 * *replaced. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_text_replace_invalid(const char *text, size_t size, struct bl_buffer *out, int64_t *replaced);

/* Appends the text with hidden characters masked: for names in text that people read. */
void bl_text_append_masked(struct bl_buffer *out, const char *text);

/* "1,234,567" and "1.5 GiB". The buffer must hold 32 bytes and is returned. */
char *bl_text_count(char *buffer, int64_t value);
char *bl_text_size(char *buffer, int64_t bytes);

/* Appends "45 s", "7 min", "3 h 12 min", "2 d 4 h". */
void bl_text_append_duration(struct bl_buffer *out, double seconds);

/* Appends "1,234 frames/s", or "1.5 files/s" below ten. */
void bl_text_append_rate(struct bl_buffer *out, double rate, const char *of);

#define BL_PLURAL_SIZE 96 /* bytes: a count and a noun of up to 63 */

/* "1 file", "1,234 files": a count and its noun. The noun is a singular, which gets the regular ending ("entry" ->
 * "entries", "batch" -> "batches"), or "SINGULAR|PLURAL". The buffer must hold BL_PLURAL_SIZE bytes and is returned. */
char *bl_text_plural(char *buffer, int64_t count, const char *noun);

/* Appends the same. */
void bl_text_append_plural(struct bl_buffer *out, int64_t count, const char *noun);

/* --- suggestions -------------------------------------------------------------------------------------------------- */

/* Start from {.word, .size}; then offer each valid word with bl_nearest_offer. */
struct bl_nearest {
    const char *word; /* as typed */
    size_t size;
    const char *best; /* the best match so far; NULL: none is near */
    int edits;        /* between the two */
};

/* Keeps the candidate if it is the best match so far. It matches if it begins with the word, or if at most a third of
 * its characters are inserted, deleted, replaced or swapped with a neighbour. The candidate must outlive *nearest. */
void bl_nearest_offer(struct bl_nearest *nearest, const char *candidate);

#endif
