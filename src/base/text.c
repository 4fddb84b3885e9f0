/* Text for users and tables: numbers, sizes, durations, plurals, escapes, and the comparison of names.
 *
 * Nothing here depends on the locale: digits are those of ASCII, and the decimal point is a point, so that tables and
 * messages are the same on every machine. Functions that fill a caller's buffer return that buffer, so that a call may
 * stand in the arguments of printf:
 *
 *     bl_error_set(e, BL_EDATA, "%s are missing", bl_text_plural(text, 3, "frame"));      "3 frames are missing" */
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- width on a terminal ------------------------------------------------------------------------------------------ */

/* Sets the columns that the first character of text occupies on a terminal, and returns its bytes. A byte that is not
 * UTF-8 counts as a character of its own, which is printed as "?". */
static size_t character_measure(const char *text, size_t size, int *columns)
{
    uint32_t point = 0;
    size_t length = bl_utf8_length(text, size);
    if (length)
        bl_utf8_decode(text, &point);
    *columns = bl_columns_of_point(point);
    return length ? length : 1;
}

/* A character may take 0, 1 or 2 columns: a combining accent, a letter, a CJK character. */
int bl_columns_of(const char *text)
{
    int columns = 0, next;
    size_t size = strlen(text);
    for (size_t at = 0; at < size; columns += next)
        at += character_measure(text + at, size - at, &next);
    return columns;
}

/* Shortens a text from the left: the end of a path tells more than its beginning. Example: "...b/file.mp4". */
void bl_columns_append_end(struct bl_buffer *out, const char *text, const char *mark, int columns)
{
    int all = bl_columns_of(text), next;
    if (all > columns) {
        bl_buffer_text(out, mark);
        columns -= bl_columns_of(mark);
    }
    for (; all > columns && *text; all -= next)
        text += character_measure(text, strlen(text), &next);
    bl_text_append_masked(out, text);
}

/* --- Base64 ------------------------------------------------------------------------------------------------------- */

/* Base64 with padding and without line breaks. */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes become four digits of 6 bits (RFC 4648, 4). The last group is filled up with "=". */
void bl_base64_append(struct bl_buffer *out, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (; size; at += size < 3 ? size : 3, size -= size < 3 ? size : 3) {
        uint32_t bits = (uint32_t)at[0] << 16 | (size > 1 ? (uint32_t)at[1] << 8 : 0) | (size > 2 ? at[2] : 0);
        char group[] = {base64_digits[bits >> 18], base64_digits[bits >> 12 & 63], base64_digits[bits >> 6 & 63],
                        base64_digits[bits & 63]};
        /* One byte fills two digits, and two bytes fill three. */
        if (size < 3)
            memset(group + 1 + size, '=', 3 - size);
        bl_buffer_append(out, group, sizeof group);
    }
}

/* Decodes in place, because the decoded bytes never need more room. White space between the digits is allowed. */
int64_t bl_base64_decode(char *text, size_t size)
{
    uint32_t bits = 0;
    size_t seen = 0, padding = 0, out = 0;
    for (size_t at = 0; at < size; at++) {
        const char *digit = text[at] ? strchr(base64_digits, text[at]) : NULL;
        if (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')
            continue;
        /* After the first "=" only further ones may follow. */
        padding += text[at] == '=';
        if (padding ? text[at] != '=' : !digit)
            return -1;
        /* The remaining digits of a group arrive before its bytes are written; "=" counts as 0 bits. */
        bits = bits << 6 | (uint32_t)(digit ? digit - base64_digits : 0);
        if (++seen % 4)
            continue;
        for (size_t byte = 0; byte < 3; byte++)
            text[out++] = (char)(bits >> (16 - 8 * byte));
    }
    /* The group is complete, has at most two "=", and the bits under them are 0: each value has one encoding. */
    if (seen % 4 || padding > 2 || (bits & ((1U << (8 * padding)) - 1)))
        return -1; /* the remaining bits must be 0 */
    return (int64_t)(out - padding);
}

/* --- numbers, escapes and quantities ------------------------------------------------------------------------------ */

/* Returns whether a byte is a digit of ASCII; isdigit() depends on the locale. */
static bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool bl_text_to_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value)
{
    bool negative = size && text[0] == '-';
    size_t at = negative ? 1 : 0;
    if (at == size)
        return false;
    uint64_t magnitude = 0;
    for (; at < size; at++) {
        /* Another digit must not overflow: 10 * magnitude + 9 fits 64 bits. */
        if (!text_is_digit(text[at]) || magnitude > (UINT64_MAX - 9) / 10)
            return false;
        magnitude = magnitude * 10 + (uint64_t)(text[at] - '0');
    }
    /* INT64_MIN has the magnitude 2^63, one more than INT64_MAX. */
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return false;
    *value = number;
    return true;
}

/* Parses a name such as "shard-00000012.record": a number of at least `digits` digits between two texts. Only longer
 * numbers may have more digits, without a zero in front, so that each number has exactly one name. */
bool bl_text_numbered(const char *text, const char *before, int digits, const char *after, int64_t *number)
{
    size_t skip = strlen(before), size = strlen(text), tail = strlen(after);
    if (size < skip + tail + (size_t)digits || strncmp(text, before, skip) != 0 ||
        strcmp(text + size - tail, after) != 0)
        return false;
    size_t width = size - skip - tail;
    return text[skip] != '-' && (width == (size_t)digits || text[skip] != '0') &&
           bl_text_to_int(text + skip, width, 0, INT64_MAX, number);
}

/* Accepts 512, 4K, 4k, 4KiB and 4Kib; all units are powers of 1024. */
bool bl_text_to_bytes(const char *text, int64_t *value)
{
    size_t digits = strspn(text, "0123456789");
    const char *suffix = text + digits;
    static const char units[] = "KMGT";
    int shift = 0;
    if (*suffix) {
        const char *unit = strchr(units, *suffix >= 'a' && *suffix <= 'z' ? *suffix - 'a' + 'A' : *suffix);
        if (!unit || (suffix[1] && strcmp(suffix + 1, "iB") != 0 && strcmp(suffix + 1, "ib") != 0))
            return false;
        shift = 10 * (int)(unit - units + 1);
    }
    int64_t number;
    if (!bl_text_to_int(text, digits, 0, INT64_MAX >> shift, &number))
        return false;
    *value = number << shift;
    return true;
}

/* Compares the runs of digits at *a and *b by value, and moves both pointers behind them. Without leading zeros, a
 * longer number is larger, and numbers of one length compare as text; no number is too long this way. */
static int digits_compare(const char **a, const char **b)
{
    const char *x = *a, *y = *b;
    while (*x == '0')
        x++;
    while (*y == '0')
        y++;
    size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
    *a = x + m;
    *b = y + n;
    if (m != n)
        return m < n ? -1 : 1;
    return memcmp(x, y, m);
}

/* The natural order of names: "frame2" comes before "frame10". Names that are equal in this order, such as "a1" and
 * "a01", are compared byte by byte, so that the order is total. */
int bl_text_natural(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        if (text_is_digit(*x) && text_is_digit(*y)) {
            int order = digits_compare(&x, &y);
            if (order)
                return order;
            continue;
        }
        if (*x != *y)
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        /* One text has ended: the shorter one comes first. */
        x++;
        y++;
    }
    /* Names that differ only in leading zeros arrive here with nothing left to compare. */
    if (*x || *y)
        return *x ? 1 : -1;
    return strcmp(a, b);
}

void bl_text_append_masked(struct bl_buffer *out, const char *text)
{
    size_t before = out->size;
    bl_buffer_text(out, text);
    if (!out->failed && out->size > before)
        out->size = before + bl_utf8_mask(out->data + before, out->size - before, "");
}

/* Sets *line to the next line without its "\n" or "\r\n". *at is the offset of the line after it. */
bool bl_text_next_line(const char *text, size_t size, size_t *at, const char **line, size_t *line_size)
{
    if (*at >= size)
        return false;
    const char *newline = memchr(text + *at, '\n', size - *at);
    *line = text + *at;
    *line_size = newline ? (size_t)(newline - *line) : size - *at;
    *at += *line_size + 1;
    if (*line_size && (*line)[*line_size - 1] == '\r')
        --*line_size;
    return true;
}

/* Returns whether a list such as "a,b,c" contains the word. */
bool bl_text_list_has(const char *list, const char *word)
{
    const size_t wanted = strlen(word);
    while (list) {
        size_t size = strcspn(list, ",");
        if (size == wanted && memcmp(list, word, size) == 0)
            return true;
        list = list[size] ? list + size + 1 : NULL;
    }
    return false;
}

/* Removes the bytes of `blanks` at both ends by moving *text and reducing *size. */
void bl_text_trim(const char **text, size_t *size, const char *blanks)
{
    while (*size && strchr(blanks, (*text)[*size - 1]))
        --*size;
    for (; *size && strchr(blanks, **text); ++*text)
        --*size;
}

bool bl_text_is_blank(const char *line, size_t size)
{
    size_t blank = 0;
    while (blank < size && (line[blank] == ' ' || line[blank] == '\t' || line[blank] == '\r'))
        blank++;
    return blank == size;
}

/* Returns the number of leading ASCII bytes that bl_text_escape leaves as they are. The first loop tests 8 bytes at
 * once: for a byte below ' ', equal to '\\', or outside ASCII, the expression has the top bit of some byte set. A false
 * alarm only ends the fast loop early. */
static size_t text_plain_run(const char *text, size_t size)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    size_t at = 0;
    for (; size - at >= sizeof ones; at += sizeof ones) {
        uint64_t word, slash;
        memcpy(&word, text + at, sizeof word);
        slash = word ^ ones * '\\'; /* a zero byte for each backslash */
        if ((((word - ones * ' ') & ~word) | ((slash - ones) & ~slash) | word) & tops)
            break;
    }
    while (at < size && !(text[at] & 0x80) && text[at] != '\t' && text[at] != '\n' && text[at] != '\r' &&
           text[at] != '\\')
        at++;
    return at;
}

/* Text is copied up to the next byte that needs an escape. Bytes that are not UTF-8 become \x and two digits: "\xFF".
 */
void bl_text_escape(struct bl_buffer *out, const char *text, size_t size)
{
    static const char meant[] = {'\t', '\n', '\r', '\\'}, letters[] = {'t', 'n', 'r', '\\'};
    size_t done = 0; /* bytes that are appended */
    for (size_t at = 0; at < size;) {
        at += text_plain_run(text + at, size - at);
        size_t length = at < size && text[at] & 0x80 ? bl_utf8_length(text + at, size - at) : 0;
        at += length;
        if (length || at == size)
            continue;
        bl_buffer_append(out, text + done, at - done);
        const char c = text[at++], *found = memchr(meant, c, sizeof meant);
        if (found)
            bl_buffer_append(out, (char[]){'\\', letters[found - meant]}, 2);
        else
            bl_buffer_printf(out, "\\x%02X", (unsigned char)c);
        done = at;
    }
    bl_buffer_append(out, text + done, size - done);
}

/* The inverse, in place: an escape is longer than its byte. Returns the new size, or -1 for an unknown escape. */
int64_t bl_text_unescape(char *text, size_t size)
{
    static const char letters[] = {'t', 'n', 'r', '\\'}, meant[] = {'\t', '\n', '\r', '\\'};
    const char *first = size ? memchr(text, '\\', size) : NULL;
    /* Nearly all values of a table contain no backslash, and memchr decides that quickly. */
    size_t out = first ? (size_t)(first - text) : size; /* most values have none */
    for (size_t at = out; at < size; at++) {
        if (text[at] != '\\') {
            text[out++] = text[at];
            continue;
        }
        const char *letter = ++at < size ? memchr(letters, text[at], sizeof letters) : NULL;
        if (letter) {
            text[out++] = meant[letter - letters];
            continue;
        }
        int high = size - at < 3 || text[at] != 'x' ? -1 : bl_text_hex_digit(text[at + 1]);
        int low = high < 0 ? -1 : bl_text_hex_digit(text[at + 2]);
        if (low < 0)
            return -1;
        text[out++] = (char)(high * 16 + low);
        at += 2;
    }
    return (int64_t)out;
}

/* Writes 1234567 as "1,234,567". */
char *bl_text_count(char *buffer, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    char *out = buffer;
    /* A comma stands before each group of three digits, and never behind the sign. */
    for (int i = 0; i < size; i++) {
        if (i && digits[i - 1] != '-' && (size - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

char *bl_text_size(char *buffer, int64_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes;
    int u = 0;
    /* 1023.95 is the first value that "%.1f" rounds to 1024.0, which is written as 1.0 of the next unit. */
    while (size >= (u ? 1023.95 : 1024) && u < 6) { /* a value that rounds to 1024.0 is 1.0 of the next unit */
        size /= 1024;
        u++;
    }
    snprintf(buffer, 32, u ? "%.1f %s" : "%.0f %s", size, unit[u]);
    return buffer;
}

/* Shows two units at most: a user who waits for two days does not need the seconds. */
void bl_text_append_duration(struct bl_buffer *out, double seconds)
{
    int64_t s = seconds < 1e15 ? (int64_t)(seconds + 0.5) : (int64_t)1e15;
    if (s < 60)
        bl_buffer_printf(out, "%" PRId64 " s", s);
    else if (s < 3600)
        bl_buffer_printf(out, "%" PRId64 " min", s / 60);
    else if (s < 86400)
        bl_buffer_printf(out, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
    else
        bl_buffer_printf(out, "%" PRId64 " d %" PRId64 " h", s / 86400, s / 3600 % 24);
}

/* Below 9.95 one decimal shows ("9.9 files/s"); from there on the rounded integer has two digits already. */
void bl_text_append_rate(struct bl_buffer *out, double rate, const char *of)
{
    char count[32];
    if (rate < 9.95)
        bl_buffer_printf(out, "%.1f %s/s", rate, of);
    else
        bl_buffer_printf(out, "%s %s/s", bl_text_count(count, (int64_t)fmin(rate + 0.5, 1e18)), of);
}

/* Returns the ending of a regular plural, and shortens *size where a letter is dropped: "entry" becomes "entries",
 * "box" and "batch" get "es", all others "s". Irregular nouns are written as "index|indices" by the caller. */
static const char *plural_ending(const char *noun, size_t *size)
{
    char last = noun[*size - 1], before = *size > 1 ? noun[*size - 2] : 0;
    if (last == 'y' && !strchr("aeiou", before)) {
        --*size;
        return "ies";
    }
    bool hisses = last == 's' || last == 'x' || (last == 'h' && (before == 'c' || before == 's'));
    return hisses ? "es" : "s";
}

char *bl_text_plural(char *buffer, int64_t count, const char *noun)
{
    char number[32];
    /* A noun with "|" gives its plural itself. */
    const char *plural = strchr(noun, '|'), *ending = "";
    size_t size = plural ? (size_t)(plural - noun) : strlen(noun);
    if (count != 1 && plural) {
        noun = plural + 1;
        size = strlen(noun);
    } else if (count != 1 && size) {
        ending = plural_ending(noun, &size);
    }
    snprintf(buffer, BL_PLURAL_SIZE, "%s %.*s%s", bl_text_count(number, count), (int)size, noun, ending);
    return buffer;
}

void bl_text_append_plural(struct bl_buffer *out, int64_t count, const char *noun)
{
    char text[BL_PLURAL_SIZE];
    bl_buffer_text(out, bl_text_plural(text, count, noun));
}

/* Replaces each maximal part of bad UTF-8 by U+FFFD, as Python's errors="replace" does. */
int bl_text_replace_invalid(const char *text, size_t size, struct bl_buffer *out, int64_t *replaced)
{
    while (size) {
        size_t valid = bl_utf8_valid(text, size);
        bl_buffer_append(out, text, valid);
        text += valid;
        size -= valid;
        if (!size)
            break;
        bool whole;
        size_t bad = bl_utf8_part(text, size, &whole);
        bl_buffer_append(out, "\xef\xbf\xbd", 3);
        ++*replaced;
        text += bad;
        /* A maximal part has 1 to 3 bytes, so that the loop always proceeds. */
        size -= bad;
    }
    return bl_buffer_check(out, NULL);
}

/* --- suggestions -------------------------------------------------------------------------------------------------- */

#define NEAREST_MAX 48       /* characters of a word: names of options and columns are shorter */
#define NEAREST_PREFIX_MIN 3 /* characters of a prefix that is worth a suggestion */

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Counts the edits that turn a into b, both of at most NEAREST_MAX characters: insertions, deletions, replacements and
 * swaps of neighbours, none of which touches a character twice ("optimal string alignment"). Three rows of the table
 * are kept: row i, the one before, and the one before that, which swaps need. */
static int edits_count(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int rows[3][NEAREST_MAX + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a_size; i++) {
        int *spare = before;
        before = last;
        last = row;
        row = spare;
        row[0] = (int)i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = min_int(last[j - 1] + (a[i - 1] != b[j - 1]), min_int(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_int(row[j], before[j - 2] + 1);
        }
    }
    return row[b_size];
}

void bl_nearest_offer(struct bl_nearest *nearest, const char *candidate)
{
    size_t size = strlen(candidate);
    if (size > NEAREST_MAX || nearest->size > NEAREST_MAX)
        return;
    int edits = edits_count(nearest->word, nearest->size, candidate, size);
    /* A third of the characters may be wrong: "--stategy" suggests "--strategy", and "--size" does not suggest
     * "--seed". */
    int allowed = (int)size / 3;
    /* A word that begins the candidate, such as "--strat", counts as one edit. */
    if (nearest->size >= NEAREST_PREFIX_MIN && size > nearest->size &&
        memcmp(candidate, nearest->word, nearest->size) == 0)
        edits = 1;
    if (edits <= allowed && (!nearest->best || edits < nearest->edits)) {
        nearest->best = candidate;
        nearest->edits = edits;
    }
}
