/* What several readers of tokenizer files need, and the reader of a vocab.txt.
 *
 * Warnings are joined to one text, "FILE: its padding is not applied; 3 of the ids up to 9 have no token, ...", which
 * the caller prints once. Names are read from the text of the JSON file, without a tree of values: a vocabulary has
 * 200,000 of them, and the look-up is by hash. A split by an expression is a known grammar where bload has a scanner
 * for it, and otherwise a regular expression for PCRE2. */
#include "kind/text/tokenizer_readers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- warnings ----------------------------------------------------------------------------------------------------- */

/* A warning of more than 399 bytes is cut off: none is so long. */
int bl_tokenizer_warn(struct bl_tokenizer *tokenizer, struct bl_error *e, const char *format, ...)
{
    struct bl_buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    char added[400];
    vsnprintf(added, sizeof added, format, arguments);
    va_end(arguments);
    if (tokenizer->warning)
        bl_buffer_printf(&text, "%s; %s", tokenizer->warning, added);
    else
        bl_buffer_printf(&text, "%s: %s", tokenizer->path, added);
    int code = bl_buffer_check(&text, e);
    if (code) {
        bl_buffer_free(&text);
        return code;
    }
    free(tokenizer->warning);
    tokenizer->warning = text.data;
    return BL_OK;
}

/* One warning on patterns is enough where a tokenizer has several. */
int bl_tokenizer_warn_pattern(struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    char version[BL_REGEX_VERSION_MAX];
    if (tokenizer->warning)
        return BL_OK;
    return bl_tokenizer_warn(tokenizer, e,
                             "its pattern is not a known one and is matched by PCRE2 with Unicode %s: characters of "
                             "later versions may be split differently than by the released tokenizers",
                             bl_regex_unicode_version(version));
}

/* A byte for each id says whether a token has it. The loop goes down so that the last id found is the lowest. */
int bl_tokenizer_warn_missing_tokens(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                                     const json_t *added, struct bl_error *e)
{
    const json_t *value;
    size_t i;
    uint8_t *has = calloc((size_t)tokenizer->size + 1, 1);
    int64_t count = 0, first = 0;
    if (!has)
        return bl_error_memory(e);
    memset(has, 1, tokenizer->unigram.count); /* pieces of Unigram have all ids from 0 */
    for (size_t name = 0; name < names->count; name++)
        has[names->token[name].id] = 1;
    json_array_foreach(added, i, value) has[json_integer_value(json_object_get(value, "id"))] = 1;
    for (int64_t id = tokenizer->size - 1; id >= 0; id--) {
        count += !has[id];
        first = has[id] ? first : id;
    }
    free(has);
    if (!count)
        return BL_OK;
    return bl_tokenizer_warn(tokenizer, e,
                             "%" PRId64 " of the ids up to %" PRId64 " have no token, the first is %" PRId64, count,
                             tokenizer->size - 1, first);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* An estimate for the reserve: where names and ids are shorter, the vocabulary grows later. */
#define MEMBER_BYTES 16 /* of a name and its id, quotes included */
#define SHOWN 80        /* bytes of a name in a message */

/* bl_json_next_member goes through the text of the object. A name without escapes is used where it lies; plain has the
 * others. taken has a bit for each id. */
int bl_names_read(struct bl_vocabulary *names, const struct bl_json_value *object, struct bl_error *e)
{
    struct bl_json_value member, value, name;
    struct bl_buffer plain = {0};
    int64_t id, twice = -1;
    uint8_t *taken = calloc(BL_ID_MAX / 8 + 1, 1);
    if (!taken)
        return bl_error_memory(e);
    /* Pages that are not written to take no memory. */
    int code = bl_vocabulary_reserve(names, object->size / MEMBER_BYTES, object->size / 2, e);
    for (size_t at = 0; !code && bl_json_next_member(object, &at, &member, &value);) {
        bool is_text = bl_json_text(&member, &plain, &name) && bl_utf8_valid(name.text, name.size) == name.size;
        code = bl_buffer_check(&plain, e);
        if (!code && !is_text)
            code = bl_error_set(e, BL_EFAIL, "entry %zu: the token is not UTF-8", names->count);
        if (code)
            break;
        int shown = (int)(name.size < SHOWN ? name.size : SHOWN);
        if (value.type != BL_JSON_NUMBER || !bl_text_to_int(value.text, value.size, 0, BL_ID_MAX, &id)) {
            code = bl_error_set(e, BL_EFAIL, "the id of \"%.*s\" is not an integer from 0 to %d", shown, name.text,
                                BL_ID_MAX);
        } else if (taken[id / 8] >> id % 8 & 1) {
            code = bl_error_set(e, BL_EFAIL, "the id %d of \"%.*s\" is also that of another token", (int)id, shown,
                                name.text);
        } else {
            taken[id / 8] |= (uint8_t)(1 << id % 8);
            code = bl_vocabulary_append(names, name.text, name.size, (int32_t)id, e);
        }
    }
    bl_buffer_free(&plain);
    free(taken);
    if (!code)
        code = bl_vocabulary_index(names, &twice, e);
    if (code || twice < 0)
        return code;
    uint32_t size = names->token[twice].size;
    return bl_error_set(e, BL_EFAIL, "\"%.*s\" is there twice", (int)(size < SHOWN ? size : SHOWN),
                        (const char *)bl_vocabulary_bytes(names, (size_t)twice));
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* Two grammars that follow each other may be one known grammar: one scan instead of two. */
int bl_tokenizer_add_split(struct bl_tokenizer *tokenizer, const struct bl_split *split, struct bl_error *e)
{
    struct bl_split *before = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    /* A grammar that adds a space before the text (prefix) works on another text than the next one. */
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

/* The tokenizer owns the regular expression only after it is added. */
int bl_tokenizer_add_regex(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, bool literal,
                           struct bl_split *split, struct bl_error *e)
{
    split->kind = BL_SPLIT_REGEX;
    BL_TRY(bl_regex_open(&split->regex, pattern, size, literal, e));
    int code = bl_tokenizer_add_split(tokenizer, split, e);
    if (code) {
        bl_regex_close(split->regex);
        return code;
    }
    return bl_regex_is_exact(split->regex) ? BL_OK : bl_tokenizer_warn_pattern(tokenizer, e);
}

/* tiktoken takes the matches as pieces: inverted, so that the text between them is removed. */
int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e)
{
    struct bl_split split = {.kind = BL_SPLIT_GRAMMAR, .grammar = bl_grammar_find(pattern, size, false)};
    if (split.grammar != BL_GRAMMAR_NONE)
        return bl_tokenizer_add_split(tokenizer, &split, e);
    split.behavior = BL_BEHAVIOR_REMOVED;
    split.inverted = true;
    return bl_tokenizer_add_regex(tokenizer, pattern, size, false, &split, e);
}

/* --- vocab.txt ---------------------------------------------------------------------------------------------------- */

/* BERT's vocab.txt: a token a line. The rest is by convention: BERT's normalizer, with lower case if no token has upper
 * case, or if the options say so. */

/* The normalizer and the split are BERT's: text is cleaned, Chinese characters become words, and an uncased model has
 * lower case without accents. Special tokens that the vocabulary has are recognized by BERT's names. */
int bl_tokenizer_read_wordpiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                struct bl_error *e)
{
    /* The tokens that BERT's tokenizers never split. There is no list of them in the file. */
    static const char *const special[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    BL_TRY(bl_wordpiece_vocabulary(&tokenizer->vocabulary, text, path, e));
    int code = bl_wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary, "[UNK]", BL_WORDPIECE_PREFIX,
                                 BL_WORDPIECE_CHARACTERS, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    bool uncased = tokenizer->lowercase == BL_LOWERCASE_YES;
    /* Nothing in the file confirms what the vocabulary suggests. */
    if (tokenizer->lowercase == BL_LOWERCASE_AUTO) {
        uncased = bl_wordpiece_uncased(&tokenizer->vocabulary);
        BL_TRY(bl_tokenizer_warn(tokenizer, e, "text %s lower case, as %s upper case: --lowercase %s if it should%s",
                                 uncased ? "becomes" : "does not become", uncased ? "no token has" : "tokens have",
                                 uncased ? "no" : "yes", uncased ? " not" : ""));
    }
    tokenizer->model = BL_MODEL_WORDPIECE;
    tokenizer->normalizer[tokenizer->normalizers++] =
        (struct bl_normalizer){.kind = BL_NORMALIZER_BERT, .bert = {true, true, uncased, uncased}};
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.kind = BL_SPLIT_BERT};
    for (size_t i = 0; i < tokenizer->vocabulary.count; i++)
        bl_tokenizer_count(tokenizer, tokenizer->vocabulary.token[i].id);
    /* Empty lines leave ids without a token, and so do all lines but the last of a token that occurs more than once. */
    code = bl_tokenizer_warn_missing_tokens(tokenizer, &tokenizer->vocabulary, NULL, e);
    for (size_t i = 0; i < sizeof special / sizeof *special && !code; i++) {
        int64_t known = bl_vocabulary_find(&tokenizer->vocabulary, special[i], strlen(special[i]));
        /* A vocabulary need not have all five. */
        if (known < 0)
            continue;
        struct bl_added_token token = {.id = tokenizer->vocabulary.token[known].id, .plain = !tokenizer->special};
        code = bl_added_add(&tokenizer->raw, special[i], strlen(special[i]), &token, e);
    }
    return code;
}
