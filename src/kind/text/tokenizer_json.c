/* tokenizer.json, as `tokenizers` writes it. All that ids depend on is supported, or refused by name.
 *
 * The post-processor only adds tokens that are not in the text (begin, end) and offsets: it is read where these tokens
 * are asked for. The decoder is for the other direction. */
#include <stdlib.h>
#include <string.h>

#include "kind/text/json_members.h"
#include "kind/text/merges.h"
#include "kind/text/post_processor.h"
#include "kind/text/pre_tokenizer.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_warning.h"

static bool member_is_unset(const json_t *member)
{
    return !member || json_is_null(member) || (json_is_string(member) && !json_string_length(member));
}

/* Checks the options of the BPE model that ids depend on. byte_fallback, unk_token and fuse_unk are for characters that
 * are missing from the vocabulary: no byte is. */
static int bpe_check_model(const json_t *model, bool *direct, struct bl_error *e)
{
    static const char *const known[] = {"type",
                                        "dropout",
                                        "unk_token",
                                        "continuing_subword_prefix",
                                        "end_of_word_suffix",
                                        "fuse_unk",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "vocab",
                                        "merges",
                                        NULL};
    const struct bl_json_flag flags[] = {{"ignore_merges", direct}, {NULL, NULL}};
    const char *type = json_string_value(json_object_get(model, "type"));
    if (!json_is_object(model))
        return bl_error_set(e, BL_EFAIL, "\"model\" is missing, or not an object");
    if (strcmp(type ? type : "BPE", "BPE") != 0)
        return bl_error_set(e, BL_EFAIL, "the model \"%.80s\" is not supported", type);
    int code = bl_json_members_check(model, "the model BPE", known, e);
    if (code)
        return code;
    code = bl_json_members_read_flags(model, "the model BPE", flags, e);
    if (code)
        return code;
    const json_t *dropout = json_object_get(model, "dropout");
    if (!member_is_unset(dropout) && !(json_is_number(dropout) && json_number_value(dropout) == 0))
        return bl_error_set(e, BL_EFAIL, "the model BPE has \"dropout\", which is not supported: ids would be random");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < 2; i++) {
        if (!member_is_unset(json_object_get(model, affixes[i])))
            return bl_error_set(e, BL_EFAIL, "the model BPE has \"%s\", which is not supported", affixes[i]);
    }
    return BL_OK;
}

/* The merges read so far, and memory for texts without their escapes. */
struct reading {
    struct bl_merges merges;
    struct bl_buffer plain[2];
};

static bool merge_read_text(const struct bl_json_value *value, struct bl_buffer *plain, struct bl_json_value *text)
{
    size_t lone = SIZE_MAX;
    *text = *value;
    if (value->escaped) {
        bl_buffer_clear(plain);
        bl_json_unescape(value, plain, &lone);
        text->text = plain->data;
        text->size = plain->size;
    }
    return value->type == BL_JSON_STRING && lone == SIZE_MAX && !plain->failed;
}

static int merge_read(struct reading *r, const struct bl_vocabulary *v, const json_t *vocab,
                      const struct bl_json_value *item, struct bl_error *e)
{
    struct bl_json_value side[2], text[2], more;
    size_t at = 0;
    if (item->type == BL_JSON_STRING && merge_read_text(item, &r->plain[0], text))
        return bl_merges_add_line(&r->merges, v, vocab, text->text, text->size, e);
    if (item->type != BL_JSON_ARRAY || !bl_json_next(item, &at, &side[0]) || !bl_json_next(item, &at, &side[1]) ||
        bl_json_next(item, &at, &more) || !merge_read_text(&side[0], &r->plain[0], &text[0]) ||
        !merge_read_text(&side[1], &r->plain[1], &text[1]))
        return bl_error_set(e, BL_EFAIL, "is not a merge: \"left right\" or [\"left\", \"right\"]");
    return bl_merges_add(&r->merges, v, vocab, text[0].text, text[0].size, text[1].text, text[1].size, e);
}

static int merges_read(struct bl_tokenizer *tokenizer, const json_t *model, const struct bl_json_value *list,
                       bool direct, struct bl_error *e)
{
    const json_t *vocab = json_object_get(model, "vocab");
    struct reading r = {0};
    struct bl_json_value item;
    if (list->type != BL_JSON_ARRAY)
        return bl_error_set(e, BL_EFAIL, "\"model.merges\" is missing, or not an array");
    int code = BL_OK;
    size_t count = 0;
    for (size_t at = 0; !code && bl_json_next(list, &at, &item); count++) {
        code = merge_read(&r, &tokenizer->vocabulary, vocab, &item, e);
        if (code)
            bl_error_prefix(e, "\"model.merges\", entry %zu", count);
    }
    if (code)
        goto out;
    code = bl_bpe_from_merges(&tokenizer->bpe, &tokenizer->vocabulary, r.merges.merge, r.merges.count, direct, e);
    if (code)
        bl_error_prefix(e, "\"model\"");
out:
    bl_merges_free(&r.merges);
    bl_buffer_free(&r.plain[0]);
    bl_buffer_free(&r.plain[1]);
    return code;
}

static int bpe_read(struct bl_tokenizer *tokenizer, const json_t *model, const struct bl_json_value *merges,
                    struct bl_error *e)
{
    bool direct = false;
    int code = bpe_check_model(model, &direct, e);
    if (code)
        return code;
    code = bl_merges_vocabulary(tokenizer, json_object_get(model, "vocab"), true, e);
    if (code) {
        bl_error_prefix(e, "\"model.vocab\"");
        return code;
    }
    tokenizer->model = BL_MODEL_BPE;
    return merges_read(tokenizer, model, merges, direct, e);
}

static int wordpiece_read(struct bl_tokenizer *tokenizer, const json_t *model, struct bl_error *e)
{
    static const char *const known[] = {"type",  "unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
                                        "vocab", NULL};
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const json_t *max = json_object_get(model, "max_input_chars_per_word");
    int code = bl_json_members_check(model, "the model WordPiece", known, e);
    if (code)
        goto out;
    code = bl_merges_vocabulary(tokenizer, json_object_get(model, "vocab"), false, e);
    if (code)
        goto out;
    code = bl_wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary, unknown ? unknown : "[UNK]",
                             prefix ? prefix : BL_WORDPIECE_PREFIX,
                             max ? json_integer_value(max) : BL_WORDPIECE_CHARACTERS, e);
out:
    tokenizer->model = BL_MODEL_WORDPIECE;
    if (code)
        bl_error_prefix(e, "\"model\"");
    return code;
}

/* The model, and the pre-tokenizer that goes with it. */
static int model_read(struct bl_tokenizer *tokenizer, const json_t *root, const struct bl_json_value *merges,
                      struct bl_error *e)
{
    static const char *const known[] = {"type", NULL};
    const json_t *model = json_object_get(root, "model"), *words = json_object_get(root, "pre_tokenizer");
    const char *type = json_string_value(json_object_get(model, "type"));
    const char *words_type = json_string_value(json_object_get(words, "type"));
    if (!type || strcmp(type, "WordPiece") != 0) {
        int code = bl_pre_tokenizer_read(tokenizer, words, e);
        if (code)
            return code;
        return bpe_read(tokenizer, model, merges, e);
    }
    if (!words_type || strcmp(words_type, "BertPreTokenizer") != 0)
        return bl_error_set(e, BL_EFAIL, "the pre-tokenizer \"%.80s\" is not supported: WordPiece has BertPreTokenizer",
                            words_type ? words_type : "(without a type)");
    int code = bl_json_members_check(words, "the pre-tokenizer BertPreTokenizer", known, e);
    if (code)
        return code;
    return wordpiece_read(tokenizer, model, e);
}

/* The id that `tokenizers` gives to an added token: that of the model's token with this text, else the next one. The id
 * in the file is only checked. */
static int64_t added_expected_id(const json_t *vocab, const char *text, size_t size, int64_t *largest)
{
    const json_t *own = json_object_getn(vocab, text, size);
    int64_t id = json_integer_value(own), tokens = (int64_t)json_object_size(vocab);
    if (!own)
        id = *largest >= tokens ? *largest + 1 : tokens;
    if (id > *largest)
        *largest = id;
    return id;
}

/* Adds a token. One that is looked for in normalised text is normalised, too. */
static int added_add(struct bl_tokenizer *tokenizer, const char *text, size_t size, bool normalized,
                     const struct bl_added_token *token, struct bl_error *e)
{
    struct bl_buffer normal[BL_NORMALIZERS_MAX] = {0};
    int code = BL_OK;
    for (int i = 0; normalized && i < tokenizer->normalizers; i++) {
        code = bl_normalizer_apply(&tokenizer->normalizer[i], &text, &size, &normal[i], e);
        if (code)
            goto out;
    }
    if (!size) {
        code = bl_error_set(e, BL_EFAIL, "its normal form is empty");
        goto out;
    }
    code = bl_added_add(normalized ? &tokenizer->normal : &tokenizer->raw, text, size, token, e);
out:
    for (int i = 0; i < tokenizer->normalizers; i++)
        bl_buffer_free(&normal[i]);
    return code;
}

static int added_read_token(struct bl_tokenizer *tokenizer, const json_t *vocab, const json_t *item, int64_t *largest,
                            struct bl_error *e)
{
    static const char *const known[] = {"id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL};
    struct bl_added_token token = {0};
    bool normalized, special = false;
    const struct bl_json_flag flags[] = {{"single_word", &token.single_word},
                                         {"lstrip", &token.lstrip},
                                         {"rstrip", &token.rstrip},
                                         {"special", &special},
                                         {NULL, NULL}};
    const struct bl_json_flag normal[] = {{"normalized", &normalized}, {NULL, NULL}};
    int code = bl_json_members_check(item, "it", known, e);
    const json_t *content = json_object_get(item, "content"), *id = json_object_get(item, "id");
    if (code)
        return code;
    if (!json_is_string(content) || !json_string_length(content))
        return bl_error_set(e, BL_EFAIL, "\"content\" is missing, or not a string");
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > BL_ID_MAX)
        return bl_error_set(e, BL_EFAIL, "\"id\" is missing, or not an integer from 0 to %d", BL_ID_MAX);
    code = bl_json_members_read_flags(item, "it", flags, e);
    if (code)
        return code;
    normalized = !special;
    code = bl_json_members_read_flags(item, "it", normal, e);
    if (code)
        return code;
    const char *text = json_string_value(content);
    size_t size = json_string_length(content);
    int64_t expected = added_expected_id(vocab, text, size, largest);
    if (expected != json_integer_value(id))
        return bl_error_set(e, BL_EFAIL, "\"%.80s\" has the id %lld, but `tokenizers` gives it %lld", text,
                            (long long)json_integer_value(id), (long long)expected);
    token.id = (int32_t)expected;
    token.plain = special && !tokenizer->special;
    bl_tokenizer_count(tokenizer, token.id);
    return added_add(tokenizer, text, size, normalized, &token, e);
}

static int added_read(struct bl_tokenizer *tokenizer, const json_t *root, struct bl_error *e)
{
    const json_t *list = json_object_get(root, "added_tokens");
    const json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    if (list && !json_is_array(list) && !json_is_null(list))
        return bl_error_set(e, BL_EFAIL, "\"added_tokens\" is not an array");
    int64_t largest = -1;
    int code = BL_OK;
    for (size_t i = 0; i < json_array_size(list) && !code; i++) {
        code = added_read_token(tokenizer, vocab, json_array_get(list, i), &largest, e);
        if (code)
            bl_error_prefix(e, "\"added_tokens\", entry %zu", i);
    }
    return code;
}

static int bert_read(struct bl_tokenizer *tokenizer, const json_t *normalizer, struct bl_error *e)
{
    static const char *const known[] = {"type",          "clean_text", "handle_chinese_chars",
                                        "strip_accents", "lowercase",  NULL};
    static const char what[] = "the normalizer BertNormalizer";
    struct bl_bert_options bert = {.clean_text = true, .handle_chinese_chars = true, .lowercase = true};
    const struct bl_json_flag flags[] = {{"clean_text", &bert.clean_text},
                                         {"handle_chinese_chars", &bert.handle_chinese_chars},
                                         {"lowercase", &bert.lowercase},
                                         {NULL, NULL}};
    const struct bl_json_flag accents[] = {{"strip_accents", &bert.strip_accents}, {NULL, NULL}};
    if (tokenizer->normalizers == BL_NORMALIZERS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d normalizers are not supported", BL_NORMALIZERS_MAX);
    int code = bl_json_members_check(normalizer, what, known, e);
    if (code)
        return code;
    code = bl_json_members_read_flags(normalizer, what, flags, e);
    if (code)
        return code;
    bert.strip_accents = bert.lowercase;
    if (!json_is_null(json_object_get(normalizer, "strip_accents")))
        code = bl_json_members_read_flags(normalizer, what, accents, e);
    if (code)
        return code;
    tokenizer->normalizer[tokenizer->normalizers++] = (struct bl_normalizer){.is_bert = true, .bert = bert};
    return BL_OK;
}

static int normalizer_read(struct bl_tokenizer *tokenizer, const json_t *normalizer, struct bl_error *e)
{
    static const char *const known[] = {"type", NULL};
    static const char *const forms[] = {[BL_NFC] = "NFC", [BL_NFD] = "NFD", [BL_NFKC] = "NFKC", [BL_NFKD] = "NFKD"};
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    for (int form = BL_NFC; type && form <= BL_NFKD; form++) {
        if (strcmp(type, forms[form]) != 0)
            continue;
        if (tokenizer->normalizers == BL_NORMALIZERS_MAX)
            return bl_error_set(e, BL_EFAIL, "more than %d normalizers are not supported", BL_NORMALIZERS_MAX);
        tokenizer->normalizer[tokenizer->normalizers++].form = (enum bl_normal_form)form;
        return bl_json_members_check(normalizer, "the normalizer", known, e);
    }
    if (type && !strcmp(type, "BertNormalizer"))
        return bert_read(tokenizer, normalizer, e);
    return bl_error_set(e, BL_EFAIL, "the normalizer \"%.80s\" is not supported", type ? type : "(without a type)");
}

static int normalizers_read(struct bl_tokenizer *tokenizer, const json_t *normalizer, struct bl_error *e)
{
    static const char *const known[] = {"type", "normalizers", NULL};
    const char *type = json_string_value(json_object_get(normalizer, "type"));
    if (!normalizer || json_is_null(normalizer))
        return BL_OK;
    if (!type || strcmp(type, "Sequence") != 0)
        return normalizer_read(tokenizer, normalizer, e);
    const json_t *list = json_object_get(normalizer, "normalizers");
    int code = bl_json_members_check(normalizer, "the normalizer Sequence", known, e);
    for (size_t i = 0; i < json_array_size(list) && !code; i++)
        code = normalizer_read(tokenizer, json_array_get(list, i), e);
    return code;
}

/* A file may ask for documents to be truncated or padded. Here the plan decides that; warn. */
static int lengths_warn(struct bl_tokenizer *tokenizer, const json_t *root, struct bl_error *e)
{
    bool cuts = json_is_object(json_object_get(root, "truncation"));
    bool pads = json_is_object(json_object_get(root, "padding"));
    if (!cuts && !pads)
        return BL_OK;
    return bl_tokenizer_warn(tokenizer, e, "its %s%s%s not applied: see -T and --oversize", cuts ? "truncation" : "",
                             cuts && pads ? " and " : "", pads ? "padding" : "");
}

static int root_read(struct bl_tokenizer *tokenizer, const json_t *root, const struct bl_json_value *merges,
                     struct bl_error *e)
{
    static const char *const known[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                        "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    int code = bl_json_members_check(root, "the file", known, e);
    if (code)
        return code;
    code = normalizers_read(tokenizer, json_object_get(root, "normalizer"), e);
    if (code)
        return code;
    code = model_read(tokenizer, root, merges, e);
    if (code)
        return code;
    code = added_read(tokenizer, root, e);
    if (code)
        return code;
    code = bl_tokenizer_warn_missing_tokens(tokenizer, json_object_get(json_object_get(root, "model"), "vocab"),
                                            json_object_get(root, "added_tokens"), e);
    if (code)
        return code;
    code = bl_post_processor_read(tokenizer, json_object_get(root, "post_processor"), e);
    if (code)
        return code;
    return lengths_warn(tokenizer, root, e);
}

int bl_tokenizer_read_json(struct bl_tokenizer *tokenizer, const json_t *root, const struct bl_json_value *merges,
                           const char *path, struct bl_error *e)
{
    int code = root_read(tokenizer, root, merges, e);
    if (code)
        bl_error_prefix(e, "%s", path);
    return code;
}
