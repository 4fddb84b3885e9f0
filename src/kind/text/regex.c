/* The matching of text by PCRE2, and the stand-ins that give it the Unicode of the released tokenizers.
 *
 * The pattern is compiled once for all threads. A text is matched in a copy in which characters of later versions of
 * Unicode are replaced by stand-ins of the same size in bytes, so that offsets of matches hold for the text itself.
 * Most texts have no such character: then there is no copy. Example: U+1CD00 (Unicode 16, category So) is not assigned
 * in the Unicode 14 of Debian 12's PCRE2, where \p{S} would not match it; an older symbol of four bytes takes its
 * place. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "kind/text/regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/text/unicode.h"

/* --- spans -------------------------------------------------------------------------------------------------------- */

int bl_spans_add(struct bl_spans *spans, size_t begin, size_t end, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(spans->span, spans->capacity, spans->count + 1, e));
    spans->span[spans->count++] = (struct bl_span){begin, end};
    return BL_OK;
}

void bl_spans_free(struct bl_spans *spans)
{
    free(spans->span);
    *spans = (struct bl_spans){0};
}

/* The names are in the order of enum bl_behavior. */
int bl_behavior_parse(const char *name, enum bl_behavior *behavior, struct bl_error *e)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) {
            *behavior = (enum bl_behavior)i;
            return BL_OK;
        }
    }
    return bl_error_set(e, BL_EFAIL, "the behavior \"%.80s\" is not supported", name);
}

/* A piece becomes a span, is joined to the last span, or is left out. "any" makes sure that a piece is never joined to
 * a span of the text before. */
int bl_splitting_add(struct bl_splitting *s, size_t begin, size_t end, bool match, struct bl_error *e)
{
    struct bl_spans *out = s->out;
    bool previous = s->previous, any = out->count > s->first;
    s->previous = match;
    switch (s->behavior) {
    case BL_BEHAVIOR_ISOLATED:
        break;
    case BL_BEHAVIOR_REMOVED:
        if (match)
            return BL_OK;
        break;
    /* CONTIGUOUS joins pieces of the same kind, MERGED_WITH_PREVIOUS a match to the text before it. */
    case BL_BEHAVIOR_CONTIGUOUS:
    case BL_BEHAVIOR_MERGED_WITH_PREVIOUS:
        if (any && (s->behavior == BL_BEHAVIOR_CONTIGUOUS ? match == previous : match && !previous)) {
            out->span[out->count - 1].end = end;
            return BL_OK;
        }
        break;
    case BL_BEHAVIOR_MERGED_WITH_NEXT:
        if (any && previous && !match) {
            out->span[out->count - 1].end = end;
            return BL_OK;
        }
        break;
    }
    return bl_spans_add(out, begin, end, e);
}

/* --- stand-ins ---------------------------------------------------------------------------------------------------- */

#define LEAD_OF_THREE 0xe0 /* the first byte of UTF-8 from U+0800 on; no byte that follows one is as high */

/* Code points appear in the pattern as \x{1F600} or as characters. Characters of ASCII are left out, because no
 * stand-in is ASCII. */
int bl_pattern_points_read(struct bl_pattern_points *points, const char *pattern, size_t size, struct bl_error *e)
{
    const char *end = pattern + size;
    for (const char *p = pattern; p < end;) {
        uint32_t point = 0;
        bool counts = false;
        if (*p == '\\' && end - p > 3 && p[1] == 'x' && p[2] == '{') {
            char *stop;
            /* A value above U+10FFFF makes PCRE2 refuse the pattern, so it needs no check here. */
            unsigned long value = strtoul(p + 3, &stop, 16);
            p = stop;
            point = (uint32_t)value;
            counts = value <= UINT32_MAX;
        } else if (*p == '\\') {
            p += 1 + (end - p > 1 && !(p[1] & 0x80));
        } else {
            p += bl_utf8_decode(p, &point);
            counts = point >= 0x80;
        }
        if (!counts)
            continue;
        BL_TRY(BL_ARRAY_RESERVE(points->point, points->capacity, points->count + 1, e));
        points->point[points->count++] = point;
    }
    return BL_OK;
}

void bl_pattern_points_free(struct bl_pattern_points *points)
{
    free(points->point);
    *points = (struct bl_pattern_points){0};
}

/* Returns the first of count code points that the pattern treats as this one, or the point itself. The pattern treats
 * two code points alike if both lie on the same side of each code point that it has. */
static uint32_t candidate_find(const struct bl_pattern_points *points, uint32_t point, const uint32_t *candidate,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool alike = true;
        for (size_t k = 0; k < points->count && alike; k++) {
            uint32_t limit = points->point[k];
            alike = (point < limit) == (candidate[i] < limit) && (point > limit) == (candidate[i] > limit);
        }
        if (alike)
            return candidate[i];
    }
    return point;
}

/* Returns the stand-in of a code point from U+0800 on, or the point itself if it needs none. The bit of its page
 * answers for most points without a search. The stand-in of a code point that Unicode 16 does not have is a
 * noncharacter of as many bytes in UTF-8. */
static uint32_t stand_in_find(const struct bl_pattern_points *points, uint32_t point)
{
    if (bl_stand_in_page[point >> 11] >> (point >> 8 & 7) & 1) {
        const struct bl_unicode_row *row = bl_unicode_find(bl_stand_in, bl_stand_in_count, point);
        if (row)
            return candidate_find(points, point, bl_stand_in_point + row->value, row->count);
    }
    if (!points->newer || bl_unicode_class(point) || bl_unicode_find(bl_unclassed, bl_unclassed_count, point))
        return point;
    /* The noncharacters are U+FDD0 to U+FDEF and the last two code points of each plane. Those of the first plane have
     * three bytes in UTF-8, the others have four. The candidates are the nearest noncharacter before the point, the
     * nearest one after it, and the first and the last of all, as a pattern may have limits in between. */
    uint32_t plane = point & 0x1f0000;
    bool low = point < 0xfdd0;
    const uint32_t of_three[] = {low ? 0xfdd0 : 0xfdef, low ? 0xfdd0 : 0xfffe, 0xfdd0, 0xffff};
    const uint32_t of_four[] = {plane > 0x10000 ? plane - 1 : 0x1fffe, plane | 0xfffe, 0x1fffe, 0x10ffff};
    return candidate_find(points, point, plane ? of_four : of_three, 4);
}

/* Returns the offset of the first byte from `at` on that is LEAD_OF_THREE or higher, or size: no code point below
 * U+0800 has a stand-in. It skips eight bytes at a time while they are ASCII. */
static size_t low_skip(const char *text, size_t size, size_t at)
{
    /* The highest bit of each of eight bytes: ASCII has none of them. */
    const uint64_t high = 0x8080808080808080;
    uint64_t eight;
    for (; size - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (eight & high)
            break;
    }
    while (at < size && (uint8_t)text[at] < LEAD_OF_THREE)
        at++;
    return at;
}

/* Returns the offset, from `at` on, of the next code point that has a stand-in, or size. *stands: the stand-in. */
static size_t stand_in_next(const struct bl_pattern_points *points, const char *text, size_t size, size_t at,
                            uint32_t *stands)
{
    uint32_t point;
    for (at = low_skip(text, size, at); at < size; at = low_skip(text, size, at)) {
        size_t bytes = bl_utf8_decode(text + at, &point);
        *stands = stand_in_find(points, point);
        if (*stands != point)
            return at;
        at += bytes;
    }
    return size;
}

/* The copy is made at the first code point with a stand-in. The search goes on in the original text, at the same
 * offsets. */
int bl_stand_in_apply(const struct bl_pattern_points *points, const char *text, size_t size, struct bl_buffer *copy,
                      const char **seen, struct bl_error *e)
{
    uint32_t stands;
    *seen = text;
    size_t at = stand_in_next(points, text, size, 0, &stands);
    if (at == size)
        return BL_OK;
    bl_buffer_clear(copy);
    bl_buffer_append(copy, text, size);
    if (copy->failed)
        return bl_error_memory(e);
    for (; at < size; at = stand_in_next(points, text, size, at, &stands)) {
        char bytes[BL_UTF8_MAX];
        size_t count = bl_utf8_encode(stands, bytes);
        memcpy(copy->data + at, bytes, count);
        at += count;
    }
    *seen = copy->data;
    return BL_OK;
}

/* --- regular expressions ------------------------------------------------------------------------------------------ */

/* Bytes of the stack of compiled patterns: nested groups over a long piece need much of it. The stack grows when it is
 * used, up to the maximum, where a match fails with an error. */
#define STACK_MIN ((size_t)32 << 10)
#define STACK_MAX ((size_t)16 << 20)

/* A compiled pattern. Nothing in it changes after bl_regex_open. */
struct bl_regex {
    pcre2_code *code;
    bool literal;                    /* the pattern is plain text */
    struct bl_pattern_points points; /* of the translated pattern */
};

/* The memory for matching of one thread. */
struct bl_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct bl_buffer seen; /* a text with stand-ins */
};

/* Compiles the pattern. Oniguruma ends lines at \n alone, whatever PCRE2's library has as its default. */
static int regex_compile(struct bl_regex *regex, const char *pattern, size_t size, bool literal,
                         const struct bl_buffer *translated, struct bl_error *e)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return bl_error_memory(e);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    uint32_t options = literal ? PCRE2_UTF | PCRE2_LITERAL : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE;
    int code;
    PCRE2_SIZE offset;
    regex->code = pcre2_compile((PCRE2_SPTR)(literal ? pattern : translated->data), literal ? size : translated->size,
                                options, &code, &offset, context);
    pcre2_compile_context_free(context);
    /* Out of memory is no fault of the pattern. */
    if (!regex->code && (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED))
        return bl_error_memory(e);
    if (!regex->code) {
        PCRE2_UCHAR message[160] = "";
        pcre2_get_error_message(code, message, sizeof message);
        /* The offset in the message is that in the original pattern. */
        return bl_error_set(e, BL_EDATA, "offset %zu of the pattern: PCRE2: %s",
                            literal ? offset : bl_regex_origin(pattern, size, offset), (const char *)message);
    }
    /* Without a JIT for this processor, PCRE2 interprets the pattern. */
    code = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    return code == PCRE2_ERROR_NOMEMORY ? bl_error_memory(e) : BL_OK;
}

/* Returns out with a version of PCRE2, or "?" if the version does not fit. */
static const char *regex_config(uint32_t what, char out[BL_REGEX_VERSION_MAX])
{
    memcpy(out, "?", 2);
    if (pcre2_config(what, NULL) <= BL_REGEX_VERSION_MAX)
        pcre2_config(what, out);
    return out;
}

/* The version is in the form "14.0.0". */
const char *bl_regex_unicode_version(char out[BL_REGEX_VERSION_MAX])
{
    return regex_config(PCRE2_CONFIG_UNICODE_VERSION, out);
}

/* Returns the major version of PCRE2's Unicode, such as 14. */
static long unicode_major(void)
{
    char version[BL_REGEX_VERSION_MAX];
    return strtol(bl_regex_unicode_version(version), NULL, 10);
}

/* After an error bl_regex_close frees the parts that were made before it. */
int bl_regex_open(struct bl_regex **regex, const char *pattern, size_t size, bool literal, struct bl_error *e)
{
    struct bl_buffer translated = {0};
    *regex = NULL;
    bl_buffer_text(&translated, "");
    int code = literal ? BL_OK : bl_regex_translate(pattern, size, &translated, e);
    if (code)
        goto out;
    code = bl_buffer_check(&translated, e);
    if (code)
        goto out;
    *regex = calloc(1, sizeof **regex);
    code = *regex ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    (*regex)->literal = literal;
    (*regex)->points.newer = unicode_major() > 16;
    code = literal ? BL_OK : bl_pattern_points_read(&(*regex)->points, translated.data, translated.size, e);
    if (code)
        goto out;
    code = regex_compile(*regex, pattern, size, literal, &translated, e);
out:
    if (code) {
        bl_regex_close(*regex);
        *regex = NULL;
    }
    bl_buffer_free(&translated);
    return code;
}

void bl_regex_close(struct bl_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    bl_pattern_points_free(&regex->points);
    free(regex);
}

/* If PCRE2 cannot answer, the expression is taken for one that matches the empty text, which is the safe side. */
bool bl_regex_matches_empty(const struct bl_regex *regex)
{
    uint32_t empty = 1;
    pcre2_pattern_info(regex->code, PCRE2_INFO_MATCHEMPTY, &empty);
    return empty;
}

/* One pair of offsets is enough: groups within a match are of no interest. */
int bl_matcher_open(struct bl_matcher **matcher, struct bl_error *e)
{
    struct bl_matcher *m = *matcher = calloc(1, sizeof *m);
    if (!m)
        return bl_error_memory(e);
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    m->stack = pcre2_jit_stack_create(STACK_MIN, STACK_MAX, NULL);
    if (!m->data || !m->context || !m->stack) {
        bl_matcher_close(m);
        *matcher = NULL;
        return bl_error_memory(e);
    }
    /* NULL: the stack is this matcher's, not one that a callback chooses. */
    pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return BL_OK;
}

void bl_matcher_close(struct bl_matcher *matcher)
{
    if (!matcher)
        return;
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    pcre2_jit_stack_free(matcher->stack);
    bl_buffer_free(&matcher->seen);
    free(matcher);
}

/* Plain text has no classes of characters, so it matches the text as it is. */
int bl_regex_see(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                 const char **seen, struct bl_error *e)
{
    *seen = text;
    return regex->literal ? BL_OK : bl_stand_in_apply(&regex->points, text, size, &matcher->seen, seen, e);
}

/* The text is known to be UTF-8, so PCRE2 does not check that again. */
int bl_regex_next(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                  struct bl_matches *m, bool *found, struct bl_error *e)
{
    /* The first pair of offsets is the whole match. */
    const PCRE2_SIZE *offset = pcre2_get_ovector_pointer(matcher->data);
    *found = false;
    while (m->at <= size) {
        int result = pcre2_match(regex->code, (PCRE2_SPTR)text, size, m->at, PCRE2_NO_UTF_CHECK, matcher->data,
                                 matcher->context);
        *found = result >= 0;
        if (result == PCRE2_ERROR_NOMATCH)
            return BL_OK;
        if (result == PCRE2_ERROR_NOMEMORY)
            return bl_error_memory(e);
        if (result < 0) {
            PCRE2_UCHAR message[160] = "";
            pcre2_get_error_message(result, message, sizeof message);
            return bl_error_set(e, BL_EFAIL, "the tokenizer's pattern, at offset %zu of the text: PCRE2: %s", m->at,
                                (const char *)message);
        }
        /* \K in a lookahead can put the beginning after the end, and such a match would never let the search go on. */
        if (offset[0] > offset[1] || offset[0] < m->at)
            return bl_error_set(e, BL_EFAIL,
                                "the tokenizer's pattern, at offset %zu of the text: a match ends before it begins",
                                m->at);
        m->match = (struct bl_span){offset[0], offset[1]};
        bool again = m->match.begin == m->match.end && m->any && m->match.end == m->done;
        if (!again) {
            m->at = m->done = m->match.end;
            m->any = true;
            return BL_OK;
        }
        /* Oniguruma and Rust's regex leave out an empty match right behind the last match. The search goes on one
         * character further. */
        uint32_t skipped;
        m->at += m->at < size ? bl_utf8_decode(text + m->at, &skipped) : 1;
        *found = false;
    }
    return BL_OK;
}

/* Adds all pieces of the text in order: the matches, and the text between them. Spans are offsets in the text: `seen`
 * has the same size. Empty spans of empty matches are removed at the end, because the behaviors need them in between.
 */
int bl_regex_split(const struct bl_regex *regex, struct bl_matcher *matcher, enum bl_behavior behavior, bool inverted,
                   const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    struct bl_splitting s = {.behavior = behavior, .out = out, .first = out->count};
    struct bl_matches m = {0};
    const char *seen;
    bool found = true;
    if (!size)
        return BL_OK;
    int code = bl_regex_see(regex, matcher, text, size, &seen, e);
    while (!code && found) {
        size_t done = m.done;
        code = bl_regex_next(regex, matcher, seen, size, &m, &found, e);
        if (code)
            break;
        size_t stop = found ? m.match.begin : size;
        if (done < stop)
            code = bl_splitting_add(&s, done, stop, inverted, e);
        if (!code && found)
            code = bl_splitting_add(&s, m.match.begin, m.match.end, !inverted, e);
    }
    /* Keeps the spans with text. */
    size_t kept = s.first;
    for (size_t i = s.first; i < out->count; i++) {
        if (out->span[i].begin < out->span[i].end)
            out->span[kept++] = out->span[i];
    }
    out->count = kept;
    return code;
}

/* A back-reference compares characters of the text, and two different ones may have the same stand-in. From version 14
 * of Unicode on, stand-ins cover the difference to version 16. */
bool bl_regex_is_exact(const struct bl_regex *regex)
{
    uint32_t references = 0;
    pcre2_pattern_info(regex->code, PCRE2_INFO_BACKREFMAX, &references);
    return regex->literal || (unicode_major() >= 14 && !references);
}

/* The version is in the form "10.42 2022-12-11". */
const char *bl_regex_version(char out[BL_REGEX_VERSION_MAX])
{
    return regex_config(PCRE2_CONFIG_VERSION, out);
}
