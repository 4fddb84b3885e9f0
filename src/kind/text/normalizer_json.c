/* Reads the normalizers of a tokenizer.json into the steps of a tokenizer.
 *
 * A table lists each type with its members and its defaults, for example {"type": "Strip", "strip_left": true,
 * "strip_right": false}. A type with members has a function that reads them. Members and types that are not in the
 * table are listed as unsupported, since ids would differ. */
#include <string.h>

#include "base/text.h"
#include "kind/text/tokenizer_json.h"

/* Reads the members of one type of normalizer into *n, which has the defaults. bl_json_step_check was called before.
 * BL_EFAIL: a member has the wrong type. */
typedef int normalizer_reader(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n,
                              struct bl_error *e);

static int bert_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n, struct bl_error *e)
{
    static const char what[] = "the normalizer BertNormalizer";
    struct bl_bert_options *bert = &n->bert;
    const struct bl_json_flag flags[] = {{"clean_text", &bert->clean_text, false},
                                         {"handle_chinese_chars", &bert->handle_chinese_chars, false},
                                         {"lowercase", &bert->lowercase, false},
                                         {0}};
    /* null is valid for strip_accents only. */
    const struct bl_json_flag accents[] = {{"strip_accents", &bert->strip_accents, true}, {0}};
    (void)t;
    int code = bl_json_members_read_flags(object, what, flags, e);
    /* strip_accents is as lowercase where it is null or missing, so lowercase is read first. */
    bert->strip_accents = bert->lowercase;
    return code ? code : bl_json_members_read_flags(object, what, accents, e);
}

static int strip_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n, struct bl_error *e)
{
    const struct bl_json_flag flags[] = {{"strip_left", &n->left, false}, {"strip_right", &n->right, false}, {0}};
    (void)t;
    return bl_json_members_read_flags(object, "the normalizer Strip", flags, e);
}

/* Reads Replace. Patterns that regex.h cannot read are listed as unsupported, and no error, so that the message names
 * all. */
static int replace_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n, struct bl_error *e)
{
    static const char mark[] = BL_METASPACE;
    bool literal;
    const json_t *pattern = bl_json_pattern(object, &literal), *content = json_object_get(object, "content");
    if (!pattern || !json_string_length(pattern) || !json_is_string(content))
        return bl_error_set(e, BL_EFAIL, "the normalizer Replace has no pattern, or no content");
    /* The step that turns spaces into U+2581, in a tokenizer whose words have spaces. */
    bool marks = t->tokenizer->alphabet.kind == BL_ALPHABET_SPACES && literal &&
                 !strcmp(json_string_value(pattern), " ") && !strcmp(json_string_value(content), mark);
    /* The alphabet keeps spaces and replaces U+2581 instead (model_json.c): the step is turned around. */
    if (marks) {
        bl_buffer_append(&n->from, mark, sizeof mark - 1);
        bl_buffer_byte(&n->to, ' ');
        t->marked = true;
        return BL_OK;
    }
    bl_buffer_append(&n->to, json_string_value(content), json_string_length(content));
    bl_buffer_append(&n->from, json_string_value(pattern), json_string_length(pattern));
    /* The text of a BL_EDATA error goes into the list of unsupported features. */
    struct bl_error why = {0};
    int code = literal ? BL_OK : bl_regex_open(&n->regex, n->from.data, n->from.size, false, &why);
    if (code == BL_EDATA)
        bl_unsupported_add(&t->unsupported, "the pattern \"%.80s\" (%.150s)", json_string_value(pattern), why.text);
    else if (code)
        return bl_error_pass(e, code, &why);
    if (n->regex && bl_regex_matches_empty(n->regex))
        bl_unsupported_add(&t->unsupported, "the normalizer Replace with a pattern that matches empty text");
    return BL_OK;
}

static int prepend_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n, struct bl_error *e)
{
    const struct bl_alphabet spaces = {.kind = BL_ALPHABET_SPACES};
    const json_t *prepend = json_object_get(object, "prepend");
    if (!json_is_string(prepend))
        return bl_error_set(e, BL_EFAIL, "the normalizer Prepend has no \"prepend\"");
    /* Where the text already has spaces for U+2581, U+2581 is prepended as a space, too. */
    if (t->marked)
        bl_alphabet_decode(&spaces, json_string_value(prepend), json_string_length(prepend), &n->to);
    else
        bl_buffer_append(&n->to, json_string_value(prepend), json_string_length(prepend));
    return BL_OK;
}

/* Reads Precompiled: the map is in base64. */
static int precompiled_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_normalizer *n,
                            struct bl_error *e)
{
    (void)t;
    const json_t *map = json_object_get(object, "precompiled_charsmap");
    struct bl_buffer bytes = {0};
    bl_buffer_append(&bytes, json_string_value(map), json_string_length(map));
    int code = bl_buffer_check(&bytes, e);
    if (code)
        goto out;
    /* The buffer is decoded in place. */
    int64_t size = json_is_string(map) ? bl_base64_decode(bytes.data, bytes.size) : -1;
    if (size < 0)
        code = bl_error_set(e, BL_EFAIL, "the normalizer Precompiled: \"precompiled_charsmap\" is not base64");
    else
        code = bl_precompiled_open(&n->precompiled, bytes.data, (size_t)size, e);
out:
    bl_buffer_free(&bytes);
    return code;
}

/* The types with their members and their defaults. */
static const struct {
    const char *type;
    normalizer_reader *read; /* NULL: it has no member except its type */
    const char *members[7];
    struct bl_normalizer normalizer;
} types[] = {
    {"NFC", NULL, {"type"}, {.kind = BL_NORMALIZER_FORM, .form = BL_NFC}},
    {"NFD", NULL, {"type"}, {.kind = BL_NORMALIZER_FORM, .form = BL_NFD}},
    {"NFKC", NULL, {"type"}, {.kind = BL_NORMALIZER_FORM, .form = BL_NFKC}},
    {"NFKD", NULL, {"type"}, {.kind = BL_NORMALIZER_FORM, .form = BL_NFKD}},
    {"BertNormalizer",
     bert_read,
     {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
     {.kind = BL_NORMALIZER_BERT, .bert = {.clean_text = true, .handle_chinese_chars = true, .lowercase = true}}},
    {"Lowercase", NULL, {"type"}, {.kind = BL_NORMALIZER_BERT, .bert = {.lowercase = true}}},
    {"Strip",
     strip_read,
     {"type", "strip_left", "strip_right"},
     {.kind = BL_NORMALIZER_STRIP, .left = true, .right = true}},
    {"StripAccents", NULL, {"type"}, {.kind = BL_NORMALIZER_STRIP_ACCENTS}},
    {"Replace", replace_read, {"type", "pattern", "content"}, {.kind = BL_NORMALIZER_REPLACE}},
    {"Prepend", prepend_read, {"type", "prepend"}, {.kind = BL_NORMALIZER_PREPEND}},
    {"Nmt", NULL, {"type"}, {.kind = BL_NORMALIZER_NMT}},
    {"ByteLevel", NULL, {"type"}, {.kind = BL_NORMALIZER_BYTES}},
    {"Precompiled", precompiled_read, {"type", "precompiled_charsmap"}, {.kind = BL_NORMALIZER_PRECOMPILED}},
};

/* Reads one step. An unknown type is listed as unsupported. */
static int normalizer_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = t->tokenizer;
    const char *type = bl_json_type(object);
    /* The type decides about all else, so it comes first. */
    size_t i = 0;
    while (i < sizeof types / sizeof *types && strcmp(types[i].type, type) != 0)
        i++;
    if (i == sizeof types / sizeof *types) {
        bl_unsupported_add(&t->unsupported, "the normalizer \"%.80s\"", type);
        return BL_OK;
    }
    /* The steps have a fixed array; published tokenizers have few. */
    if (tokenizer->normalizers == BL_NORMALIZERS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d normalizers are not supported", BL_NORMALIZERS_MAX);
    struct bl_normalizer *n = &tokenizer->normalizer[tokenizer->normalizers++];
    *n = types[i].normalizer;
    int code = bl_json_step_check(object, "normalizer", types[i].read != NULL, types[i].members, &t->unsupported, e);
    if (!code && types[i].read)
        code = types[i].read(t, object, n, e);
    if (!code)
        code = bl_buffer_check(&n->from, e);
    return code ? code : bl_buffer_check(&n->to, e);
}

/* The order of the steps decides: t->marked is set by Replace and read by the steps behind it. A prepended U+2581
 * becomes a space. Prepend comes right before the step that replaces U+2581 by spaces, so the result is the same, and
 * that step then finds nothing to change in most texts. */
int bl_json_read_normalizers(struct bl_json_tokenizer *t, struct bl_error *e)
{
    struct bl_normalizer *first = t->tokenizer->normalizer;
    int code = BL_OK;
    for (size_t i = 0; i < t->normalizers.count && !code; i++)
        code = normalizer_read(t, t->normalizers.step[i], e);
    if (t->marked && t->tokenizer->normalizers == 2 && first->kind == BL_NORMALIZER_PREPEND &&
        first->to.size == strlen(BL_METASPACE) && !memcmp(first->to.data, BL_METASPACE, first->to.size)) {
        bl_buffer_clear(&first->to);
        bl_buffer_byte(&first->to, ' ');
    }
    return code;
}
