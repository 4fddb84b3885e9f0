#include "kind/text/pre_tokenizer.h"

#include <string.h>

#include "kind/text/json_members.h"
#include "kind/text/tokenizer_warning.h"

static int split_add(struct bl_tokenizer *tokenizer, const struct bl_split *split, struct bl_error *e)
{
    /* Taking a whole piece as a word is the last step. It is not needed where the step before gives words. */
    const struct bl_split *before = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    if (split->grammar == BL_GRAMMAR_WHOLE && !split->prefix_space && before && !before->regex)
        return BL_OK;
    enum bl_grammar both = before ? bl_grammar_join(before->grammar, split->grammar) : BL_GRAMMAR_NONE;
    if (both != BL_GRAMMAR_NONE) {
        tokenizer->split[tokenizer->splits - 1].grammar = both;
        return BL_OK;
    }
    if (tokenizer->splits == BL_SPLITS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d pre-tokenizers are not supported", BL_SPLITS_MAX);
    tokenizer->split[tokenizer->splits++] = *split;
    return BL_OK;
}

static int byte_level_read(struct bl_tokenizer *tokenizer, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex", NULL};
    bool prefix_space = true, regex = true;
    const struct bl_json_flag flags[] = {{"add_prefix_space", &prefix_space}, {"use_regex", &regex}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer ByteLevel", known, e);
    if (code)
        return code;
    code = bl_json_members_read_flags(object, "ByteLevel", flags, e);
    if (code)
        return code;
    struct bl_split split = {.grammar = regex ? BL_GRAMMAR_GPT2 : BL_GRAMMAR_WHOLE, .prefix_space = prefix_space};
    return split_add(tokenizer, &split, e);
}

static int digits_read(struct bl_tokenizer *tokenizer, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "individual_digits", NULL};
    bool individual = false;
    const struct bl_json_flag flags[] = {{"individual_digits", &individual}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer Digits", known, e);
    if (code)
        return code;
    code = bl_json_members_read_flags(object, "Digits", flags, e);
    if (code)
        return code;
    struct bl_split split = {.grammar = individual ? BL_GRAMMAR_DIGITS : BL_GRAMMAR_DIGIT_RUNS};
    return split_add(tokenizer, &split, e);
}

/* Adds a split by a pattern that is not a known grammar, for PCRE2. */
static int regex_add(struct bl_tokenizer *tokenizer, const json_t *pattern, bool literal, struct bl_split *split,
                     struct bl_error *e)
{
    int code = bl_regex_open(&split->regex, json_string_value(pattern), json_string_length(pattern), literal, e);
    if (code)
        return code;
    code = split_add(tokenizer, split, e);
    if (code) {
        bl_regex_close(split->regex);
        return code;
    }
    return bl_regex_is_exact(split->regex) ? BL_OK : bl_tokenizer_warn_pattern(tokenizer, e);
}

/* Known grammars match all of a text. So removing what is between the matches is the same as isolating the matches. */
static int split_read(struct bl_tokenizer *tokenizer, const json_t *object, struct bl_error *e)
{
    static const char *const known[] = {"type", "pattern", "behavior", "invert", NULL};
    const char *behavior = json_string_value(json_object_get(object, "behavior"));
    const json_t *regex = json_object_get(json_object_get(object, "pattern"), "Regex");
    const json_t *literal = json_object_get(json_object_get(object, "pattern"), "String");
    struct bl_split split = {.grammar = BL_GRAMMAR_NONE};
    const struct bl_json_flag flags[] = {{"invert", &split.inverted}, {NULL, NULL}};
    int code = bl_json_members_check(object, "the pre-tokenizer Split", known, e);
    if (code)
        return code;
    code = bl_json_members_read_flags(object, "Split", flags, e);
    if (code)
        return code;
    code = bl_behavior_parse(behavior ? behavior : "", &split.behavior, e);
    if (code)
        return code;
    if (!json_is_string(regex) && !json_is_string(literal))
        return bl_error_set(e, BL_EFAIL, "the pre-tokenizer Split has no pattern");
    if (split.behavior == (split.inverted ? BL_BEHAVIOR_REMOVED : BL_BEHAVIOR_ISOLATED) && json_is_string(regex))
        split.grammar = bl_grammar_find(json_string_value(regex), json_string_length(regex), !split.inverted);
    if (split.grammar != BL_GRAMMAR_NONE)
        return split_add(tokenizer, &split, e);
    return regex_add(tokenizer, json_is_string(regex) ? regex : literal, !json_is_string(regex), &split, e);
}

static int pre_tokenizer_read(struct bl_tokenizer *tokenizer, const json_t *object, bool last, struct bl_error *e)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!type)
        return bl_error_set(e, BL_EFAIL, "a pre-tokenizer without a type");
    bool byte_level = !strcmp(type, "ByteLevel");
    if (last != byte_level)
        return bl_error_set(e, BL_EFAIL,
                            "the pre-tokenizer \"%.80s\" %s is not supported: the last one must be ByteLevel", type,
                            last ? "at the end" : "before others");
    if (byte_level)
        return byte_level_read(tokenizer, object, e);
    if (!strcmp(type, "Split"))
        return split_read(tokenizer, object, e);
    if (!strcmp(type, "Digits"))
        return digits_read(tokenizer, object, e);
    return bl_error_set(e, BL_EFAIL, "the pre-tokenizer \"%.80s\" is not supported", type);
}

int bl_pre_tokenizer_read(struct bl_tokenizer *tokenizer, const json_t *pre_tokenizer, struct bl_error *e)
{
    static const char *const known[] = {"type", "pretokenizers", NULL};
    const char *type = json_string_value(json_object_get(pre_tokenizer, "type"));
    if (!type || strcmp(type, "Sequence") != 0)
        return pre_tokenizer_read(tokenizer, pre_tokenizer, true, e);
    int code = bl_json_members_check(pre_tokenizer, "the pre-tokenizer Sequence", known, e);
    const json_t *list = json_object_get(pre_tokenizer, "pretokenizers");
    size_t count = json_array_size(list);
    if (code)
        return code;
    if (!count)
        return bl_error_set(e, BL_EFAIL, "the pre-tokenizer Sequence is empty: the last one must be ByteLevel");
    for (size_t i = 0; i < count && !code; i++)
        code = pre_tokenizer_read(tokenizer, json_array_get(list, i), i + 1 == count, e);
    return code;
}

int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e)
{
    struct bl_split split = {.grammar = bl_grammar_find(pattern, size, false)}, whole = {.grammar = BL_GRAMMAR_WHOLE};
    if (split.grammar != BL_GRAMMAR_NONE)
        return split_add(tokenizer, &split, e);
    split.behavior = BL_BEHAVIOR_REMOVED;
    split.inverted = true;
    int code = bl_regex_open(&split.regex, pattern, size, false, e);
    if (code)
        return code;
    code = split_add(tokenizer, &split, e);
    if (code) {
        bl_regex_close(split.regex);
        return code;
    }
    code = split_add(tokenizer, &whole, e);
    return code || bl_regex_is_exact(split.regex) ? code : bl_tokenizer_warn_pattern(tokenizer, e);
}
