#include "kind/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "kind/text/regex_syntax.h"
#include "kind/text/stand_in.h"
#include "base/utf8.h"

/* Nested groups over a long piece need a stack, which grows when it is used. */
#define STACK_MIN ((size_t)32 << 10)
#define STACK_MAX ((size_t)16 << 20)

struct bl_regex {
    pcre2_code *code;
    bool literal;
    struct bl_pattern_points points;
};

struct bl_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct bl_buffer seen; /* a text with stand-ins */
};

static int regex_report_error(int code, const char *pattern, size_t size, bool literal, size_t offset,
                              struct bl_error *e)
{
    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)
        return bl_error_memory(e);
    PCRE2_UCHAR message[160] = "";
    pcre2_get_error_message(code, message, sizeof message);
    return bl_error_set(e, BL_EDATA, "offset %zu of the pattern: PCRE2: %s",
                        literal ? offset : bl_regex_origin(pattern, size, offset), (const char *)message);
}

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
    if (!regex->code)
        return regex_report_error(code, pattern, size, literal, offset, e);
    /* Without a JIT for this processor, PCRE2 interprets the pattern. */
    code = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    return code == PCRE2_ERROR_NOMEMORY ? bl_error_memory(e) : BL_OK;
}

static const char *regex_config(uint32_t what, char out[BL_REGEX_VERSION_MAX])
{
    memcpy(out, "?", 2);
    if (pcre2_config(what, NULL) <= BL_REGEX_VERSION_MAX)
        pcre2_config(what, out);
    return out;
}

const char *bl_regex_unicode_version(char out[BL_REGEX_VERSION_MAX])
{
    return regex_config(PCRE2_CONFIG_UNICODE_VERSION, out);
}

/* The major version of PCRE2's Unicode. */
static long unicode_major(void)
{
    char version[BL_REGEX_VERSION_MAX];
    return strtol(bl_regex_unicode_version(version), NULL, 10);
}

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

bool bl_regex_matches_empty(const struct bl_regex *regex)
{
    uint32_t empty = 1;
    pcre2_pattern_info(regex->code, PCRE2_INFO_MATCHEMPTY, &empty);
    return empty;
}

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

/* Finds the next match at or after an offset. */
static int regex_match(const struct bl_regex *regex, struct bl_matcher *m, const char *text, size_t size, size_t at,
                       bool *found, struct bl_span *match, struct bl_error *e)
{
    int result = pcre2_match(regex->code, (PCRE2_SPTR)text, size, at, PCRE2_NO_UTF_CHECK, m->data, m->context);
    *found = result >= 0;
    if (result == PCRE2_ERROR_NOMATCH)
        return BL_OK;
    if (result == PCRE2_ERROR_NOMEMORY)
        return bl_error_memory(e);
    if (result < 0) {
        PCRE2_UCHAR message[160] = "";
        pcre2_get_error_message(result, message, sizeof message);
        return bl_error_set(e, BL_EFAIL, "the tokenizer's pattern, at offset %zu of the text: PCRE2: %s", at,
                            (const char *)message);
    }
    const PCRE2_SIZE *offset = pcre2_get_ovector_pointer(m->data);
    /* \K in a lookahead can put the beginning after the end. */
    if (offset[0] > offset[1] || offset[0] < at)
        return bl_error_set(e, BL_EFAIL,
                            "the tokenizer's pattern, at offset %zu of the text: a match ends before it "
                            "begins",
                            at);
    *match = (struct bl_span){offset[0], offset[1]};
    return BL_OK;
}

int bl_regex_see(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                 const char **seen, struct bl_error *e)
{
    *seen = text;
    return regex->literal ? BL_OK : bl_stand_in_apply(&regex->points, text, size, &matcher->seen, seen, e);
}

/* Finds the next match that counts, from m->at on. *found: there is one. */
int bl_regex_next(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                  struct bl_matches *m, bool *found, struct bl_error *e)
{
    while (m->at <= size) {
        m->match = (struct bl_span){m->at, m->at};
        int code = regex_match(regex, matcher, text, size, m->at, found, &m->match, e);
        if (code || !*found)
            return code;
        /* An empty match right after the last match does not count. */
        if (m->match.begin == m->match.end && m->any && m->match.end == m->done) {
            uint32_t skipped;
            m->at += m->at < size ? bl_utf8_decode(text + m->at, &skipped) : 1;
            continue;
        }
        m->at = m->done = m->match.end;
        m->any = true;
        return BL_OK;
    }
    *found = false;
    return BL_OK;
}

/* Adds all pieces in order: the matches, and the text between them. */
static int splitting_run(const struct bl_regex *regex, struct bl_matcher *matcher, struct bl_splitting *s,
                         bool inverted, const char *text, size_t size, struct bl_error *e)
{
    struct bl_matches m = {0};
    for (;;) {
        size_t done = m.done;
        bool found;
        int code = bl_regex_next(regex, matcher, text, size, &m, &found, e);
        if (code || !found)
            return code || done >= size ? code : bl_splitting_add(s, done, size, inverted, e);
        code = done < m.match.begin ? bl_splitting_add(s, done, m.match.begin, inverted, e) : BL_OK;
        if (code)
            return code;
        code = bl_splitting_add(s, m.match.begin, m.match.end, !inverted, e);
        if (code)
            return code;
    }
}

int bl_regex_split(const struct bl_regex *regex, struct bl_matcher *matcher, enum bl_behavior behavior, bool inverted,
                   const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    struct bl_splitting s = {.behavior = behavior, .out = out, .first = out->count};
    const char *seen;
    if (!size)
        return BL_OK;
    int code = bl_regex_see(regex, matcher, text, size, &seen, e);
    if (!code)
        code = splitting_run(regex, matcher, &s, inverted, seen, size, e);
    size_t kept = s.first;
    for (size_t i = s.first; i < out->count; i++) {
        if (out->span[i].begin < out->span[i].end)
            out->span[kept++] = out->span[i];
    }
    out->count = kept;
    return code;
}

bool bl_regex_is_exact(const struct bl_regex *regex)
{
    uint32_t references = 0;
    pcre2_pattern_info(regex->code, PCRE2_INFO_BACKREFMAX, &references);
    return regex->literal || (unicode_major() >= 14 && !references);
}

const char *bl_regex_version(char out[BL_REGEX_VERSION_MAX])
{
    return regex_config(PCRE2_CONFIG_VERSION, out);
}
