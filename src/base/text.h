/* Text: UTF-8, width on a terminal, Base64, numbers, escapes, quantities for people, and suggestions for mistyped
 * words. */
#ifndef BL_TEXT_H
#define BL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* --- UTF-8 -------------------------------------------------------------------------------------------------------- */

/* UTF-8: validation, replacement of invalid text, and code points. */

#define BL_UTF8_MAX 4 /* bytes of one code point */

/* The length of the valid prefix: size if all of the text is UTF-8, otherwise the offset of the first invalid byte. */
size_t bl_utf8_valid(const char *text, size_t size);

/* Why a text that begins with head is not UTF-8: the byte order mark of another encoding, as a reason. NULL: it has
 * none. */
const char *bl_utf8_other_mark(const void *head, size_t size);

/* Decodes the code point at text, which must be valid UTF-8. Returns its number of bytes. */
static inline size_t bl_utf8_decode(const char *text, uint32_t *point)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *point = s[0];
        return 1;
    }
    if (s[0] < 0xe0) {
        *point = (s[0] & 0x1fU) << 6 | (s[1] & 0x3fU);
        return 2;
    }
    if (s[0] < 0xf0) {
        *point = (s[0] & 0xfU) << 12 | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
        return 3;
    }
    *point = (s[0] & 7U) << 18 | (s[1] & 0x3fU) << 12 | (s[2] & 0x3fU) << 6 | (s[3] & 0x3fU);
    return 4;
}

/* Encodes a code point, at most U+10FFFF and no surrogate. Returns its number of bytes. */
size_t bl_utf8_encode(uint32_t point, char out[BL_UTF8_MAX]);

/* Bytes of the valid UTF-8 character at text (of size bytes), or 0 if it is not valid. */
size_t bl_utf8_length(const char *text, size_t size);

/* Bytes of the UTF-8 character at text (of size bytes) if it can be shown as it is. 0: a control character, a line end,
 * a change of writing direction, or not UTF-8. */
size_t bl_utf8_visible(const char *text, size_t size);

/* Replaces each character and byte that bl_utf8_visible refuses with "?", except those in keep. Returns the new size,
 * never larger; text that became shorter is NUL-terminated. */
size_t bl_utf8_mask(char *text, size_t size, const char *keep);

/* --- width on a terminal ------------------------------------------------------------------------------------------ */

/* Columns that a text takes on a terminal; they also estimate the width of a text in pictures, where it is not
 * measured. */

/* Of a character: those of some scripts take two; Latin and Greek letters with marks, and punctuation, do not. */
static inline int bl_columns_of_point(uint32_t point)
{
    return point >= 0x1100 && (point < 0x1e00 || point > 0x206f) ? 2 : 1;
}

/* Of a text, at most; a byte that is not UTF-8 takes one. */
int bl_columns_of(const char *text);

/* Appends the text, masked; of one that has more columns its end, which tells more of a path, after a mark for what is
 * missing. Together they have at most so many columns, if the mark has no more. */
void bl_columns_append_end(struct bl_buffer *out, const char *text, const char *mark, int columns);

/* --- Base64 ------------------------------------------------------------------------------------------------------- */

/* Base64, as in YAML's !!binary. */

void bl_base64_append(struct bl_buffer *out, const void *data, size_t size);

/* Decodes in place and skips spaces and line ends. Returns the number of bytes, or -1 if the text is not base64. */
int64_t bl_base64_decode(char *text, size_t size);

/* --- numbers, escapes and quantities ------------------------------------------------------------------------------ */

/* Strict parsing of numbers, escapes in tables, natural order, and quantities for people. */

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

/* Suggestions for mistyped words. */

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
