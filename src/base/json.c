/* A parser of one JSON text (RFC 8259), which checks every byte and keeps the places of a few values.
 *
 * It descends recursively and builds no tree: a value is a range of the text. For the keys "meta.id" and "text", the
 * line {"meta": {"id": 7}, "text": "a\n"} gives the ranges `7` and `a\n`, the second one marked as escaped. Nearly all
 * of a line is inside strings, so they are scanned eight bytes at a time (the tests for bytes within words are from
 * "Bit Twiddling Hacks", S. E. Anderson). */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define KEY_SHOWN 40 /* bytes of a key in messages; some files use whole sentences as keys */

/* The state of a scan: the text from begin to end, of which the bytes before `at` are read, and the keys to find. The
 * key meta.id is open by 1 part within the object under "meta", and by 0 elsewhere. */
struct scan {
    const char *begin, *at, *end;
    const struct bl_json_key *key; /* [keys] */
    int keys;
    struct bl_json_value *value; /* [keys] what was found under each key */
    int open[BL_JSON_KEYS_MAX];  /* parts of each key that match the enclosing objects */
    struct bl_json_fault *fault;
};

/* A dot after a backslash belongs to the name, so that the search goes on behind it. */
bool bl_json_key_parse(struct bl_json_key *key, const char *text, size_t size)
{
    *key = (struct bl_json_key){0};
    for (size_t at = 0;;) {
        const char *dot = memchr(text + at, '.', size - at);
        while (dot && dot > text && dot[-1] == '\\')
            dot = memchr(dot + 1, '.', size - (size_t)(dot + 1 - text));
        size_t part = dot ? (size_t)(dot - text) - at : size - at;
        if (!part || key->parts == BL_JSON_PARTS_MAX)
            return false;
        key->part[key->parts] = text + at;
        key->size[key->parts++] = part;
        if (!dot)
            return true;
        at += part + 1;
    }
}

/* Begins a scan without keys at an offset in text. */
static void scan_begin(struct scan *s, const char *text, size_t at, size_t size, struct bl_json_fault *fault)
{
    s->begin = text;
    s->at = text + at;
    s->end = text + size;
    s->key = NULL;
    s->keys = 0;
    s->value = NULL;
    s->fault = fault;
}

/* Records what is wrong at the present byte, and returns false. The first fault counts. */
static bool scan_fail(struct scan *s, const char *what)
{
    if (!s->fault->what)
        *s->fault = (struct bl_json_fault){.at = (size_t)(s->at - s->begin), .what = what};
    return false;
}

/* The four characters of white space that the grammar has; isspace() accepts more. */
static void scan_skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

/* Skips white space and then the character c. Returns false with the fault `what` if another character is there. */
static bool scan_expect(struct scan *s, char c, const char *what)
{
    scan_skip_space(s);
    if (s->at == s->end || *s->at != c)
        return scan_fail(s, what);
    s->at++;
    return true;
}

/* --- strings ---------------------------------------------------------------------------------------------------- */

#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte)) /* a word of eight such bytes */

/* Returns a word whose lowest set bit is the top bit of the first zero byte in word, or 0 if no byte is zero. Higher
 * bits may be wrong, because the subtraction borrows from the next byte. */
static uint64_t word_zero_bytes(uint64_t word)
{
    return (word - EACH(1)) & ~word & EACH(0x80);
}

const char *bl_json_next_special(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        /* The third test finds bytes below 0x20: subtracting 0x20 borrows into their top bits. */
        uint64_t special = word_zero_bytes(word ^ EACH('"')) | word_zero_bytes(word ^ EACH('\\')) |
                           ((word - EACH(0x20)) & ~word & EACH(0x80));
        /* The first byte of the text is the lowest of the word: all supported processors are little-endian. */
        if (special)
            return at + __builtin_ctzll(special) / 8;
    }
    /* The last seven bytes at most. */
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return at;
}

/* Parses four hexadecimal digits. Returns the number, or -1 if they are no digits or the text ends. */
static int hex_parse(const char *at, const char *end)
{
    int number = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = bl_text_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* Scans a string from its opening quote on. The value is the text between the quotes, with its escapes, which are
 * checked here and decoded only on request (bl_json_unescape). */
static bool scan_string(struct scan *s, struct bl_json_value *value)
{
    *value = (struct bl_json_value){.type = BL_JSON_STRING, .text = ++s->at};
    for (;;) {
        s->at = bl_json_next_special(s->at, s->end);
        if (s->at == s->end)
            return scan_fail(s, "the line ends in a string");
        if (*s->at == '"')
            break;
        /* Line ends and tabs are escaped in JSON; a control character here shows a line that was cut or another format.
         */
        if (*s->at != '\\')
            return scan_fail(s, "a control character in a string");
        value->escaped = true;
        if (s->end - s->at < 2)
            return scan_fail(s, "the line ends in a string");
        /* The fault is at the backslash, where a user finds the escape. */
        if (s->at[1] == 'u' && hex_parse(s->at + 2, s->end) < 0)
            return scan_fail(s, "expected four hexadecimal digits after \\u");
        if (!memchr("\"\\/bfnrtu", s->at[1], 9))
            return scan_fail(s, "an invalid escape");
        /* \u and four digits, or \ and one letter. */
        s->at += s->at[1] == 'u' ? 6 : 2;
    }
    value->size = (size_t)(s->at++ - value->text);
    return true;
}

/* --- other values ----------------------------------------------------------------------------------------------- */

/* At least one digit must be there. */
static bool scan_digits(struct scan *s)
{
    const char *first = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > first ? true : scan_fail(s, "expected a digit");
}

/* Scans a number by the grammar of JSON (RFC 8259, 6): a zero has no digits behind it, and a point has some. */
static bool scan_number(struct scan *s)
{
    s->at += *s->at == '-';
    bool zero = s->at < s->end && *s->at == '0';
    if (zero)
        s->at++;
    /* 01 is no number: the digits after the zero are a fault of what follows. */
    else if (!scan_digits(s))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!scan_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at | 32) == 'e') {
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        return scan_digits(s);
    }
    return true;
}

/* Scans a word. NaN and the infinities are no JSON, and Python's json.dumps writes them; the fault object notes them,
 * so that a caller can say why other readers refuse the line. */
static bool scan_word(struct scan *s, enum bl_json_type *type)
{
    static const char *const word[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (int i = 0; i < 6; i++) {
        size_t size = strlen(word[i]);
        if ((size_t)(s->end - s->at) < size || memcmp(s->at, word[i], size) != 0)
            continue;
        s->at += size;
        s->fault->not_finite |= i >= 3;
        *type = i >= 3 ? BL_JSON_NOT_FINITE : BL_JSON_WORD;
        return true;
    }
    return scan_fail(s, "expected a value");
}

/* Returns whether a number begins here. A minus sign alone counts, because its fault is that of a number; -Infinity
 * does not count. */
static bool scan_is_number(const struct scan *s)
{
    const char *digit = s->at + (*s->at == '-');
    if (digit < s->end && *digit >= '0' && *digit <= '9')
        return true;
    return *s->at == '-' && (digit == s->end || *digit != 'I');
}

static bool scan_value(struct scan *s, int depth, struct bl_json_value *value);

/* Scans an array from its [ on. The elements are checked, and only the range of the array is kept. depth counts the
 * enclosing values: a hostile text must not exhaust the stack. */
static bool scan_array(struct scan *s, int depth)
{
    /* Nothing is kept of an element. */
    struct bl_json_value element;
    s->at++;
    scan_skip_space(s);
    if (s->at < s->end && *s->at == ']') {
        s->at++;
        return true;
    }
    for (;;) {
        if (!scan_value(s, depth + 1, &element))
            return false;
        scan_skip_space(s);
        if (s->at == s->end || (*s->at != ',' && *s->at != ']'))
            return scan_fail(s, "expected , or ]");
        if (*s->at++ == ']')
            return true;
    }
}

/* --- objects and keys ------------------------------------------------------------------------------------------- */

/* Most parts contain no escaped dot, so that equal sizes decide. Otherwise
 * the part has such dots and is longer than the name, or the names differ. */
bool bl_json_part_is(const char *part, size_t part_size, const char *name, size_t size)
{
    if (part_size == size)
        return memcmp(part, name, size) == 0;
    size_t n = 0;
    for (size_t p = 0; p < part_size; p++, n++) {
        /* Skips the backslash before a dot. */
        p += part[p] == '\\' && p + 1 < part_size && part[p + 1] == '.';
        if (n == size || part[p] != name[n])
            return false;
    }
    return n == size;
}

/* Returns whether the name of a member is that part of a key. Without memory it is not: the row then counts as one
 * without this key. */
static bool name_is_part(const struct bl_json_value *name, const struct bl_json_key *key, int part)
{
    if (!name->escaped)
        return bl_json_part_is(key->part[part], key->size[part], name->text, name->size);
    /* Names are seldom escaped. */
    struct bl_buffer plain = {0};
    size_t lone;
    bl_json_unescape(name, &plain, &lone);
    bool same = !plain.failed && bl_json_part_is(key->part[part], key->size[part], plain.data, plain.size);
    bl_buffer_free(&plain);
    return same;
}

/* Handles a member of the object at this depth. Keys that continue with its name are opened while its value is scanned,
 * and keys that end at it take the value. If a member is repeated, the last one counts, so that a value that an earlier
 * one has set is removed first. `here` has a bit for each opened key. */
static bool scan_member(struct scan *s, int depth, const struct bl_json_value *name, bool wanted)
{
    uint32_t here = 0;
    struct bl_json_value value;
    for (int k = 0; k < s->keys && wanted; k++) {
        if (s->open[k] == depth && depth < s->key[k].parts && name_is_part(name, &s->key[k], depth)) {
            here |= 1u << k;
            s->open[k]++;
            s->value[k] = (struct bl_json_value){0};
        }
    }
    if (!scan_value(s, depth + 1, &value))
        return false;
    for (int k = 0; here; k++, here >>= 1) {
        if (!(here & 1))
            continue;
        s->open[k]--;
        if (s->key[k].parts == depth + 1)
            s->value[k] = value;
    }
    return true;
}

/* Scans an object from its { on. If no key continues through it, the names of its members are not compared, which saves
 * time in large nested objects. */
static bool scan_object(struct scan *s, int depth)
{
    struct bl_json_value name;
    bool wanted = false;
    /* A key is wanted here if all its parts so far have matched the enclosing objects. */
    for (int k = 0; k < s->keys && !wanted; k++)
        wanted = s->open[k] == depth && depth < s->key[k].parts;
    s->at++;
    scan_skip_space(s);
    if (s->at < s->end && *s->at == '}') {
        s->at++;
        return true;
    }
    for (;;) {
        scan_skip_space(s);
        if (s->at == s->end || *s->at != '"')
            return scan_fail(s, "expected a key in quotes");
        if (!scan_string(s, &name) || !scan_expect(s, ':', "expected :") || !scan_member(s, depth, &name, wanted))
            return false;
        scan_skip_space(s);
        if (s->at == s->end || (*s->at != ',' && *s->at != '}'))
            return scan_fail(s, "expected , or }");
        if (*s->at++ == '}')
            return true;
    }
}

/* Scans any value. Its range begins behind the white space; that of a string excludes the quotes. */
static bool scan_value(struct scan *s, int depth, struct bl_json_value *value)
{
    if (depth > BL_JSON_DEPTH_MAX)
        return scan_fail(s, "nested too deeply");
    scan_skip_space(s);
    if (s->at == s->end)
        return scan_fail(s, "the line ends where a value is expected");
    if (*s->at == '"')
        return scan_string(s, value);
    *value = (struct bl_json_value){.text = s->at};
    bool good;
    if (*s->at == '{') {
        value->type = BL_JSON_OBJECT;
        good = scan_object(s, depth);
    } else if (*s->at == '[') {
        value->type = BL_JSON_ARRAY;
        good = scan_array(s, depth);
    } else if (scan_is_number(s)) {
        value->type = BL_JSON_NUMBER;
        good = scan_number(s);
    } else {
        good = scan_word(s, &value->type);
    }
    value->size = (size_t)(s->at - value->text);
    return good;
}

bool bl_json_scan(const char *line, size_t size, const struct bl_json_key *key, int keys, struct bl_json_value *value,
                  struct bl_json_fault *fault)
{
    struct scan s = {
        .begin = line, .at = line, .end = line + size, .key = key, .keys = keys, .value = value, .fault = fault};
    struct bl_json_value root;
    *fault = (struct bl_json_fault){0};
    /* Keys that the line does not contain keep type BL_JSON_NONE. */
    for (int k = 0; k < keys; k++)
        value[k] = (struct bl_json_value){0};
    scan_skip_space(&s);
    if (s.at == s.end || *s.at != '{')
        return scan_fail(&s, s.at < s.end && *s.at == '[' ? "an array; JSONL has an object in every line"
                                                          : "expected an object");
    if (!scan_value(&s, 0, &root))
        return false;
    scan_skip_space(&s);
    return s.at == s.end ? true : scan_fail(&s, "expected the end of the line after the object");
}

bool bl_json_scan_value(const char *text, size_t size, struct bl_json_value *value, struct bl_json_fault *fault)
{
    struct scan s;
    *fault = (struct bl_json_fault){0};
    /* The depth of a value that stands alone is 0. */
    scan_begin(&s, text, 0, size, fault);
    if (!scan_value(&s, 0, value))
        return false;
    scan_skip_space(&s);
    return s.at == s.end ? true : scan_fail(&s, "expected the end of the value");
}

/* The text may be the beginning of a file, so that a fault only ends the search. Example: {"version": 1, "data": [{...
 * has the table "data". */
bool bl_json_find_table(const char *text, size_t size, struct bl_json_value *name)
{
    struct bl_json_fault fault = {0};
    struct bl_json_value value;
    struct scan s;
    scan_begin(&s, text, 0, size, &fault);
    if (!scan_expect(&s, '{', ""))
        return false;
    do {
        scan_skip_space(&s);
        if (s.at == s.end || *s.at != '"' || !scan_string(&s, name) || !scan_expect(&s, ':', ""))
            return false;
        scan_skip_space(&s);
        const char *begin = s.at;
        if (begin < s.end && *begin == '[') {
            s.at++;
            scan_skip_space(&s);
            if (s.at < s.end && (*s.at == '{' || *s.at == '['))
                return true;
            /* Another value: it is scanned from its bracket again. */
            s.at = begin;
        }
    } while (scan_value(&s, 1, &value) && scan_expect(&s, ',', ""));
    return false;
}

/* A message that names the keys of a line helps a user who has given another key. */
void bl_json_append_keys(const char *line, size_t size, int max, struct bl_buffer *out)
{
    struct bl_json_fault fault = {0};
    struct scan s = {.begin = line, .at = line, .end = line + size, .fault = &fault};
    /* A line that does not begin as an object has no keys to show. */
    struct bl_json_value name, value;
    if (!scan_expect(&s, '{', "expected an object"))
        return;
    for (int i = 0; i <= max; i++) {
        scan_skip_space(&s);
        /* There is a further key than max. */
        if (s.at == s.end || *s.at != '"' || !scan_string(&s, &name) || !scan_expect(&s, ':', "expected :") ||
            !scan_value(&s, 1, &value))
            return;
        if (i == max)
            bl_buffer_text(out, ", ...");
        else
            bl_buffer_printf(out, "%s\"%.*s%s\"", i ? ", " : "", name.size < KEY_SHOWN ? (int)name.size : KEY_SHOWN,
                             name.text, name.size > KEY_SHOWN ? "..." : "");
        if (!scan_expect(&s, ',', "expected ,"))
            return;
    }
}

/* --- decoding values -------------------------------------------------------------------------------------------- */

/* Decodes \uXXXX at *at, or a pair of surrogates in two escapes, and moves *at behind it. The formula for pairs is that
 * of UTF-16. *is_lone: it is a surrogate without its partner, which is no code point. The escapes are valid, since
 * scan_string has checked them. */
static uint32_t escape_decode(const char **at, const char *end, bool *is_lone)
{
    uint32_t high = (uint32_t)hex_parse(*at + 2, end);
    *at += 6;
    *is_lone = high >= 0xd800 && high < 0xe000;
    /* No high surrogate, or no further escape behind it. */
    if (high < 0xd800 || high >= 0xdc00 || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return high;
    uint32_t low = (uint32_t)hex_parse(*at + 2, end);
    if (low < 0xdc00 || low >= 0xe000)
        return high;
    *at += 6;
    *is_lone = false;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Each escape is at least as long as the character that it encodes: \n has 2 bytes and becomes 1, \u20ac has 6 and
 * becomes 3, and a pair of surrogates has 12 and becomes 4. So out needs no more room than the value has. */
void bl_json_unescape(const struct bl_json_value *value, struct bl_buffer *out, size_t *lone)
{
    static const char stands_for[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};
    const char *at = value->text, *end = value->text + value->size;
    *lone = SIZE_MAX;
    /* The room for value->size bytes includes each character that the loop appends. */
    if (!bl_buffer_reserve(out, value->size))
        return;
    char *to = out->data + out->size;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at)), *stop = escape ? escape : end;
        memcpy(to, at, (size_t)(stop - at));
        to += stop - at;
        at = stop;
        if (at < end && at[1] != 'u') {
            *to++ = stands_for[(unsigned char)at[1]];
            at += 2;
        } else if (at < end) {
            bool is_lone;
            size_t place = (size_t)(at - value->text);
            uint32_t point = escape_decode(&at, end, &is_lone);
            if (is_lone && *lone == SIZE_MAX)
                *lone = place;
            to += bl_utf8_encode(is_lone ? 0xfffd : point, to);
        }
    }
    out->size = (size_t)(to - out->data);
    *to = '\0';
}

/* Text without escapes is not copied. */
bool bl_json_text(const struct bl_json_value *value, struct bl_buffer *plain, struct bl_json_value *text)
{
    size_t lone = SIZE_MAX;
    *text = *value;
    if (value->escaped) {
        /* plain is the caller's, so that one buffer is used for all lines. */
        bl_buffer_clear(plain);
        bl_json_unescape(value, plain, &lone);
        text->text = plain->data;
        text->size = plain->size;
    }
    return value->type == BL_JSON_STRING && lone == SIZE_MAX && !plain->failed;
}

/* Goes to the next element of an array or member of an object. at: the offset in its text behind the last one, 0 at
 * the start. Returns false at the end. */
static bool scan_next(struct scan *s, const struct bl_json_value *within, size_t at, struct bl_json_fault *fault)
{
    scan_begin(s, within->text, at ? at : 1 /* the bracket */, within->size, fault);
    scan_skip_space(s);
    /* The array was checked before, so that commas separate elements and need no check. */
    if (s->at < s->end && *s->at == ',')
        s->at++;
    scan_skip_space(s);
    return s->at < s->end && *s->at != ']' && *s->at != '}';
}

bool bl_json_next(const struct bl_json_value *array, size_t *at, struct bl_json_value *value)
{
    struct bl_json_fault fault = {0};
    struct scan s;
    /* The value stands by itself, so that its depth begins at 0 again. */
    if (!scan_next(&s, array, *at, &fault))
        return false;
    bool valid = scan_value(&s, 0, value);
    *at = (size_t)(s.at - array->text);
    return valid;
}

bool bl_json_next_member(const struct bl_json_value *object, size_t *at, struct bl_json_value *name,
                         struct bl_json_value *value)
{
    struct bl_json_fault fault = {0};
    struct scan s;
    bool valid = scan_next(&s, object, *at, &fault) && *s.at == '"' && scan_string(&s, name) &&
                 scan_expect(&s, ':', "expected :") && scan_value(&s, 0, value);
    *at = (size_t)(s.at - object->text);
    return valid;
}

/* Finds the text of the array's next element, *size bytes; NULL at the end. Returns BL_EDATA if the element is no
 * number. Lists of token ids may have millions of numbers, which is why they do not go through scan_value. */
static int array_next_number(const struct bl_json_value *array, size_t *at, const char **text, size_t *size)
{
    *text = NULL;
    *at += *at == 0; /* the bracket */
    while (*at < array->size && strchr(" \t\r\n,", array->text[*at]))
        ++*at;
    if (*at >= array->size || array->text[*at] == ']')
        return BL_OK;
    *text = array->text + *at;
    *size = 0;
    while (*at < array->size && !strchr(" \t\r\n,]", array->text[*at])) {
        ++*at;
        ++*size;
    }
    return **text == '-' || (**text >= '0' && **text <= '9') ? BL_OK : BL_EDATA;
}

int bl_json_next_int(const struct bl_json_value *array, size_t *at, int64_t *number, bool *found)
{
    const char *text;
    size_t size;
    int code = array_next_number(array, at, &text, &size);
    *found = text != NULL;
    if (code || !text)
        return code;
    bool negative = *text == '-';
    /* 18 digits always fit an int64_t. */
    uint64_t value = 0;
    if (size - negative > 18)
        return BL_EDATA;
    for (size_t i = negative; i < size; i++) {
        /* A fraction or an exponent: the number may still be whole, and no writer of ids writes it so. */
        if (text[i] < '0' || text[i] > '9')
            return BL_EDATA;
        /* No overflow: there are at most 18 digits. */
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *number = negative ? -(int64_t)value : (int64_t)value;
    return BL_OK;
}

/* In the order of enum bl_json_type. */
const char *bl_json_type_name(enum bl_json_type type)
{
    static const char *const name[] = {"missing",  "a string",  "a number",          "true, false or null",
                                       "an array", "an object", "NaN or an infinity"};
    return name[type];
}

/* Marks within strings count, too: the result is an upper bound that costs no parsing. */
size_t bl_json_marks(const char *text, size_t size)
{
    size_t marks = 0;
    for (size_t i = 0; i < size; i++)
        marks += text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{';
    return marks;
}
