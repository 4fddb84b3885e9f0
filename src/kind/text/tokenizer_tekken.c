/* The reader of tekken.json, the format of mistral-common: tokens with their bytes and ranks, more than a model uses,
 * and the pattern. Special tokens have the first ids; the others follow by their ranks.
 *
 *     {"config": {"pattern": "...", "default_vocab_size": 131072, "default_num_special_tokens": 1000},
 *      "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": "\u0000"}, ...],
 *      "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}, ...]}
 *
 * Here the token of rank 0 has the id 1000, and of "vocab" the first 130072 entries are used. The lists are read from
 * the text without a tree of JSON values: a file has some 20 MB. */
#include <string.h>

#include "base/text.h"
#include "kind/text/tokenizer_readers.h"

/* The special tokens of files that do not list them (up to version 7), by their ids from 0. */
static const char *const early_specials[] = {"<unk>",
                                             "<s>",
                                             "</s>",
                                             "[INST]",
                                             "[/INST]",
                                             "[AVAILABLE_TOOLS]",
                                             "[/AVAILABLE_TOOLS]",
                                             "[TOOL_RESULTS]",
                                             "[/TOOL_RESULTS]",
                                             "[TOOL_CALLS]",
                                             "[IMG]",
                                             "<pad>",
                                             "[IMG_BREAK]",
                                             "[IMG_END]",
                                             "[PREFIX]",
                                             "[MIDDLE]",
                                             "[SUFFIX]",
                                             "[SYSTEM_PROMPT]",
                                             "[/SYSTEM_PROMPT]",
                                             "[TOOL_CONTENT]"};

#define EARLY_SPECIALS ((int64_t)(sizeof early_specials / sizeof *early_specials))

/* The values of the file that are used, as indexes. */
enum { PATTERN, SIZE, SPECIALS, VOCAB, LISTED, KEYS };

/* A file that is being read. */
struct tekken {
    struct bl_tokenizer *tokenizer;
    struct bl_json_value value[KEYS];
    int64_t size, specials; /* ids in all, and of special tokens among them */
    struct bl_buffer text;  /* of the value that is read, unescaped */
};

/* Finds the values in one pass over the text. They point into it. False: it is not JSON. */
static bool tekken_find_values(const struct bl_buffer *text, struct bl_json_value value[KEYS],
                               struct bl_json_fault *fault)
{
    static const char *const names[KEYS] = {[PATTERN] = "config.pattern",
                                            [SIZE] = "config.default_vocab_size",
                                            [SPECIALS] = "config.default_num_special_tokens",
                                            [VOCAB] = "vocab",
                                            [LISTED] = "special_tokens"};
    struct bl_json_key key[KEYS];
    for (int i = 0; i < KEYS; i++) {
        if (!bl_json_key_parse(&key[i], names[i], strlen(names[i])))
            return false;
    }
    return bl_json_scan(text->data, text->size, key, KEYS, value, fault);
}

/* The pattern and the vocabulary must be there, too: the name alone may occur in a text. */
bool bl_tekken_detect(const struct bl_buffer *text)
{
    struct bl_json_value value[KEYS] = {0};
    struct bl_json_fault fault;
    /* Most files are others, and large: a name of the format is found, or not, without looking at their structure. */
    return text->size && memmem(text->data, text->size, "\"token_bytes\"", 13) &&
           tekken_find_values(text, value, &fault) && value[PATTERN].type == BL_JSON_STRING &&
           value[VOCAB].type == BL_JSON_ARRAY;
}

/* Parses a number from 0 to max. False: the value is none. */
static bool value_to_int(const struct bl_json_value *value, int64_t max, int64_t *number)
{
    return value->type == BL_JSON_NUMBER && bl_text_to_int(value->text, value->size, 0, max, number);
}

/* Finds the members of an object by their names: those that are not there have the type NONE. */
static void object_find(const struct bl_json_value *object, const char *const *names, struct bl_json_value *value,
                        int count)
{
    struct bl_json_value name, member;
    memset(value, 0, (size_t)count * sizeof *value);
    for (size_t at = 0; object->type == BL_JSON_OBJECT && bl_json_next_member(object, &at, &name, &member);) {
        for (int i = 0; i < count; i++) {
            if (name.size == strlen(names[i]) && memcmp(name.text, names[i], name.size) == 0)
                value[i] = member;
        }
    }
}

/* Adds the token of an entry of "vocab". Ranks must be those of the order, so that no id is without a token. */
static int token_read(struct tekken *t, const struct bl_json_value *item, int64_t rank, struct bl_error *e)
{
    static const char *const names[] = {"rank", "token_bytes"};
    struct bl_json_value value[2];
    int64_t found, known, size = -1;
    object_find(item, names, value, 2);
    if (!value_to_int(&value[0], BL_ID_MAX, &found) || found != rank)
        return bl_error_set(e, BL_EFAIL, "its \"rank\" is not %lld", (long long)rank);
    bl_buffer_clear(&t->text);
    if (value[1].type == BL_JSON_STRING) {
        size_t lone;
        bl_json_unescape(&value[1], &t->text, &lone);
        /* An empty JSON string must not leave the buffer without memory. */
        bl_buffer_text(&t->text, "");
        int code = bl_buffer_check(&t->text, e);
        if (code)
            return code;
        /* Decodes in place: the bytes are fewer than the digits. */
        size = t->text.size ? bl_base64_decode(t->text.data, t->text.size) : -1;
    }
    if (size <= 0)
        return bl_error_set(e, BL_EFAIL, "its \"token_bytes\" are no token in base64");
    /* Both are at most the number of ids, so the sum is an id. */
    int32_t id = (int32_t)(rank + t->specials);
    int code = bl_vocabulary_add(&t->tokenizer->vocabulary, t->text.data, (size_t)size, id, &known, e);
    if (!code && known >= 0)
        code = bl_error_set(e, BL_EFAIL, "it is the same token as entry %lld", (long long)known);
    return code;
}

/* Adds the special token whose text is in t->text. It stays plain text unless the options ask for special tokens. */
static int special_add(struct tekken *t, int64_t id, struct bl_error *e)
{
    struct bl_added_token token = {.id = (int32_t)id, .plain = !t->tokenizer->special};
    /* The list may name more tokens than the model has. */
    if (!t->text.size || id >= t->specials)
        return bl_error_set(e, BL_EFAIL, "the special token %lld is empty, or one of more than %lld", (long long)id,
                            (long long)t->specials);
    return bl_added_add(&t->tokenizer->raw, t->text.data, t->text.size, &token, e);
}

/* Adds all special tokens: those that the file lists, and then the other ids. A file without a list has the early
 * special tokens; further ids are named <SPECIAL_n>, as mistral-common names them. */
static int specials_add(struct tekken *t, struct bl_error *e)
{
    static const char *const names[] = {"rank", "token_str"};
    struct bl_json_value item, value[2];
    int64_t count = 0;
    bool listed = t->value[LISTED].type == BL_JSON_ARRAY;
    int code = BL_OK;
    for (size_t at = 0; listed && !code && bl_json_next(&t->value[LISTED], &at, &item); count++) {
        int64_t id = -1;
        size_t lone;
        object_find(&item, names, value, 2);
        bl_buffer_clear(&t->text);
        if (value[1].type == BL_JSON_STRING)
            bl_json_unescape(&value[1], &t->text, &lone);
        code = bl_buffer_check(&t->text, e);
        if (!code && !value_to_int(&value[0], t->specials - 1, &id))
            code = bl_error_set(e, BL_EFAIL, "its \"rank\" is not below %lld", (long long)t->specials);
        if (!code)
            code = special_add(t, id, e);
        if (code)
            bl_error_prefix(e, "\"special_tokens\", entry %lld", (long long)count);
    }
    for (; count < t->specials && !code; count++) {
        bl_buffer_clear(&t->text);
        if (!listed && count < EARLY_SPECIALS)
            bl_buffer_text(&t->text, early_specials[count]);
        else
            bl_buffer_printf(&t->text, "<SPECIAL_%lld>", (long long)count);
        code = bl_buffer_check(&t->text, e);
        if (!code)
            code = special_add(t, count, e);
    }
    return code;
}

/* Sets the model, its merges (which follow from the ranks) and the pattern. */
static int tekken_read(struct tekken *t, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = t->tokenizer;
    struct bl_json_value item;
    size_t lone;
    if (!value_to_int(&t->value[SIZE], BL_ID_MAX, &t->size) ||
        !value_to_int(&t->value[SPECIALS], t->size, &t->specials))
        return bl_error_set(e, BL_EFAIL, "\"config\" has no default_vocab_size, or no default_num_special_tokens");
    /* default_vocab_size includes the special tokens. The rest of the list is for larger vocabularies. */
    int64_t count = t->size - t->specials, rank = 0;
    for (size_t at = 0; rank < count && bl_json_next(&t->value[VOCAB], &at, &item); rank++) {
        int code = token_read(t, &item, rank, e);
        if (code) {
            bl_error_prefix(e, "\"vocab\", entry %lld", (long long)rank);
            return code;
        }
    }
    if (rank < count)
        return bl_error_set(e, BL_EFAIL, "\"vocab\" has %lld tokens, and the model %lld", (long long)rank,
                            (long long)count);
    BL_TRY(specials_add(t, e));
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->size = t->size;
    bl_buffer_clear(&t->text);
    bl_json_unescape(&t->value[PATTERN], &t->text, &lone);
    bl_buffer_text(&t->text, "");
    BL_TRY(bl_buffer_check(&t->text, e));
    /* The file's pattern is a part of the file: an expression that PCRE2 does not support makes the file unusable. */
    BL_TRY(bl_tokenizer_set_pattern(tokenizer, t->text.data, t->text.size, e) ? BL_EFAIL : BL_OK);
    return bl_bpe_from_ranks(&tokenizer->bpe, &tokenizer->vocabulary, e);
}

/* The values are found once more, since bl_tekken_detect keeps nothing. */
int bl_tokenizer_read_tekken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                             struct bl_error *e)
{
    struct tekken t = {.tokenizer = tokenizer};
    struct bl_json_fault fault;
    int code = tekken_find_values(text, t.value, &fault)
                   ? tekken_read(&t, e)
                   : bl_error_set(e, BL_EFAIL, "not JSON at byte %zu: %s", fault.at, fault.what);
    if (code)
        bl_error_prefix(e, "%s", path);
    bl_buffer_free(&t.text);
    return code;
}
