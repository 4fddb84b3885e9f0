/* Reads the pre-tokenizers of a tokenizer.json into the steps of a tokenizer.
 *
 * A table lists each type with its known members, for example {"type": "Digits", "individual_digits": true}. Types
 * without options have their step in the table. Unknown types and members are listed as unsupported, since ids would
 * differ. */
#include <string.h>

#include "base/text.h"
#include "kind/text/tokenizer_json.h"

/* Reads ByteLevel. Where words are bytes, the last ByteLevel only splits; otherwise a second step writes the pieces in
 * the byte-level alphabet. "trim_offsets" does not change ids. */
static int byte_level_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    /* The defaults are those of `tokenizers`. */
    bool prefix = true, regex = true, bytes = t->tokenizer->alphabet.kind == BL_ALPHABET_BYTES;
    const struct bl_json_flag flags[] = {{"add_prefix_space", &prefix, false}, {"use_regex", &regex, false}, {0}};
    int code = bl_json_members_read_flags(object, "ByteLevel", flags, e);
    struct bl_split split = {.kind = BL_SPLIT_NONE, .mark = ' ', .prefix = prefix ? BL_PREFIX_ALWAYS : BL_PREFIX_NEVER};
    const struct bl_split rewrite = {.kind = BL_SPLIT_NONE, .mark = ' ', .rewrite = BL_REWRITE_BYTES};
    /* The expression of ByteLevel is always that of GPT-2. */
    if (regex) {
        split.kind = BL_SPLIT_GRAMMAR;
        split.grammar = BL_GRAMMAR_GPT2;
    }
    /* A step without effect would only cost time. */
    if (!code && (regex || prefix))
        code = bl_tokenizer_add_split(t->tokenizer, &split, e);
    return code || bytes ? code : bl_tokenizer_add_split(t->tokenizer, &rewrite, e);
}

/* Reads Digits: runs of digits are words, or each digit is one. */
static int digits_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    bool individual = false;
    const struct bl_json_flag flags[] = {{"individual_digits", &individual, false}, {0}};
    int code = bl_json_members_read_flags(object, "Digits", flags, e);
    struct bl_split split = {.grammar = individual ? BL_GRAMMAR_DIGITS : BL_GRAMMAR_DIGIT_RUNS};
    return code ? code : bl_tokenizer_add_split(t->tokenizer, &split, e);
}

/* Sets the behavior of a step; Punctuation isolates by default. */
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
    struct bl_split split = {.kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_PUNCTUATION};
    behavior_read(t, object, &split);
    return bl_tokenizer_add_split(t->tokenizer, &split, e);
}

/* Reads Split. A known expression becomes a grammar, which is much faster than the matcher. A grammar matches all of a
 * text, so removing the text between the matches gives the same as isolating the matches. */
static int split_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    bool literal;
    const json_t *pattern = bl_json_pattern(object, &literal);
    struct bl_error why = {0};
    struct bl_split split = {.kind = BL_SPLIT_GRAMMAR};
    const struct bl_json_flag flags[] = {{"invert", &split.inverted, false}, {0}};
    BL_TRY(bl_json_members_read_flags(object, "Split", flags, e));
    behavior_read(t, object, &split);
    if (!pattern || !json_object_get(object, "behavior"))
        return bl_error_set(e, BL_EFAIL, "the pre-tokenizer Split has no pattern, or no behavior");
    const char *text = json_string_value(pattern);
    size_t size = json_string_length(pattern);
    if (t->marked && !strcmp(text, " "))
        return BL_OK; /* the text has no spaces any more: all were marked */
    if (t->marked)
        text = " ", size = 1; /* the pattern is U+2581, for which the text has spaces */
    if (split.behavior == (split.inverted ? BL_BEHAVIOR_REMOVED : BL_BEHAVIOR_ISOLATED) && !literal)
        split.grammar = bl_grammar_find(text, size, !split.inverted);
    if (split.grammar != BL_GRAMMAR_NONE)
        return bl_tokenizer_add_split(t->tokenizer, &split, e);
    int code = bl_tokenizer_add_regex(t->tokenizer, text, size, literal, &split, &why);
    if (code != BL_EDATA)
        return bl_error_pass(e, code, &why);
    bl_unsupported_add(&t->unsupported, "the pattern \"%.80s\" (%.150s)", text, why.text);
    return BL_OK; /* reading goes on, so that the message names all that is unsupported */
}

/* Reads Metaspace: where it adds its mark, and whether it splits. Old files have "add_prefix_space", and new ones
 * "prepend_scheme"; false in the old member wins. Where words are text, it splits before each mark. */
static int metaspace_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    static const char *const schemes[] = {
        [BL_PREFIX_NEVER] = "never", [BL_PREFIX_FIRST] = "first", [BL_PREFIX_ALWAYS] = "always"};
    struct bl_tokenizer *tokenizer = t->tokenizer;
    bool add = true, splits = true;
    const struct bl_json_flag flags[] = {{"add_prefix_space", &add, true}, {"split", &splits, true}, {0}};
    const json_t *scheme = json_object_get(object, "prepend_scheme"), *mark = json_object_get(object, "replacement");
    /* "always" is the default of `tokenizers`. */
    struct bl_split split = {.rewrite = BL_REWRITE_MARKS, .prefix = BL_PREFIX_ALWAYS};
    for (int i = 0; i < 3; i++) {
        if (json_is_string(scheme) && !strcmp(json_string_value(scheme), schemes[i])) {
            split.prefix = (enum bl_prefix)i;
            scheme = NULL;
        }
    }
    /* A scheme that none of the names matched. */
    if (scheme)
        return bl_error_set(e, BL_EFAIL, "Metaspace: \"prepend_scheme\" is not \"always\", \"first\" or \"never\"");
    BL_TRY(bl_json_members_read_flags(object, "Metaspace", flags, e));
    if (!add)
        split.prefix = BL_PREFIX_NEVER;
    if (!json_is_string(mark) || !json_string_length(mark) ||
        bl_utf8_decode(json_string_value(mark), &split.mark) != json_string_length(mark))
        return bl_error_set(e, BL_EFAIL, "Metaspace: \"replacement\" is not one character");
    if (tokenizer->alphabet.kind != BL_ALPHABET_SPACES) {
        split.kind = splits ? BL_SPLIT_CHARACTERS : BL_SPLIT_NONE;
        /* The mark stays at the beginning of its word. */
        split.behavior = BL_BEHAVIOR_MERGED_WITH_NEXT;
        split.class = BL_CLASS_ONE;
        split.one = split.mark;
        return bl_tokenizer_add_split(tokenizer, &split, e);
    }
    /* Words have spaces for U+2581. After WhitespaceSplit, which removes white space, each word gets a space: one step
     * then does the work of both, as in T5. */
    t->marked = true;
    split.mark = ' ';
    split.rewrite = BL_REWRITE_SPACES;
    split.kind = splits ? BL_SPLIT_SPACES : BL_SPLIT_NONE;
    struct bl_split *before = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    bool words = before && before->kind == BL_SPLIT_CHARACTERS && before->class == BL_CLASS_SPACE &&
                 before->behavior == BL_BEHAVIOR_REMOVED;
    if (!words || !splits || split.prefix != BL_PREFIX_ALWAYS)
        return bl_tokenizer_add_split(tokenizer, &split, e);
    *before = (struct bl_split){.kind = BL_SPLIT_SPACES, .rewrite = BL_REWRITE_WORDS};
    return BL_OK;
}

/* Reads CharDelimiterSplit: a character divides pieces and is removed. */
static int delimiter_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    const json_t *delimiter = json_object_get(object, "delimiter");
    struct bl_split split = {.kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_ONE, .behavior = BL_BEHAVIOR_REMOVED};
    if (!json_is_string(delimiter) || !json_string_length(delimiter) ||
        bl_utf8_decode(json_string_value(delimiter), &split.one) != json_string_length(delimiter))
        return bl_error_set(e, BL_EFAIL, "CharDelimiterSplit: \"delimiter\" is not one character");
    return bl_tokenizer_add_split(t->tokenizer, &split, e);
}

static int length_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    /* Characters, from 1 on. */
    const json_t *length = json_object_get(object, "length");
    struct bl_split split = {.kind = BL_SPLIT_LENGTH, .length = 5}; /* the default of `tokenizers` */
    if (length && (!json_is_integer(length) || json_integer_value(length) < 1))
        return bl_error_set(e, BL_EFAIL, "FixedLength: \"length\" is not an integer from 1");
    if (length)
        split.length = (size_t)json_integer_value(length);
    return bl_tokenizer_add_split(t->tokenizer, &split, e);
}

/* Adds the steps of one pre-tokenizer. An unknown type is listed as unsupported. */
static int pre_tokenizer_read(struct bl_json_tokenizer *t, const json_t *object, struct bl_error *e)
{
    /* "str_rep" and "trim_offsets" do not change ids, so they are known and not read. */
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, const json_t *object,
                    struct bl_error *e); /* NULL: split is the step */
        const char *members[7];
        struct bl_split split;
    } types[] = {
        {"ByteLevel", byte_level_read, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, {0}},
        {"Split", split_read, {"type", "pattern", "behavior", "invert"}, {0}},
        {"Digits", digits_read, {"type", "individual_digits"}, {0}},
        {"Punctuation", punctuation_read, {"type", "behavior"}, {0}},
        {"Metaspace",
         metaspace_read,
         {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"},
         {0}},
        {"Whitespace", NULL, {"type"}, {.kind = BL_SPLIT_WORDS}},
        {"WhitespaceSplit",
         NULL,
         {"type"},
         {.kind = BL_SPLIT_CHARACTERS, .class = BL_CLASS_SPACE, .behavior = BL_BEHAVIOR_REMOVED}},
        {"BertPreTokenizer", NULL, {"type"}, {.kind = BL_SPLIT_BERT}},
        {"CharDelimiterSplit", delimiter_read, {"type", "delimiter"}, {0}},
        {"FixedLength", length_read, {"type", "length"}, {0}},
        {"UnicodeScripts", NULL, {"type"}, {.kind = BL_SPLIT_SCRIPTS}},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].type, bl_json_type(object)) != 0)
            continue;
        int code =
            bl_json_step_check(object, "pre-tokenizer", types[i].read != NULL, types[i].members, &t->unsupported, e);
        if (code)
            return code;
        return types[i].read ? types[i].read(t, object, e) : bl_tokenizer_add_split(t->tokenizer, &types[i].split, e);
    }
    bl_unsupported_add(&t->unsupported, "the pre-tokenizer \"%.80s\"", bl_json_type(object));
    return BL_OK;
}

int bl_json_read_splits(struct bl_json_tokenizer *t, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < t->splits.count;
         i++) { /* reads on after an error, so that the message names all that is unsupported */
        int one = pre_tokenizer_read(t, t->splits.step[i], e);
        code = code ? code : one;
    }
    return code;
}
