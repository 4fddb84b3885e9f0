/* Reading a tokenizer.json: the order of its parts, its added tokens and its post-processor.
 *
 * The alphabet comes before the normalizers and the splits, because it decides in which bytes they work, and the model
 * comes last. All parts that are not supported are collected and named in one message, as each alone would send the
 * user through the file again and again. An example of the parts that are read here:
 *
 *     "added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false, ...}],
 *     "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2], ...} */
#include "kind/text/tokenizer_json.h"

#include <string.h>

#include "base/buffer.h"

/* --- post-processors ---------------------------------------------------------------------------------------------- */

/* The post-processor of a tokenizer.json: which ids `tokenizers` puts before and behind those of a text when it is
 * asked to (encode with add_special_tokens=True). Offsets, which it changes too, are not made here. */

/* Adds an id to the marks of one side. BL_EFAIL: it is no id, or there are too many. */
static int mark_add(struct bl_tokenizer *tokenizer, struct bl_document_marks *marks, const json_t *id,
                    struct bl_error *e)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > BL_ID_MAX)
        return bl_error_set(e, BL_EFAIL, "a token's id is not an integer from 0 to %d", BL_ID_MAX);
    if (marks->count == BL_DOCUMENT_MARKS_MAX)
        return bl_error_set(e, BL_EFAIL, "it adds more than %d tokens on one side, which is not supported",
                            BL_DOCUMENT_MARKS_MAX);
    marks->id[marks->count++] = (int32_t)json_integer_value(id);
    bl_tokenizer_count(tokenizer, (int32_t)json_integer_value(id));
    return BL_OK;
}

/* --- BertProcessing, RobertaProcessing -------------------------------------------------------------------------- */

/* Adds the ids of two tokens such as ["[CLS]", 101]. Both processors add one token before and one behind a text; they
 * differ in offsets, which bload does not use. */
static int bert_processing_read(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e)
{
    static const char *const names[2] = {"cls", "sep"};
    for (int side = 0; side < 2; side++) {
        const json_t *pair = json_object_get(processor, names[side]);
        if (json_array_size(pair) != 2 || !json_is_string(json_array_get(pair, 0)))
            return bl_error_set(e, BL_EFAIL, "\"%s\" is not a token and its id", names[side]);
        BL_TRY(mark_add(t->tokenizer, side ? &t->tokenizer->post.end : &t->tokenizer->post.begin,
                        json_array_get(pair, 1), e));
    }
    return BL_OK;
}

/* --- TemplateProcessing ----------------------------------------------------------------------------------------- */

/* Reads the template for a single text, such as "[CLS] $A [SEP]"; that for a pair of texts is not used. The ids of a
 * token are found by its name among the special tokens. They go to the begin before the text, to the end behind it. */
static int template_read(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e)
{
    static const char *const known[] = {"id", "ids", "tokens", NULL};
    const json_t *pieces = json_object_get(processor, "single"), *tokens = json_object_get(processor, "special_tokens");
    struct bl_post_processor *post = &t->tokenizer->post;
    size_t texts = 0;
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        const json_t *piece = json_array_get(pieces, i), *special = json_object_get(piece, "SpecialToken");
        const char *text = json_string_value(json_object_get(json_object_get(piece, "Sequence"), "id"));
        if (!special && text && strcmp(text, "A") == 0) {
            texts++;
            continue;
        }
        if (!special)
            return bl_error_set(e, BL_EFAIL, "\"single\", entry %zu is neither a SpecialToken nor the Sequence A", i);
        const char *name = json_string_value(json_object_get(special, "id"));
        const json_t *token = name ? json_object_get(tokens, name) : NULL;
        const json_t *ids = json_object_get(token, "ids");
        if (!token)
            return bl_error_set(e, BL_EFAIL, "\"special_tokens\" has no \"%.80s\"", name ? name : "");
        BL_TRY(bl_json_members_check(token, "a token of the post-processor", known, &t->unsupported, e));
        if (!json_is_array(ids))
            return bl_error_set(e, BL_EFAIL, "\"%.80s\" has no array \"ids\"", name);
        for (size_t k = 0; k < json_array_size(ids); k++)
            BL_TRY(mark_add(t->tokenizer, texts ? &post->end : &post->begin, json_array_get(ids, k), e));
    }
    if (texts != 1)
        return bl_error_set(e, BL_EFAIL, "\"single\" has the text %zu times: only once is supported", texts);
    return BL_OK;
}

/* --- sequences of post-processors --------------------------------------------------------------------------------- */

/* Reads a processor, or those of a Sequence. The table has its type, its reader and the members that it may have.
 * depth: the number of Sequences around it, which is bounded because each one takes a call. */
static int processor_read(struct bl_json_tokenizer *t, const json_t *processor, int depth, struct bl_error *e)
{
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e);
        const char *members[6];
    } adders[] = {
        {"BertProcessing", bert_processing_read, {"type", "sep", "cls", "trim_offsets", "add_prefix_space"}},
        {"RobertaProcessing", bert_processing_read, {"type", "sep", "cls", "trim_offsets", "add_prefix_space"}},
        {"TemplateProcessing", template_read, {"type", "single", "pair", "special_tokens"}}};
    static const char *const known[] = {"type", "processors", NULL};
    const char *type = bl_json_type(processor);
    const json_t *list = json_object_get(processor, "processors");
    if (strcmp(type, "Sequence") == 0) {
        if (depth == BL_POST_PROCESSORS_DEPTH)
            return bl_error_set(e, BL_EFAIL, "post-processors are nested too deeply");
        BL_TRY(bl_json_members_check(processor, "the post-processor Sequence", known, &t->unsupported, e));
        for (size_t i = 0; i < json_array_size(list); i++)
            BL_TRY(processor_read(t, json_array_get(list, i), depth + 1, e));
        return BL_OK;
    }
    if (strcmp(type, "ByteLevel") == 0) /* changes offsets alone */
        return BL_OK;
    for (size_t i = 0; i < sizeof adders / sizeof *adders; i++) {
        if (strcmp(type, adders[i].type) != 0)
            continue;
        int code = BL_OK;
        /* `tokenizers` gives a second one the parts that the first one made, each as a separate text. */
        if (t->tokenizer->post.adders++)
            code = bl_error_set(e, BL_EFAIL, "it follows another one that adds tokens, which is not supported");
        if (!code)
            code = bl_json_members_check(processor, "the post-processor", adders[i].members, &t->unsupported, e);
        if (!code)
            code = adders[i].read(t, processor, e);
        if (code)
            bl_error_prefix(e, "the post-processor %s", type);
        return code;
    }
    bl_unsupported_add(&t->unsupported, "the post-processor \"%.80s\"", type);
    return BL_OK;
}

/* A file without a post-processor counts as read: it adds no tokens. */
int bl_json_read_post_processor(struct bl_json_tokenizer *t, struct bl_error *e)
{
    const json_t *processor = json_object_get(t->root, "post_processor");
    struct bl_post_processor *post = &t->tokenizer->post;
    if (!post->wanted)
        return BL_OK;
    post->found = true;
    int code = processor && !json_is_null(processor) ? processor_read(t, processor, 0, e) : BL_OK;
    if (code || post->begin.count || post->end.count)
        return code;
    return bl_tokenizer_warn(t->tokenizer, e,
                             "it has no post-processor that adds tokens, so --add-special-tokens adds none");
}

/* --- added tokens and the whole file ------------------------------------------------------------------------------ */

/* A token's normal form has at most ADDED_GROWTH times the bytes of the token and ADDED_MORE bytes: a small file must
 * not cause large allocations. */
#define ADDED_GROWTH 16
#define ADDED_MORE ((size_t)4096)

/* Adds a token. A token that is searched for in normalized text is normalized, too, by all normalizers in turn. */
static int added_add(struct bl_tokenizer *tokenizer, const char *text, size_t size, bool normalized,
                     const struct bl_added_token *token, struct bl_error *e)
{
    struct bl_buffer normal[BL_NORMALIZERS_MAX] = {0};
    struct bl_matcher *matcher = NULL;
    struct bl_normal_text form = {.text = text, .size = size};
    struct bl_error fault = {0};
    int code = bl_tokenizer_has_regex(tokenizer) ? bl_matcher_open(&matcher, e) : BL_OK;
    for (int i = 0; normalized && i < tokenizer->normalizers && !code; i++) {
        normal[i].limit = ADDED_GROWTH * size + ADDED_MORE;
        code = bl_normalizer_apply(&tokenizer->normalizer[i], matcher, &form, &normal[i], &fault);
        if (code && normal[i].is_over)
            bl_error_set(e, code, "its normal form has more than %zu bytes, which is not supported", normal[i].limit);
        else if (code)
            bl_error_pass(e, code, &fault);
    }
    if (!code && !form.size)
        code = bl_error_set(e, BL_EFAIL, "its normal form is empty");
    if (!code)
        code = bl_added_add(normalized ? &tokenizer->normal : &tokenizer->raw, form.text, form.size, token, e);
    bl_matcher_close(matcher);
    for (int i = 0; i < tokenizer->normalizers; i++)
        bl_buffer_free(&normal[i]);
    return code;
}

/* Reads an entry of "added_tokens". "normalized" is true by default except for special tokens, as in `tokenizers`.
 * *largest: the largest id of an added token so far, or -1. */
static int added_read_token(struct bl_json_tokenizer *t, const json_t *item, int64_t *largest, struct bl_error *e)
{
    static const char *const known[] = {"id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL};
    struct bl_added_token token = {0};
    bool normalized, special = false;
    const struct bl_json_flag flags[] = {{"single_word", &token.single_word, false},
                                         {"lstrip", &token.lstrip, false},
                                         {"rstrip", &token.rstrip, false},
                                         {"special", &special, false},
                                         {0}};
    const struct bl_json_flag normal[] = {{"normalized", &normalized, false}, {0}};
    int code = bl_json_members_check(item, "an added token", known, &t->unsupported, e);
    const json_t *content = json_object_get(item, "content"), *id = json_object_get(item, "id");
    if (code)
        return code;
    if (!json_is_string(content) || !json_string_length(content))
        return bl_error_set(e, BL_EFAIL, "\"content\" is missing, or not a string");
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > BL_ID_MAX)
        return bl_error_set(e, BL_EFAIL, "\"id\" is missing, or not an integer from 0 to %d", BL_ID_MAX);
    BL_TRY(bl_json_members_read_flags(item, "it", flags, e));
    /* The default of "normalized" depends on "special", which is known only now. */
    normalized = !special;
    BL_TRY(bl_json_members_read_flags(item, "it", normal, e));
    const char *text = json_string_value(content);
    size_t size = json_string_length(content);
    /* `tokenizers` gives an added token the id of the model's token with this text, otherwise the next free one. The id
     * in the file is only checked: a file may be edited by hand; `tokenizers` ignores its id then, and so the ids of a
     * text would differ. */
    int64_t expected = bl_json_model_find(t, text, size), tokens = (int64_t)bl_json_model_size(t);
    if (expected < 0)
        expected = *largest >= tokens ? *largest + 1 : tokens;
    if (expected > *largest)
        *largest = expected;
    if (expected != json_integer_value(id))
        return bl_error_set(e, BL_EFAIL, "\"%.80s\" has the id %lld, but `tokenizers` gives it %lld", text,
                            (long long)json_integer_value(id), (long long)expected);
    token.id = (int32_t)expected;
    token.plain = special && !t->tokenizer->special;
    bl_tokenizer_count(t->tokenizer, token.id);
    return added_add(t->tokenizer, text, size, normalized, &token, e);
}

/* Reads all parts. A damaged part is reported only if everything is supported, since a part that is not supported may
 * be why another one seems to be damaged. */
static int root_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const char *const known[] = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                                        "pre_tokenizer", "post_processor", "decoder", "model",        NULL};
    static int (*const parts[])(struct bl_json_tokenizer * t, struct bl_error * e) = {
        bl_json_read_alphabet, bl_json_read_normalizers, bl_json_read_splits, bl_json_read_model};
    /* The error of a damaged part waits until it is known whether all parts are supported. */
    struct bl_error damage = {0};
    int code = bl_json_members_check(t->root, "the file", known, &t->unsupported, &damage);
    /* The names of the model's tokens. Unigram has an array instead, which its own reader takes. */
    if (!code && t->lists->vocab.type == BL_JSON_OBJECT) {
        code = bl_names_read(&t->names, &t->lists->vocab, &damage);
        if (code)
            bl_error_prefix(&damage, "\"model.vocab\"");
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !code; i++)
        code = parts[i](t, &damage);
    /* What is unsupported comes first: it may be why a part seems damaged. All of it is named. */
    if (t->unsupported.list.size)
        bl_json_read_post_processor(t, &damage);
    int unsupported = bl_unsupported_check(&t->unsupported, e);
    if (unsupported || code)
        return unsupported ? unsupported : bl_error_pass(e, code, &damage);
    const json_t *added = json_object_get(t->root, "added_tokens");
    if (added && !json_is_array(added) && !json_is_null(added))
        return bl_error_set(e, BL_EFAIL, "\"added_tokens\" is not an array");
    int64_t largest = -1;
    /* The list is read in its order: the ids depend on it. */
    for (size_t i = 0; i < json_array_size(added); i++) {
        code = added_read_token(t, json_array_get(added, i), &largest, e);
        if (code) {
            bl_error_prefix(e, "\"added_tokens\", entry %zu", i);
            return code;
        }
    }
    BL_TRY(bl_json_read_post_processor(t, e));
    BL_TRY(bl_unsupported_check(&t->unsupported, e));
    BL_TRY(bl_tokenizer_warn_missing_tokens(t->tokenizer, &t->names, added, e));
    /* Where a file asks for documents to be truncated or padded: in bload the plan decides that. */
    bool cuts = json_is_object(json_object_get(t->root, "truncation"));
    bool pads = json_is_object(json_object_get(t->root, "padding"));
    if (!cuts && !pads)
        return BL_OK;
    return bl_tokenizer_warn(t->tokenizer, e, "its %s%s%s not applied: see -T and --oversize", cuts ? "truncation" : "",
                             cuts && pads ? " and " : "", pads ? "padding" : "");
}

/* The names and steps are needed only while the file is read. */
int bl_tokenizer_read_json(struct bl_tokenizer *tokenizer, const json_t *root, const struct bl_json_lists *lists,
                           const char *path, struct bl_error *e)
{
    struct bl_json_tokenizer t = {
        .tokenizer = tokenizer, .root = root, .model = json_object_get(root, "model"), .lists = lists};
    int code = root_read(&t, e);
    if (code)
        bl_error_prefix(e, "%s", path);
    bl_vocabulary_free(&t.names);
    bl_json_steps_free(&t.normalizers);
    bl_json_steps_free(&t.splits);
    bl_unsupported_free(&t.unsupported);
    return code;
}
