#include "kind/text/pre_tokenizer.h"

#include <string.h>

#include "base/text.h"
#include "kind/text/grammar.h"
#include "kind/text/skip.h"
#include "kind/text/tokenizer_json.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/unicode.h"
#include "kind/text/vocabulary.h"
#include "kind/text/wordpiece.h"

/* --- steps -------------------------------------------------------------------------------------------------------- */

#define METASPACE_SIZE (sizeof BL_METASPACE - 1)

/* Appends a text in which every occurrence of from is replaced by to. */
static void append_replaced(struct bl_buffer *out, const char *text, size_t size, const char *from, size_t from_size,
                            const char *to, size_t to_size)
{
    const char *end = text + size;
    for (const char *at; (at = memmem(text, (size_t)(end - text), from, from_size)); text = at + from_size) {
        bl_buffer_append(out, text, (size_t)(at - text));
        bl_buffer_append(out, to, to_size);
    }
    bl_buffer_append(out, text, (size_t)(end - text));
}

/* Appends the words of a text, each with a space before it. */
static void append_words(struct bl_buffer *out, const char *text, size_t size)
{
    const uint8_t *end = (const uint8_t *)text + size;
    for (const uint8_t *at = (const uint8_t *)text; at < end;) {
        size_t bytes;
        at += bl_character_space(at, (size_t)(end - at));
        const uint8_t *word = at;
        while (at < end && !(bl_character_class(at, end, &bytes) & BL_SPACE))
            at += bytes;
        size_t length = (size_t)(at - word);
        if (length && (length < METASPACE_SIZE || memcmp(word, BL_METASPACE, METASPACE_SIZE) != 0))
            bl_buffer_byte(out, ' ');
        append_replaced(out, (const char *)word, length, BL_METASPACE, METASPACE_SIZE, " ", 1);
    }
}

/* Whether the text stays as it is, apart from its beginning. */
static bool text_stays(const struct bl_split *split, const uint8_t *text, size_t size)
{
    switch (split->rewrite) {
    case BL_REWRITE_NONE:
        return true;
    case BL_REWRITE_MARKS:
        return !memchr(text, ' ', size);
    case BL_REWRITE_SPACES:
        return !memmem(text, size, BL_METASPACE, METASPACE_SIZE);
    default:
        return false;
    }
}

/* Whether the piece gets a mark. A space that is rewritten to the mark counts as one, and so does U+2581 as a space. */
static bool needs_mark(const struct bl_split *split, const char *mark, size_t mark_size, const uint8_t *text,
                       size_t size, size_t head)
{
    if (split->prefix == BL_PREFIX_NEVER || (split->prefix == BL_PREFIX_FIRST && !head))
        return false;
    if (split->rewrite == BL_REWRITE_MARKS && *text == ' ')
        return false;
    if (split->rewrite == BL_REWRITE_SPACES && size >= METASPACE_SIZE && !memcmp(text, BL_METASPACE, METASPACE_SIZE))
        return false;
    return size < mark_size || memcmp(text, mark, mark_size) != 0;
}

int bl_split_rewrite(const struct bl_split *split, const uint8_t **text, size_t *size, size_t *head,
                     struct bl_buffer *out, struct bl_error *e)
{
    char mark[BL_UTF8_MAX];
    size_t mark_size = bl_utf8_encode(split->mark, mark);
    bool marked = needs_mark(split, mark, mark_size, *text, *size, *head);
    const char *from = (const char *)*text;
    if (!marked && text_stays(split, *text, *size))
        return BL_OK;
    bl_buffer_clear(out);
    /* The mark of a byte-level piece is a space, which becomes a character of that alphabet as well. */
    if (marked && split->rewrite == BL_REWRITE_BYTES)
        bl_alphabet_append_bytes(mark, mark_size, out);
    else if (marked)
        bl_buffer_append(out, mark, mark_size);
    if (marked && *head)
        *head += out->size;
    if (split->rewrite == BL_REWRITE_BYTES)
        bl_alphabet_append_bytes(from, *size, out);
    else if (split->rewrite == BL_REWRITE_WORDS)
        append_words(out, from, *size);
    else if (split->rewrite == BL_REWRITE_MARKS)
        append_replaced(out, from, *size, " ", 1, mark, mark_size);
    else if (split->rewrite == BL_REWRITE_SPACES)
        append_replaced(out, from, *size, BL_METASPACE, METASPACE_SIZE, " ", 1);
    else
        bl_buffer_append(out, from, *size);
    if (out->failed)
        return bl_error_memory(e);
    *text = (const uint8_t *)(out->data ? out->data : "");
    *size = out->size;
    return BL_OK;
}

/* A word ends before each space, but for one at the beginning. */
static size_t spaces_scan(const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max)
{
    size_t n = 0;
    while (*at < size && n < max) {
        const uint8_t *space = memchr(text + *at + 1, ' ', size - *at - 1);
        *at = space ? (size_t)(space - text) : size;
        end[n++] = *at;
    }
    return n;
}

size_t bl_split_scan(const struct bl_split *split, const struct bl_bpe *bpe, const uint8_t *text, size_t size,
                     size_t *at, size_t *end, size_t max)
{
    if (split->kind == BL_SPLIT_SPACES)
        return spaces_scan(text, size, at, end, max);
    if (split->kind == BL_SPLIT_MERGES)
        return bl_bpe_split(bpe, text, size, at, end, max);
    return bl_grammar_split(split->grammar, text, size, at, end, max);
}

static bool class_has(const struct bl_split *split, uint32_t point)
{
    switch (split->class) {
    case BL_CLASS_SPACE:
        return bl_unicode_class(point) & BL_SPACE;
    case BL_CLASS_PUNCTUATION:
        return bl_bert_class(point) & BL_BERT_PUNCTUATION;
    case BL_CLASS_ONE:
        break;
    }
    return point == split->one;
}

/* Each character of the class is a match. */
static int characters_find(const struct bl_split *split, const char *text, size_t size, struct bl_spans *out,
                           struct bl_error *e)
{
    struct bl_splitting s = {.behavior = split->behavior, .out = out, .first = out->count};
    size_t done = 0;
    int code = BL_OK;
    for (size_t at = 0, next; at < size && !code; at = next) {
        uint32_t point;
        next = at + bl_utf8_decode(text + at, &point);
        if (!class_has(split, point))
            continue;
        code = done < at ? bl_splitting_add(&s, done, at, false, e) : BL_OK;
        if (!code)
            code = bl_splitting_add(&s, at, next, true, e);
        done = next;
    }
    return code || done == size ? code : bl_splitting_add(&s, done, size, false, e);
}

/* \w+|[^\w\s]+ */
static int words_find(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    enum { SPACE, WORD, OTHER } before = SPACE;
    int code = BL_OK;
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(text + at, &point);
        bool space = bl_unicode_class(point) & BL_SPACE;
        int kind = space ? SPACE : bl_bert_class(point) & BL_WORD ? WORD : OTHER;
        if (kind != SPACE && kind == (int)before)
            out->span[out->count - 1].end = at + bytes;
        else if (kind != SPACE)
            code = bl_spans_add(out, at, at + bytes, e);
        before = kind;
    }
    return code;
}

/* Characters without a script belong to the piece before; at the beginning they are lost. */
static int scripts_find(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    unsigned last = BL_SCRIPT_ANY;
    size_t begin = 0;
    int code = BL_OK;
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(text + at, &point);
        unsigned script = bl_script(point);
        if (script == BL_SCRIPT_ANY || script == last)
            continue;
        if (last != BL_SCRIPT_ANY)
            code = bl_spans_add(out, begin, at, e);
        begin = at;
        last = script;
    }
    return code || last == BL_SCRIPT_ANY ? code : bl_spans_add(out, begin, size, e);
}

static int lengths_find(size_t length, const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    size_t begin = 0, count = 0;
    int code = BL_OK;
    for (size_t at = 0; at < size && !code;) {
        uint32_t point;
        at += bl_utf8_decode(text + at, &point);
        if (++count == length || at == size) {
            code = bl_spans_add(out, begin, at, e);
            begin = at;
            count = 0;
        }
    }
    return code;
}

int bl_split_find(const struct bl_split *split, struct bl_matcher *matcher, const uint8_t *text, size_t size,
                  struct bl_spans *out, struct bl_error *e)
{
    const char *bytes = (const char *)text;
    switch (split->kind) {
    case BL_SPLIT_REGEX:
        return bl_regex_split(split->regex, matcher, split->behavior, split->inverted, bytes, size, out, e);
    case BL_SPLIT_CHARACTERS:
        return characters_find(split, bytes, size, out, e);
    case BL_SPLIT_WORDS:
        return words_find(bytes, size, out, e);
    case BL_SPLIT_BERT:
        return bl_bert_split(bytes, size, out, e);
    case BL_SPLIT_SCRIPTS:
        return scripts_find(bytes, size, out, e);
    case BL_SPLIT_LENGTH:
        return lengths_find(split->length, bytes, size, out, e);
    default:
        return bl_spans_add(out, 0, size, e);
    }
}

/* --- pre-tokenizers of tokenizer.json ----------------------------------------------------------------------------- */

/* The pre-tokenizers of a tokenizer.json, and patterns of other files. */

static int split_add(struct bl_tokenizer *tokenizer, const struct bl_split *split, struct bl_error *e)
{
    struct bl_split *before = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    bool plain = before && before->kind == BL_SPLIT_GRAMMAR && split->kind == BL_SPLIT_GRAMMAR && !before->prefix &&
                 !split->prefix;
    enum bl_grammar both = plain ? bl_grammar_join(before->grammar, split->grammar) : BL_GRAMMAR_NONE;
    if (both != BL_GRAMMAR_NONE) {
        before->grammar = both;
        return BL_OK;
    }
    if (tokenizer->splits == BL_SPLITS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d pre-tokenizers are not supported", BL_SPLITS_MAX);
    tokenizer->split[tokenizer->splits++] = *split;
    return BL_OK;
}

/* Adds a split by an expression, which it owns. */
static int regex_add(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, bool literal,
                     struct bl_split *split, struct bl_error *e)
{
    split->kind = BL_SPLIT_REGEX;
    int code = bl_regex_open(&split->regex, pattern, size, literal, e);
    if (code)
        return code;
    code = split_add(tokenizer, split, e);
    if (code) {
        bl_regex_close(split->regex);
        return code;
    }
    return bl_regex_is_exact(split->regex) ? BL_OK : bl_tokenizer_warn_pattern(tokenizer, e);
}

/* The last ByteLevel, where words are bytes, changes nothing but the words. Elsewhere it rewrites the pieces, too. */
static int byte_level_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex", NULL};
    bool prefix = true, regex = true, bytes = t->tokenizer->alphabet.kind == BL_ALPHABET_BYTES;
    const struct bl_json_flag flags[] = {{"add_prefix_space", &prefix}, {"use_regex", &regex}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer ByteLevel", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(object, "ByteLevel", flags, e);
    struct bl_split split = {.kind = BL_SPLIT_NONE, .mark = ' ', .prefix = prefix ? BL_PREFIX_ALWAYS : BL_PREFIX_NEVER};
    const struct bl_split rewrite = {.kind = BL_SPLIT_NONE, .mark = ' ', .rewrite = BL_REWRITE_BYTES};
    if (regex) {
        split.kind = BL_SPLIT_GRAMMAR;
        split.grammar = BL_GRAMMAR_GPT2;
    }
    if (!code && (regex || prefix))
        code = split_add(t->tokenizer, &split, e);
    return code || bytes ? code : split_add(t->tokenizer, &rewrite, e);
}

static int digits_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "individual_digits", NULL};
    bool individual = false;
    const struct bl_json_flag flags[] = {{"individual_digits", &individual}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer Digits", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(object, "Digits", flags, e);
    struct bl_split split = {.grammar = individual ? BL_GRAMMAR_DIGITS : BL_GRAMMAR_DIGIT_RUNS};
    return code ? code : split_add(t->tokenizer, &split, e);
}

static void behavior_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_split *split)
{
    struct bl_error why = {0};
    const char *behavior = json_string_value(json_object_get(object, "behavior"));
    split->behavior = BL_BEHAVIOR_ISOLATED;
    if (behavior && bl_behavior_parse(behavior, &split->behavior, &why))
        bl_unsupported_add(&t->unsupported, "the behavior \"%.80s\"", behavior);
}

static int punctuation_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "behavior", NULL};
    struct bl_split split = {.kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_PUNCTUATION};
    int code = bl_json_members_check(object, "the pre-tokenizer Punctuation", known, &t->unsupported, e);
    behavior_read(t, object, &split);
    return code ? code : split_add(t->tokenizer, &split, e);
}

/* Where a grammar matches all of a text, removing what is between the matches is the same as isolating them. */
static int split_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "pattern", "behavior", "invert", NULL};
    bool literal;
    const json_t *pattern = bl_json_pattern(object, &literal);
    struct bl_error why = {0};
    struct bl_split split = {.kind = BL_SPLIT_GRAMMAR};
    const struct bl_json_flag flags[] = {{"invert", &split.inverted}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer Split", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(object, "Split", flags, e);
    if (code)
        return code;
    behavior_read(t, object, &split);
    if (!pattern || !json_object_get(object, "behavior"))
        return bl_error_set(e, BL_EFAIL, "the pre-tokenizer Split has no pattern, or no behavior");
    const char *text = json_string_value(pattern);
    size_t size = json_string_length(pattern);
    if (t->marked && !strcmp(text, " "))
        return BL_OK; /* there are none */
    if (t->marked)
        text = " ", size = 1; /* it is U+2581 */
    if (split.behavior == (split.inverted ? BL_BEHAVIOR_REMOVED : BL_BEHAVIOR_ISOLATED) && !literal)
        split.grammar = bl_grammar_find(text, size, !split.inverted);
    if (split.grammar != BL_GRAMMAR_NONE)
        return split_add(t->tokenizer, &split, e);
    code = regex_add(t->tokenizer, text, size, literal, &split, &why);
    if (code != BL_EDATA)
        return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
    bl_unsupported_add(&t->unsupported, "the pattern \"%.80s\" (%.150s)", text, why.text);
    return BL_OK; /* what follows is named, too */
}

static int prefix_read(const json_t *object, struct bl_split *split, bool *splits, struct bl_error *e)
{
    static const char *const schemes[] = {
        [BL_PREFIX_NEVER] = "never", [BL_PREFIX_FIRST] = "first", [BL_PREFIX_ALWAYS] = "always"};
    bool add = true;
    const struct bl_json_flag flags[] = {{"add_prefix_space", &add}, {NULL, NULL}};
    const struct bl_json_flag split_flag[] = {{"split", splits}, {NULL, NULL}};
    const json_t *scheme = json_object_get(object, "prepend_scheme");
    split->prefix = BL_PREFIX_ALWAYS;
    for (int i = 0; i < 3; i++) {
        if (json_is_string(scheme) && !strcmp(json_string_value(scheme), schemes[i])) {
            split->prefix = (enum bl_prefix)i;
            scheme = NULL;
        }
    }
    if (scheme)
        return bl_error_set(e, BL_EFAIL, "Metaspace: \"prepend_scheme\" is not \"always\", \"first\" or \"never\"");
    int code = json_is_null(json_object_get(object, "add_prefix_space"))
                   ? BL_OK
                   : bl_json_members_read_flags(object, "Metaspace", flags, e);
    if (!code && !json_is_null(json_object_get(object, "split")))
        code = bl_json_members_read_flags(object, "Metaspace", split_flag, e);
    if (!add)
        split->prefix = BL_PREFIX_NEVER;
    return code;
}

/* Metaspace where words have spaces. After white space is removed, each word gets one. */
static int spaces_add(struct bl_tokenizer *tokenizer, struct bl_split *split, bool splits, struct bl_error *e)
{
    struct bl_split *before = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    split->mark = ' ';
    split->rewrite = BL_REWRITE_SPACES;
    split->kind = splits ? BL_SPLIT_SPACES : BL_SPLIT_NONE;
    bool words = before && before->kind == BL_SPLIT_CHARACTERS && before->class == BL_CLASS_SPACE &&
                 before->behavior == BL_BEHAVIOR_REMOVED;
    if (!words || !splits || split->prefix != BL_PREFIX_ALWAYS)
        return split_add(tokenizer, split, e);
    *before = (struct bl_split){.kind = BL_SPLIT_SPACES, .rewrite = BL_REWRITE_WORDS};
    return BL_OK;
}

static int metaspace_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type",    "replacement", "add_prefix_space", "prepend_scheme", "split",
                                        "str_rep", NULL};
    const json_t *mark = json_object_get(object, "replacement");
    struct bl_split split = {.rewrite = BL_REWRITE_MARKS};
    bool splits = true;
    int code = bl_json_members_check(object, "the pre-tokenizer Metaspace", known, &t->unsupported, e);
    if (!code)
        code = prefix_read(object, &split, &splits, e);
    if (code)
        return code;
    if (!json_is_string(mark) || !json_string_length(mark) ||
        bl_utf8_decode(json_string_value(mark), &split.mark) != json_string_length(mark))
        return bl_error_set(e, BL_EFAIL, "Metaspace: \"replacement\" is not one character");
    if (t->tokenizer->alphabet.kind == BL_ALPHABET_SPACES) {
        t->marked = true;
        return spaces_add(t->tokenizer, &split, splits, e);
    }
    split.kind = splits ? BL_SPLIT_CHARACTERS : BL_SPLIT_NONE;
    split.behavior = BL_BEHAVIOR_MERGED_WITH_NEXT;
    split.class = BL_CLASS_ONE;
    split.one = split.mark;
    return split_add(t->tokenizer, &split, e);
}

static int delimiter_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "delimiter", NULL};
    const json_t *delimiter = json_object_get(object, "delimiter");
    struct bl_split split = {.kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_ONE, .behavior = BL_BEHAVIOR_REMOVED};
    int code = bl_json_members_check(object, "the pre-tokenizer CharDelimiterSplit", known, &t->unsupported, e);
    if (code)
        return code;
    if (!json_is_string(delimiter) || !json_string_length(delimiter) ||
        bl_utf8_decode(json_string_value(delimiter), &split.one) != json_string_length(delimiter))
        return bl_error_set(e, BL_EFAIL, "CharDelimiterSplit: \"delimiter\" is not one character");
    return split_add(t->tokenizer, &split, e);
}

static int length_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "length", NULL};
    const json_t *length = json_object_get(object, "length");
    struct bl_split split = {.kind = BL_SPLIT_LENGTH, .length = 5};
    int code = bl_json_members_check(object, "the pre-tokenizer FixedLength", known, &t->unsupported, e);
    if (code)
        return code;
    if (length && (!json_is_integer(length) || json_integer_value(length) < 1))
        return bl_error_set(e, BL_EFAIL, "FixedLength: \"length\" is not an integer from 1");
    if (length)
        split.length = (size_t)json_integer_value(length);
    return split_add(t->tokenizer, &split, e);
}

static int plain_add(struct bl_json_tokenizer *t, const json_t *object, struct bl_split split, struct bl_error *e)
{
    static const char *const known[] = {"type", NULL};
    int code = bl_json_members_check(object, "a pre-tokenizer", known, &t->unsupported, e);
    return code ? code : split_add(t->tokenizer, &split, e);
}

static int whitespace_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    return plain_add(t, object, (struct bl_split){.kind = BL_SPLIT_WORDS}, e);
}

static int whitespace_split_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    const struct bl_split split = {
        .kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_SPACE, .behavior = BL_BEHAVIOR_REMOVED};
    return plain_add(t, object, split, e);
}

static int bert_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    return plain_add(t, object, (struct bl_split){.kind = BL_SPLIT_BERT}, e);
}

static int scripts_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    return plain_add(t, object, (struct bl_split){.kind = BL_SPLIT_SCRIPTS}, e);
}

static int pre_tokenizer_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e);
    } types[] = {{"ByteLevel", byte_level_read},
                 {"Split", split_read},
                 {"Digits", digits_read},
                 {"Punctuation", punctuation_read},
                 {"Metaspace", metaspace_read},
                 {"Whitespace", whitespace_read},
                 {"WhitespaceSplit", whitespace_split_read},
                 {"BertPreTokenizer", bert_read},
                 {"CharDelimiterSplit", delimiter_read},
                 {"FixedLength", length_read},
                 {"UnicodeScripts", scripts_read}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(types[i].type, bl_json_type(object)))
            return types[i].read(t, object, e);
    }
    bl_unsupported_add(&t->unsupported, "the pre-tokenizer \"%.80s\"", bl_json_type(object));
    return BL_OK;
}

int bl_json_read_splits(struct bl_json_tokenizer *t, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < t->splits.count; i++) { /* all of them, so that all that is unsupported is named */
        int one = pre_tokenizer_read(t, t->splits.step[i], e);
        code = code ? code : one;
    }
    return code;
}

int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e)
{
    struct bl_split split = {.kind = BL_SPLIT_GRAMMAR, .grammar = bl_grammar_find(pattern, size, false)};
    if (split.grammar != BL_GRAMMAR_NONE)
        return split_add(tokenizer, &split, e);
    split.behavior = BL_BEHAVIOR_REMOVED;
    split.inverted = true;
    return regex_add(tokenizer, pattern, size, false, &split, e);
}
