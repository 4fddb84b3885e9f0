/* Applies the steps by which tokenizers split text into words.
 *
 * The results equal those of `tokenizers`, case by case. The encoder calls bl_split_rewrite for each piece, then
 * bl_split_scan in batches of words, or bl_split_find. */
#include "kind/text/pre_tokenizer.h"

#include <string.h>

#include "base/text.h"
#include "kind/text/grammar.h"
#include "kind/text/skip.h"
#include "kind/text/unicode.h"
#include "kind/text/vocabulary.h"

/* --- steps -------------------------------------------------------------------------------------------------------- */

#define METASPACE_SIZE (sizeof BL_METASPACE - 1)

/* Appends a text in which every occurrence of from is replaced by to. */
static void append_replaced(struct bl_buffer *out, const char *text, size_t size, const char *from, size_t from_size,
                            const char *to, size_t to_size)
{
    const char *end = text + size;
    /* The parts between the occurrences are copied as they are. */
    for (const char *at; (at = memmem(text, (size_t)(end - text), from, from_size)); text = at + from_size) {
        bl_buffer_append(out, text, (size_t)(at - text));
        bl_buffer_append(out, to, to_size);
    }
    bl_buffer_append(out, text, (size_t)(end - text));
}

/* Appends the words of a text, each with a space before it. A word that begins with U+2581 has its space already. */
static void append_words(struct bl_buffer *out, const char *text, size_t size)
{
    const uint8_t *end = (const uint8_t *)text + size;
    for (const uint8_t *at = (const uint8_t *)text; at < end;) {
        size_t bytes;
        at += bl_character_space(at, (size_t)(end - at));
        /* The word goes up to the next white space. */
        const uint8_t *word = at;
        while (at < end && !(bl_character_class(at, end, &bytes) & BL_SPACE))
            at += bytes;
        size_t length = (size_t)(at - word);
        /* U+2581 at the beginning becomes the space of the word. */
        if (length && (length < METASPACE_SIZE || memcmp(word, BL_METASPACE, METASPACE_SIZE) != 0))
            bl_buffer_byte(out, ' ');
        append_replaced(out, (const char *)word, length, BL_METASPACE, METASPACE_SIZE, " ", 1);
    }
}

/* Returns true if the piece gets a mark. A space that is rewritten to the mark counts as a mark, and so does a U+2581
 * that is rewritten to a space. */
static bool needs_mark(const struct bl_split *split, const char *mark, size_t mark_size, const uint8_t *text,
                       size_t size, size_t head)
{
    if (split->prefix == BL_PREFIX_NEVER || (split->prefix == BL_PREFIX_FIRST && !head))
        return false;
    /* The space becomes the mark. */
    if (split->rewrite == BL_REWRITE_MARKS && *text == ' ')
        return false;
    if (split->rewrite == BL_REWRITE_SPACES && size >= METASPACE_SIZE && !memcmp(text, BL_METASPACE, METASPACE_SIZE))
        return false;
    return size < mark_size || memcmp(text, mark, mark_size) != 0;
}

int bl_split_rewrite(const struct bl_split *split, const uint8_t **text, size_t *size, size_t *head,
                     struct bl_buffer *out, struct bl_error *e)
{
    /* The mark is one code point. */
    char mark[BL_UTF8_MAX];
    size_t mark_size = bl_utf8_encode(split->mark, mark);
    /* Most pieces neither get a mark nor change, and stay where they are. */
    bool marked = needs_mark(split, mark, mark_size, *text, *size, *head);
    const char *from = (const char *)*text;
    if (!marked &&
        (split->rewrite == BL_REWRITE_NONE || (split->rewrite == BL_REWRITE_MARKS && !memchr(from, ' ', *size)) ||
         (split->rewrite == BL_REWRITE_SPACES && !memmem(from, *size, BL_METASPACE, METASPACE_SIZE))))
        return BL_OK;
    /* The original bytes are still needed below: out is another buffer than that of the piece. */
    bl_buffer_clear(out);
    /* The mark of a byte-level piece is a space, which becomes a character of that alphabet as well. */
    if (marked && split->rewrite == BL_REWRITE_BYTES)
        bl_alphabet_append_bytes(mark, mark_size, out);
    else if (marked)
        bl_buffer_append(out, mark, mark_size);
    /* The mark belongs to the first character of the document. */
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
    /* The buffer remembers a failure, so one check is enough. */
    if (out->failed)
        return bl_error_memory(e);
    *text = (const uint8_t *)(out->data ? out->data : "");
    *size = out->size;
    return BL_OK;
}

size_t bl_split_scan(const struct bl_split *split, const struct bl_bpe *bpe, const uint8_t *text, size_t size,
                     size_t *at, size_t *end, size_t max)
{
    if (split->kind == BL_SPLIT_MERGES)
        return bl_bpe_split(bpe, text, size, at, end, max);
    if (split->kind != BL_SPLIT_SPACES)
        return bl_grammar_split(split->grammar, text, size, at, end, max);
    /* Splits before each space, except one at the beginning of a word: " a b" has the words " a" and " b". The search
     * begins behind the first byte, so that a word may begin with its space. */
    size_t n = 0;
    while (*at < size && n < max) {
        const uint8_t *space = memchr(text + *at + 1, ' ', size - *at - 1);
        *at = space ? (size_t)(space - text) : size;
        end[n++] = *at;
    }
    return n;
}

/* Splits at single characters: each character of the class is a match, handled as split->behavior says. */
static int characters_find(const struct bl_split *split, const char *text, size_t size, struct bl_spans *out,
                           struct bl_error *e)
{
    struct bl_splitting s = {.behavior = split->behavior, .out = out, .first = out->count};
    /* Bytes before this offset are in spans already. */
    size_t done = 0;
    int code = BL_OK;
    for (size_t at = 0, next; at < size && !code; at = next) {
        uint32_t point;
        next = at + bl_utf8_decode(text + at, &point);
        bool match = point == split->one;
        if (split->class == BL_CLASS_SPACE)
            match = bl_unicode_class(point) & BL_SPACE;
        else if (split->class == BL_CLASS_PUNCTUATION)
            match = bl_bert_class(point) & BL_BERT_PUNCTUATION;
        /* Runs of other characters become one span when the next match or the end comes. */
        if (!match)
            continue;
        code = done < at ? bl_splitting_add(&s, done, at, false, e) : BL_OK;
        if (!code)
            code = bl_splitting_add(&s, at, next, true, e);
        done = next;
    }
    return code || done == size ? code : bl_splitting_add(&s, done, size, false, e);
}

/* Finds the matches of \w+|[^\w\s]+ (Whitespace of `tokenizers`), without a matcher of expressions. */
static int words_find(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    /* A run ends where the kind of its characters changes. */
    enum { SPACE, WORD, OTHER } before = SPACE;
    int code = BL_OK;
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(text + at, &point);
        bool space = bl_unicode_class(point) & BL_SPACE;
        int kind = space ? SPACE : bl_bert_class(point) & BL_WORD ? WORD : OTHER;
        if (kind != SPACE && kind == (int)before)
            /* The run goes on: its span grows. */
            out->span[out->count - 1].end = at + bytes;
        else if (kind != SPACE)
            code = bl_spans_add(out, at, at + bytes, e);
        before = kind;
    }
    return code;
}

/* Splits where the script changes. Characters without a script, such as digits, belong to the piece before them. At the
 * beginning of the text they are lost, as in `tokenizers`. */
static int scripts_find(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    /* The script of the current piece; BL_SCRIPT_ANY: no piece has begun. */
    unsigned last = BL_SCRIPT_ANY;
    size_t begin = 0;
    int code = BL_OK;
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(text + at, &point);
        unsigned script = bl_script(point);
        if (script == BL_SCRIPT_ANY || script == last)
            continue;
        /* The first script of the text only begins a piece. */
        if (last != BL_SCRIPT_ANY)
            code = bl_spans_add(out, begin, at, e);
        begin = at;
        last = script;
    }
    return code || last == BL_SCRIPT_ANY ? code : bl_spans_add(out, begin, size, e);
}

/* Splits into pieces of length characters, not bytes; the last one may be shorter. */
static int lengths_find(size_t length, const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    /* The piece that is being filled begins here and has count characters. */
    size_t begin = 0, count = 0;
    int code = BL_OK;
    for (size_t at = 0; at < size && !code;) {
        uint32_t point;
        at += bl_utf8_decode(text + at, &point);
        /* The last piece ends with the text. */
        if (++count == length || at == size) {
            code = bl_spans_add(out, begin, at, e);
            begin = at;
            count = 0;
        }
    }
    return code;
}

int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    size_t begin = 0;
    int code = 0;
    for (size_t at = 0; at < size && !code;) {
        uint32_t c;
        size_t length = bl_utf8_decode(text + at, &c);
        /* White space ends a word and is dropped; punctuation ends a word and is one itself. */
        bool space = bl_unicode_class(c) & BL_SPACE, alone = bl_bert_class(c) & BL_BERT_PUNCTUATION;
        /* The word before ends here, unless it is empty. */
        if ((space || alone) && begin < at)
            code = bl_spans_add(out, begin, at, e);
        if (alone && !code)
            code = bl_spans_add(out, at, at + length, e);
        at += length;
        if (space || alone)
            begin = at;
    }
    if (code || begin == size)
        return code;
    return bl_spans_add(out, begin, size, e);
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
