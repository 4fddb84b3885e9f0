/* The post-processor of a tokenizer.json: which ids `tokenizers` puts before and behind those of a text when it is
 * asked to (encode with add_special_tokens=True). Offsets, which it changes too, are not made here. */
#include <string.h>

#include "kind/text/json_tokenizer.h"
#include "kind/text/tokenizer_warning.h"

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

/* A token as ["[CLS]", 101]. */
static int pair_read(struct bl_tokenizer *tokenizer, const json_t *processor, const char *name,
                     struct bl_document_marks *marks, struct bl_error *e)
{
    const json_t *pair = json_object_get(processor, name);
    if (json_array_size(pair) != 2 || !json_is_string(json_array_get(pair, 0)))
        return bl_error_set(e, BL_EFAIL, "\"%s\" is not a token and its id", name);
    return mark_add(tokenizer, marks, json_array_get(pair, 1), e);
}

static int bert_processing_read(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e)
{
    static const char *const known[] = {"type", "sep", "cls", "trim_offsets", "add_prefix_space", NULL};
    int code = bl_json_members_check(processor, "the post-processor", known, &t->unsupported, e);
    if (code)
        return code;
    code = pair_read(t->tokenizer, processor, "cls", &t->tokenizer->post.begin, e);
    if (code)
        return code;
    return pair_read(t->tokenizer, processor, "sep", &t->tokenizer->post.end, e);
}

/* --- TemplateProcessing ----------------------------------------------------------------------------------------- */

/* The ids of a token of the template, by its name among the special tokens. */
static int template_add(struct bl_json_tokenizer *t, const json_t *tokens, const char *name,
                        struct bl_document_marks *marks, struct bl_error *e)
{
    static const char *const known[] = {"id", "ids", "tokens", NULL};
    const json_t *token = name ? json_object_get(tokens, name) : NULL;
    const json_t *ids = json_object_get(token, "ids");
    if (!token)
        return bl_error_set(e, BL_EFAIL, "\"special_tokens\" has no \"%.80s\"", name ? name : "");
    int code = bl_json_members_check(token, "a token of the post-processor", known, &t->unsupported, e);
    if (!code && !json_is_array(ids))
        code = bl_error_set(e, BL_EFAIL, "\"%.80s\" has no array \"ids\"", name);
    for (size_t i = 0; i < json_array_size(ids) && !code; i++)
        code = mark_add(t->tokenizer, marks, json_array_get(ids, i), e);
    return code;
}

static int template_read(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e)
{
    static const char *const known[] = {"type", "single", "pair", "special_tokens", NULL};
    const json_t *pieces = json_object_get(processor, "single"), *tokens = json_object_get(processor, "special_tokens");
    size_t texts = 0;
    int code = bl_json_members_check(processor, "the post-processor", known, &t->unsupported, e);
    if (code)
        return code;
    for (size_t i = 0; i < json_array_size(pieces) && !code; i++) {
        const json_t *piece = json_array_get(pieces, i), *special = json_object_get(piece, "SpecialToken");
        const char *text = json_string_value(json_object_get(json_object_get(piece, "Sequence"), "id"));
        if (special)
            code = template_add(t, tokens, json_string_value(json_object_get(special, "id")),
                                texts ? &t->tokenizer->post.end : &t->tokenizer->post.begin, e);
        else if (text && strcmp(text, "A") == 0)
            texts++;
        else
            return bl_error_set(e, BL_EFAIL, "\"single\", entry %zu is neither a SpecialToken nor the Sequence A", i);
    }
    if (!code && texts != 1)
        return bl_error_set(e, BL_EFAIL, "\"single\" has the text %zu times: only once is supported", texts);
    return code;
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

/* `tokenizers` gives a second one the parts that the first one made, each as a text of its own. */
static int adder_check(struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    if (tokenizer->post.adders++)
        return bl_error_set(e, BL_EFAIL, "it follows another one that adds tokens, which is not supported");
    return BL_OK;
}

static int processor_read(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e)
{
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, const json_t *processor, struct bl_error *e);
    } adders[] = {{"BertProcessing", bert_processing_read},
                  {"RobertaProcessing", bert_processing_read},
                  {"TemplateProcessing", template_read}};
    const char *type = json_string_value(json_object_get(processor, "type"));
    if (type && strcmp(type, "ByteLevel") == 0) /* changes offsets alone */
        return BL_OK;
    for (size_t i = 0; type && i < sizeof adders / sizeof *adders; i++) {
        if (strcmp(type, adders[i].type) != 0)
            continue;
        int code = adder_check(t->tokenizer, e);
        if (!code)
            code = adders[i].read(t, processor, e);
        if (code)
            bl_error_prefix(e, "the post-processor %s", type);
        return code;
    }
    bl_unsupported_add(&t->unsupported, "the post-processor \"%.80s\"", type ? type : "");
    return BL_OK;
}

/* Reads a processor, or those of a Sequence; depth: of Sequences in each other. */
static int processors_read(struct bl_json_tokenizer *t, const json_t *processor, int depth, struct bl_error *e)
{
    static const char *const known[] = {"type", "processors", NULL};
    const char *type = json_string_value(json_object_get(processor, "type"));
    if (!type || strcmp(type, "Sequence") != 0)
        return processor_read(t, processor, e);
    const json_t *list = json_object_get(processor, "processors");
    if (depth == BL_POST_PROCESSORS_DEPTH)
        return bl_error_set(e, BL_EFAIL, "post-processors are nested too deeply");
    int code = bl_json_members_check(processor, "the post-processor Sequence", known, &t->unsupported, e);
    for (size_t i = 0; i < json_array_size(list) && !code; i++)
        code = processors_read(t, json_array_get(list, i), depth + 1, e);
    return code;
}

int bl_json_read_post_processor(struct bl_json_tokenizer *t, struct bl_error *e)
{
    const json_t *processor = json_object_get(t->root, "post_processor");
    struct bl_post_processor *post = &t->tokenizer->post;
    if (!post->wanted)
        return BL_OK;
    post->found = true;
    int code = processor && !json_is_null(processor) ? processors_read(t, processor, 0, e) : BL_OK;
    if (code || post->begin.count || post->end.count)
        return code;
    return bl_tokenizer_warn(t->tokenizer, e,
                             "it has no post-processor that adds tokens, so --add-special-tokens adds none");
}
