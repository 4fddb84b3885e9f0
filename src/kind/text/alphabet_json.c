/* Which alphabet the words of a tokenizer.json have (alphabet.h).
 *
 * Where the last step is ByteLevel, words are bytes. Where spaces become U+2581 in the end, for which tokens then have
 * U+2581, words have spaces instead: U+2581 becomes a space where it occurs, which is seldom, and all spaces stay as
 * they are. The steps that follow must not tell the two apart. */
#include <string.h>

#include "base/utf8.h"
#include "kind/text/json_tokenizer.h"

const json_t *bl_json_pattern(const json_t *object, bool *literal)
{
    const json_t *pattern = json_object_get(object, "pattern"), *text = json_object_get(pattern, "String");
    *literal = text != NULL;
    text = text ? text : json_object_get(pattern, "Regex");
    return json_is_string(text) ? text : NULL;
}

static bool member_is(const json_t *object, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text && !strcmp(text, value);
}

static bool literal_pattern_is(const json_t *object, const char *value)
{
    bool literal;
    const json_t *pattern = bl_json_pattern(object, &literal);
    return pattern && literal && json_string_length(pattern) == strlen(value) &&
           !strcmp(json_string_value(pattern), value);
}

static bool type_is(const json_t *object, const char *type)
{
    return !strcmp(bl_json_type(object), type);
}

/* Whether a normalizer replaces all spaces by U+2581. */
static bool replaces_spaces(const json_t *n)
{
    return type_is(n, "Replace") && literal_pattern_is(n, " ") && member_is(n, "content", BL_METASPACE);
}

/* Whether a step gives the same with spaces in place of U+2581, or can be read so. */
static bool normalizer_keeps_marks(const json_t *n)
{
    const char *prepended = json_string_value(json_object_get(n, "prepend"));
    return type_is(n, "Prepend") && prepended && !strchr(prepended, ' ');
}

static bool split_keeps_marks(const json_t *s)
{
    if (type_is(s, "Split"))
        return (literal_pattern_is(s, " ") || literal_pattern_is(s, BL_METASPACE)) &&
               !json_is_true(json_object_get(s, "invert"));
    return type_is(s, "Digits") || type_is(s, "Punctuation") ||
           (type_is(s, "Metaspace") && member_is(s, "replacement", BL_METASPACE));
}

/* Whether an added token that is looked for in normalised text includes white space beside it, which a space is, and
 * U+2581 is not. */
static bool added_tokens_strip(const json_t *root)
{
    const json_t *list = json_object_get(root, "added_tokens"), *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const json_t *normalized = json_object_get(item, "normalized");
        if ((json_is_true(json_object_get(item, "lstrip")) || json_is_true(json_object_get(item, "rstrip"))) &&
            (normalized ? json_is_true(normalized) : !json_is_true(json_object_get(item, "special"))))
            return true;
    }
    return false;
}

/* Whether spaces have all become U+2581 in the end. */
static bool spaces_are_marked(const struct bl_json_tokenizer *t)
{
    bool marked = false;
    for (size_t i = 0; i < t->normalizers.count; i++) {
        const json_t *n = t->normalizers.step[i];
        if (marked && !normalizer_keeps_marks(n))
            return false;
        marked = marked || replaces_spaces(n);
    }
    if (marked && added_tokens_strip(t->root))
        return false;
    for (size_t i = 0; i < t->splits.count; i++) {
        const json_t *s = t->splits.step[i];
        bool marks = type_is(s, "Metaspace") && member_is(s, "replacement", BL_METASPACE);
        if (marked && !split_keeps_marks(s))
            return false;
        marked = marked || marks;
    }
    return marked;
}

static bool tokens_have_spaces(const struct bl_json_tokenizer *t)
{
    const struct bl_json_value *list = &t->lists->vocab;
    struct bl_json_value item, piece;
    if (t->names.count && memchr(t->names.bytes.data, ' ', t->names.bytes.size))
        return true;
    for (size_t at = 0; list->type == BL_JSON_ARRAY && bl_json_next(list, &at, &item);) {
        size_t in_item = 0;
        if (item.type != BL_JSON_ARRAY || !bl_json_next(&item, &in_item, &piece))
            continue;
        if (memchr(piece.text, ' ', piece.size) || (piece.escaped && memmem(piece.text, piece.size, "\\u0020", 6)))
            return true;
    }
    return false;
}

/* Whether ByteLevel is the last step, and no other one. */
static bool ends_with_bytes(const struct bl_json_tokenizer *t)
{
    for (size_t i = 0; i < t->normalizers.count; i++) {
        if (type_is(t->normalizers.step[i], "ByteLevel"))
            return false;
    }
    for (size_t i = 0; i + 1 < t->splits.count; i++) {
        if (type_is(t->splits.step[i], "ByteLevel"))
            return false;
    }
    return t->splits.count && type_is(t->splits.step[t->splits.count - 1], "ByteLevel");
}

/* Whether all bytes of UTF-8 are tokens. */
static bool bytes_are_tokens(const struct bl_vocabulary *names)
{
    struct bl_buffer text = {0};
    bool there = true;
    for (int i = 0; i < 0xf5 && there; i++) {
        bl_buffer_clear(&text);
        bl_alphabet_append_bytes(&(char){(char)i}, 1, &text);
        there = i == 0xc0 || i == 0xc1 || (!text.failed && bl_names_find(names, text.data, text.size) >= 0);
    }
    bl_buffer_free(&text);
    return there;
}

static bool has_byte_level(const struct bl_json_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        if (type_is(steps->step[i], "ByteLevel"))
            return true;
    }
    return false;
}

int bl_json_read_alphabet(struct bl_json_tokenizer *t, struct bl_error *e)
{
    const char *type = bl_json_model_type(t->model);
    struct bl_alphabet *alphabet = &t->tokenizer->alphabet;
    const char *suffix = json_string_value(json_object_get(t->model, "end_of_word_suffix"));
    int code = bl_json_steps_add(&t->normalizers, json_object_get(t->root, "normalizer"), "normalizers", "normalizer",
                                 &t->unsupported, e);
    if (!code)
        code = bl_json_steps_add(&t->splits, json_object_get(t->root, "pre_tokenizer"), "pretokenizers",
                                 "pre-tokenizer", &t->unsupported, e);
    if (code)
        return code;
    t->covered = (has_byte_level(&t->normalizers) || has_byte_level(&t->splits)) && bytes_are_tokens(&t->names);
    if (!strcmp(type, "BPE") && ends_with_bytes(t) && t->covered)
        alphabet->kind = BL_ALPHABET_BYTES;
    else if (strcmp(type, "WordPiece") != 0 && spaces_are_marked(t) && !tokens_have_spaces(t))
        alphabet->kind = BL_ALPHABET_SPACES;
    if (strcmp(type, "BPE") != 0 || !suffix)
        return BL_OK;
    if (strlen(suffix) > BL_SUFFIX_MAX)
        bl_unsupported_add(&t->unsupported, "an end_of_word_suffix of more than %d bytes", BL_SUFFIX_MAX);
    else
        strcpy(alphabet->suffix, suffix);
    return BL_OK;
}
