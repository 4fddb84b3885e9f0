#include "kind/text/wordpiece.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/text/normal_form.h"
#include "kind/text/skip.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/unicode.h"

/* --- BERT's normalizer and pre-tokenizer -------------------------------------------------------------------------- */

/* Each step goes over the whole text, since the next one may change its result: an ideograph, for example, is found
 * before it is decomposed. */

/* The blocks of ideographs that BERT's authors listed; the package lacks U+2B820 to U+2B91F. */
static bool is_chinese(uint32_t c)
{
    static const uint32_t block[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        if (c >= block[i][0] && c <= block[i][1])
            return true;
    }
    return false;
}

static void bert_clean(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out)
{
    size_t done = 0; /* bytes that were copied or replaced */
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t c;
        next = at + bl_utf8_decode(text + at, &c);
        bool removed = options->clean_text && bl_bert_class(c) & BL_BERT_REMOVED;
        bool space = options->clean_text && c != ' ' && bl_unicode_class(c) & BL_SPACE;
        bool chinese = options->handle_chinese_chars && c >= 0x3400 && is_chinese(c);
        if (!removed && !space && !chinese)
            continue;
        bl_buffer_append(out, text + done, at - done);
        done = next;
        if (removed)
            continue;
        bl_buffer_byte(out, ' ');
        if (chinese) {
            bl_buffer_append(out, text + at, next - at);
            bl_buffer_byte(out, ' ');
        }
    }
    bl_buffer_append(out, text + done, size - done);
}

static void bert_append_lower(struct bl_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        bl_buffer_byte(out, (char)(c | 0x20));
        return;
    }
    char bytes[BL_UTF8_MAX];
    const struct bl_unicode_row *row = bl_unicode_find(bl_bert_lower, bl_bert_lower_count, c);
    if (row)
        bl_buffer_append(out, bytes, bl_utf8_encode(row->value + c - row->first, bytes));
    else
        bl_buffer_text(out, "i\u0307"); /* of U+0130 */
}

static void bert_strip_and_lower(const struct bl_bert_options *options, const char *text, size_t size,
                                 struct bl_buffer *out)
{
    unsigned changed = (options->strip_accents ? BL_BERT_MARK : 0U) | (options->lowercase ? BL_BERT_UPPER : 0U);
    size_t done = 0;
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t c;
        next = at + bl_utf8_decode(text + at, &c);
        unsigned class = bl_bert_class(c) & changed;
        if (!class)
            continue;
        bl_buffer_append(out, text + done, at - done);
        done = next;
        if (class & BL_BERT_UPPER)
            bert_append_lower(out, c);
    }
    bl_buffer_append(out, text + done, size - done);
}

int bl_bert_normalize(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out,
                      struct bl_error *e)
{
    struct bl_buffer cleaned = {0}, decomposed = {0};
    bl_buffer_reserve(&cleaned, size);
    bert_clean(options, text, size, &cleaned);
    const struct bl_buffer *from = &cleaned;
    if (options->strip_accents && bl_normal_form_prefix(BL_NFD, cleaned.data, cleaned.size) < cleaned.size) {
        bl_normal_form_apply(BL_NFD, cleaned.data, cleaned.size, &decomposed);
        from = &decomposed;
    }
    bl_buffer_reserve(out, from->size);
    bert_strip_and_lower(options, from->data, from->size, out);
    int code = bl_buffer_check(&cleaned, e);
    if (code)
        goto out;
    code = bl_buffer_check(&decomposed, e);
    if (code)
        goto out;
    code = bl_buffer_check(out, e);
out:
    bl_buffer_free(&cleaned);
    bl_buffer_free(&decomposed);
    return code;
}

int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    size_t begin = 0;
    int code = 0;
    for (size_t at = 0; at < size && !code;) {
        uint32_t c;
        size_t length = bl_utf8_decode(text + at, &c);
        bool space = bl_unicode_class(c) & BL_SPACE, alone = bl_bert_class(c) & BL_BERT_PUNCTUATION;
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

/* --- WordLevel ---------------------------------------------------------------------------------------------------- */

#define SHOWN 80 /* bytes of a word in a message */

int bl_wordlevel_encode(const struct bl_vocabulary *v, int32_t unknown, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e)
{
    int64_t token = bl_vocabulary_find(v, word, size);
    int32_t id = token < 0 ? unknown : v->token[token].id;
    if (id < 0)
        return bl_error_set(e, BL_EDATA, "the word \"%.*s\" has no token, and the tokenizer has none for unknown words",
                            (int)(size < SHOWN ? size : SHOWN), (const char *)word);
    return bl_ids_add(ids, id, e);
}

/* --- WordPiece ---------------------------------------------------------------------------------------------------- */

int bl_wordpiece_init(struct bl_wordpiece *model, const struct bl_vocabulary *vocabulary, const char *unknown,
                      const char *prefix, int64_t characters, struct bl_error *e)
{
    int64_t token = bl_vocabulary_find(vocabulary, unknown, strlen(unknown));
    if (token < 0)
        return bl_error_set(e, BL_EFAIL, "the vocabulary has no token \"%.80s\" for unknown words", unknown);
    *model = (struct bl_wordpiece){.vocabulary = vocabulary, .prefix_size = strlen(prefix)};
    if (model->prefix_size > sizeof model->prefix)
        return bl_error_set(e, BL_EFAIL, "a continuing_subword_prefix of more than %d bytes is not supported",
                            BL_WORDPIECE_PREFIX_MAX);
    if (characters < 0)
        return bl_error_set(e, BL_EFAIL, "max_input_chars_per_word cannot be %" PRId64, characters);
    memcpy(model->prefix, prefix, model->prefix_size);
    model->unknown = vocabulary->token[token].id;
    model->characters = (size_t)characters;
    for (size_t i = 0; i < vocabulary->count; i++) {
        if (vocabulary->token[i].size > model->longest)
            model->longest = vocabulary->token[i].size;
    }
    return 0;
}

static bool byte_begins_character(uint8_t byte)
{
    return (byte & 0xc0) != 0x80;
}

/* The number of the longest token that text begins with, or -1; *taken: its size. The first tail bytes of the text are
 * the prefix; then comes the rest of the word. */
static int64_t wordpiece_longest(const struct bl_wordpiece *model, const uint8_t *text, size_t tail, size_t size,
                                 size_t *taken)
{
    size_t end = size < model->longest ? size : model->longest;
    for (; end > tail; end--) {
        if (end < size && !byte_begins_character(text[end]))
            continue;
        int64_t token = bl_vocabulary_find(model->vocabulary, text, end);
        if (token >= 0) {
            *taken = end;
            return token;
        }
    }
    return -1;
}

/* Whether the word has more characters than the model takes. */
static bool word_is_long(const struct bl_wordpiece *model, const uint8_t *word, size_t size)
{
    size_t characters = 0;
    if (size <= model->characters)
        return false;
    for (size_t i = 0; i < size && characters <= model->characters; i++)
        characters += byte_begins_character(word[i]);
    return characters > model->characters;
}

static int wordpiece_add_unknown(const struct bl_wordpiece *model, size_t count, struct bl_ids *ids, struct bl_error *e)
{
    ids->count = count;
    return bl_ids_add(ids, model->unknown, e);
}

int bl_wordpiece_encode(const struct bl_wordpiece *model, struct bl_buffer *scratch, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e)
{
    size_t count = ids->count, prefix = model->prefix_size;
    if (word_is_long(model, word, size))
        return wordpiece_add_unknown(model, count, ids, e);
    bl_buffer_clear(scratch);
    bl_buffer_append(scratch, model->prefix, prefix);
    bl_buffer_append(scratch, word, size);
    if (bl_buffer_check(scratch, e))
        return BL_EFAIL;
    /* The prefix overwrites the bytes that were taken, right before the rest of the word. */
    uint8_t *text = (uint8_t *)scratch->data + prefix;
    for (size_t at = 0, taken = 0; at < size; at += taken) {
        size_t tail = at ? prefix : 0;
        memcpy(text + at - tail, model->prefix, tail);
        int64_t token = wordpiece_longest(model, text + at - tail, tail, size - at + tail, &taken);
        if (token < 0)
            return wordpiece_add_unknown(model, count, ids, e);
        taken -= tail;
        int code = bl_ids_add(ids, model->vocabulary->token[token].id, e);
        if (code)
            return code;
    }
    return 0;
}

/* Splits "TOKEN<tab>ID"; *size becomes that of the token. */
static bool line_split_id(const char *line, size_t *size, int64_t *id)
{
    const char *tab = memrchr(line, '\t', *size);
    if (!tab || !bl_text_to_int(tab + 1, *size - (size_t)(tab + 1 - line), 0, BL_ID_MAX, id))
        return false;
    *size = (size_t)(tab - line);
    return true;
}

/* Ids must ascend, so that none occurs twice. Of a token that does, the last id counts, as in the released packages. */
static int vocabulary_read_line(struct bl_vocabulary *vocabulary, const char *token, size_t size, bool has_ids,
                                int64_t number, int64_t *last, struct bl_error *e)
{
    int64_t known = -1, id = number;
    if (bl_utf8_valid(token, size) < size)
        return bl_error_set(e, BL_EFAIL, "invalid UTF-8");
    size = bl_character_trim((const uint8_t *)token, size);
    if (size && has_ids && !line_split_id(token, &size, &id))
        return bl_error_set(e, BL_EFAIL, "no tab and id behind the token, which the first line has");
    if (!size)
        return BL_OK;
    if (id <= *last)
        return bl_error_set(e, BL_EFAIL, "the id %" PRId64 " comes after %" PRId64, id, *last);
    *last = id;
    int code = bl_vocabulary_add(vocabulary, token, size, (int32_t)id, &known, e);
    if (!code && known >= 0)
        vocabulary->token[known].id = (int32_t)id;
    return code;
}

int bl_wordpiece_vocabulary(struct bl_vocabulary *vocabulary, const struct bl_buffer *text, const char *path,
                            struct bl_error *e)
{
    const char *line;
    size_t at = 0, size, first;
    int64_t id, last = -1;
    bool has_ids = false;
    for (int64_t number = 0; bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        if (number == 0) {
            first = bl_character_trim((const uint8_t *)line, size);
            has_ids = line_split_id(line, &first, &id);
        }
        int code = number > BL_ID_MAX ? bl_error_set(e, BL_EFAIL, "more than %d lines", BL_ID_MAX)
                                      : vocabulary_read_line(vocabulary, line, size, has_ids, number, &last, e);
        if (code) {
            bl_error_prefix(e, "%s:%" PRId64, path, number + 1);
            return code;
        }
    }
    return BL_OK;
}

bool bl_wordpiece_uncased(const struct bl_vocabulary *vocabulary)
{
    for (size_t i = 0; i < vocabulary->count; i++) {
        const char *text = (const char *)bl_vocabulary_bytes(vocabulary, i);
        size_t size = vocabulary->token[i].size;
        if (size > 2 && ((text[0] == '[' && text[size - 1] == ']') || (text[0] == '<' && text[size - 1] == '>')))
            continue;
        for (size_t at = 0; at < size;) {
            uint32_t c;
            at += bl_utf8_decode(text + at, &c);
            if (bl_bert_class(c) & BL_BERT_UPPER)
                return false;
        }
    }
    return true;
}

/* --- vocab.txt ---------------------------------------------------------------------------------------------------- */

/* BERT's vocab.txt: a token a line. The rest is by convention: BERT's normalizer, with lower case if no token has upper
 * case, or if the options say so. */

/* Empty lines, and all but the last id of a token that occurs again, are ids without a token. */
static int wordpiece_warn_of_gaps(struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    const struct bl_vocabulary *v = &tokenizer->vocabulary;
    int64_t first = 0;
    for (size_t i = 0; i < v->count; i++)
        bl_tokenizer_count(tokenizer, v->token[i].id);
    uint8_t *has = calloc((size_t)tokenizer->size + 1, 1);
    if (!has)
        return bl_error_memory(e);
    for (size_t i = 0; i < v->count; i++)
        has[v->token[i].id] = 1;
    while (has[first])
        first++;
    free(has);
    return bl_tokenizer_warn_missing_ids(tokenizer, tokenizer->size - (int64_t)v->count, first, e);
}

static int wordpiece_choose_case(struct bl_tokenizer *tokenizer, bool *uncased, struct bl_error *e)
{
    *uncased = tokenizer->lowercase == BL_LOWERCASE_YES;
    if (tokenizer->lowercase != BL_LOWERCASE_AUTO)
        return BL_OK;
    *uncased = bl_wordpiece_uncased(&tokenizer->vocabulary);
    return bl_tokenizer_warn(tokenizer, e, "text %s lower case, as %s upper case: --lowercase %s if it should%s",
                             *uncased ? "becomes" : "does not become", *uncased ? "no token has" : "tokens have",
                             *uncased ? "no" : "yes", *uncased ? " not" : "");
}

int bl_tokenizer_read_wordpiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                struct bl_error *e)
{
    static const char *const special[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    int code = bl_wordpiece_vocabulary(&tokenizer->vocabulary, text, path, e);
    if (code)
        return code;
    code = bl_wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary, "[UNK]", BL_WORDPIECE_PREFIX,
                             BL_WORDPIECE_CHARACTERS, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    bool uncased;
    code = wordpiece_choose_case(tokenizer, &uncased, e);
    if (code)
        return code;
    tokenizer->model = BL_MODEL_WORDPIECE;
    tokenizer->normalizer[tokenizer->normalizers++] =
        (struct bl_normalizer){.kind = BL_NORMALIZER_BERT, .bert = {true, true, uncased, uncased}};
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.kind = BL_SPLIT_BERT};
    code = wordpiece_warn_of_gaps(tokenizer, e);
    for (size_t i = 0; i < sizeof special / sizeof *special && !code; i++) {
        int64_t known = bl_vocabulary_find(&tokenizer->vocabulary, special[i], strlen(special[i]));
        if (known < 0)
            continue;
        struct bl_added_token token = {.id = tokenizer->vocabulary.token[known].id, .plain = !tokenizer->special};
        code = bl_added_add(&tokenizer->raw, special[i], strlen(special[i]), &token, e);
    }
    return code;
}
