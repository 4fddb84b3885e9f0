#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- width on a terminal ------------------------------------------------------------------------------------------ */

/* Sets the columns of the first character, and returns its bytes. */
static size_t character_measure(const char *text, size_t size, int *columns)
{
    uint32_t point = 0;
    size_t length = bl_utf8_length(text, size);
    if (length)
        bl_utf8_decode(text, &point);
    *columns = bl_columns_of_point(point);
    return length ? length : 1;
}

int bl_columns_of(const char *text)
{
    int columns = 0, next;
    size_t size = strlen(text);
    for (size_t at = 0; at < size; columns += next)
        at += character_measure(text + at, size - at, &next);
    return columns;
}

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

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void bl_base64_append(struct bl_buffer *out, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (; size; at += size < 3 ? size : 3, size -= size < 3 ? size : 3) {
        uint32_t bits = (uint32_t)at[0] << 16 | (size > 1 ? (uint32_t)at[1] << 8 : 0) | (size > 2 ? at[2] : 0);
        char group[] = {base64_digits[bits >> 18], base64_digits[bits >> 12 & 63], base64_digits[bits >> 6 & 63],
                        base64_digits[bits & 63]};
        if (size < 3)
            memset(group + 1 + size, '=', 3 - size);
        bl_buffer_append(out, group, sizeof group);
    }
}

int64_t bl_base64_decode(char *text, size_t size)
{
    uint32_t bits = 0;
    size_t seen = 0, padding = 0, out = 0;
    for (size_t at = 0; at < size; at++) {
        const char *digit = text[at] ? strchr(base64_digits, text[at]) : NULL;
        if (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')
            continue;
        padding += text[at] == '=';
        if (padding ? text[at] != '=' : !digit)
            return -1;
        bits = bits << 6 | (uint32_t)(digit ? digit - base64_digits : 0);
        if (++seen % 4)
            continue;
        for (size_t byte = 0; byte < 3; byte++)
            text[out++] = (char)(bits >> (16 - 8 * byte));
    }
    if (seen % 4 || padding > 2 || (bits & ((1U << (8 * padding)) - 1)))
        return -1; /* the remaining bits must be 0 */
    return (int64_t)(out - padding);
}

/* --- numbers, escapes and quantities ------------------------------------------------------------------------------ */

/* Whether a byte is a digit of ASCII, in any locale. */
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
        if (!text_is_digit(text[at]) || magnitude > (UINT64_MAX - 9) / 10)
            return false;
        magnitude = magnitude * 10 + (uint64_t)(text[at] - '0');
    }
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return false;
    *value = number;
    return true;
}

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

/* Compares the runs of digits at *a and *b by value and moves past them. */
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
        x++;
        y++;
    }
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

/* The number of leading ASCII bytes that bl_text_escape leaves as they are. */
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

int64_t bl_text_unescape(char *text, size_t size)
{
    static const char letters[] = {'t', 'n', 'r', '\\'}, meant[] = {'\t', '\n', '\r', '\\'};
    const char *first = size ? memchr(text, '\\', size) : NULL;
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

char *bl_text_count(char *buffer, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    char *out = buffer;
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
    while (size >= (u ? 1023.95 : 1024) && u < 6) { /* a value that rounds to 1024.0 is 1.0 of the next unit */
        size /= 1024;
        u++;
    }
    snprintf(buffer, 32, u ? "%.1f %s" : "%.0f %s", size, unit[u]);
    return buffer;
}

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

void bl_text_append_rate(struct bl_buffer *out, double rate, const char *of)
{
    char count[32];
    if (rate < 9.95)
        bl_buffer_printf(out, "%.1f %s/s", rate, of);
    else
        bl_buffer_printf(out, "%s %s/s", bl_text_count(count, (int64_t)fmin(rate + 0.5, 1e18)), of);
}

/* "y" after a consonant becomes "ies", a sibilant gets "es", all others "s". */
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
        size -= bad;
    }
    return bl_buffer_check(out, NULL);
}

/* --- suggestions -------------------------------------------------------------------------------------------------- */

#define NEAREST_MAX 48       /* characters of a word */
#define NEAREST_PREFIX_MIN 3 /* characters of a prefix that is worth a suggestion */

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Counts the edits that turn a into b, both of at most NEAREST_MAX characters: insertions, deletions, replacements and
 * swaps of neighbours, none of which touches a character twice ("optimal string alignment"). */
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
    int allowed = (int)size / 3;
    if (nearest->size >= NEAREST_PREFIX_MIN && size > nearest->size &&
        memcmp(candidate, nearest->word, nearest->size) == 0)
        edits = 1;
    if (edits <= allowed && (!nearest->best || edits < nearest->edits)) {
        nearest->best = candidate;
        nearest->edits = edits;
    }
}
