/* What post-processors add, and what of them is refused: their ids against the released package are in
 * tests/readers/test_special_tokens.py. */

#include "base/output.h"
#include "kind/text/tokenizer.h"
#include "unit.h"

UNIT_SCRATCH

#define MODEL                                                                                                          \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,"      \
    "\"[CLS]\":1,\"[SEP]\":2}}"
#define TEMPLATE(single) "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[]," SPECIAL "}"
#define SPECIAL                                                                                                        \
    "\"special_tokens\":{\"c\":{\"id\":\"c\",\"ids\":[1,7],\"tokens\":[\"[CLS]\",\"x\"]},"                             \
    "\"s\":{\"id\":\"s\",\"ids\":[2],\"tokens\":[\"[SEP]\"]},\"none\":{\"id\":\"none\"},\"far\":{\"ids\":[-1]}}"
#define TOKEN(name) "{\"SpecialToken\":{\"id\":\"" name "\",\"type_id\":0}}"
#define TEXT "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define BERT "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]}"
#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":false}"
#define SEQUENCE(list) "{\"type\":\"Sequence\",\"processors\":[" list "]}"

/* Opens a tokenizer with this post-processor. */
static int with_processor(const char *processor, bool wanted, struct bl_tokenizer **tokenizer, struct bl_error *e)
{
    const struct bl_tokenizer_options options = {.path = "tokenizer.json", .add_special_tokens = wanted};
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_buffer_printf(&text, "{\"post_processor\":%s," MODEL "}", processor);
    ck_assert_int_eq(bl_output_replace(options.path, text.data, text.size, e), BL_OK);
    return bl_tokenizer_open(tokenizer, &options, e);
}

UNIT_TEST(what_they_add)
{
    static const struct {
        const char *processor;
        int begins, begin[2], ends, end[2];
        int64_t size; /* of the tokenizer */
    } good[] = {{"null", 0, {0}, 0, {0}, 3},
                {BYTE_LEVEL, 0, {0}, 0, {0}, 3},
                {BERT, 1, {1}, 1, {2}, 3},
                {TEMPLATE(TEXT), 0, {0}, 0, {0}, 3},
                {TEMPLATE(TOKEN("c") "," TEXT), 2, {1, 7}, 0, {0}, 8},
                {TEMPLATE(TEXT "," TOKEN("s") "," TOKEN("s")), 0, {0}, 2, {2, 2}, 3},
                {SEQUENCE(BYTE_LEVEL "," SEQUENCE(BERT) "," BYTE_LEVEL), 1, {1}, 1, {2}, 3}};
    for (size_t i = 0; i < COUNT(good); i++) {
        struct bl_tokenizer *tokenizer;
        struct bl_document_marks begin, end;
        ck_assert_msg(with_processor(good[i].processor, true, &tokenizer, &e) == BL_OK, "%s: %s", good[i].processor,
                      e.text);
        bl_tokenizer_marks(tokenizer, &begin, &end);
        ck_assert_int_eq(begin.count, good[i].begins);
        ck_assert_int_eq(end.count, good[i].ends);
        ck_assert_int_eq(memcmp(begin.id, good[i].begin, sizeof *begin.id * (size_t)begin.count), 0);
        ck_assert_int_eq(memcmp(end.id, good[i].end, sizeof *end.id * (size_t)end.count), 0);
        ck_assert_int_eq(bl_tokenizer_size(tokenizer), good[i].size);
        bl_tokenizer_close(tokenizer);
    }
}

UNIT_TEST(what_is_refused)
{
    static const struct {
        const char *processor, *message;
    } bad[] = {
        {"7", "not supported: the post-processor \"\""},
        {"{\"type\":\"Other\"}", "not supported: the post-processor \"Other\""},
        {"{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2]}", "BertProcessing: \"cls\" is not a token and its id"},
        {"{\"type\":\"RobertaProcessing\",\"sep\":[\"x\",2],\"cls\":[\"x\",-1]}", "RobertaProcessing: a token's id is"},
        {"{\"type\":\"BertProcessing\",\"sep\":[\"x\",2],\"cls\":[\"x\",1],\"new\":1}",
         "not supported: \"new\" of the post-processor"},
        {TEMPLATE(""), "has the text 0 times"},
        {TEMPLATE(TEXT "," TOKEN("s") "," TEXT), "has the text 2 times"},
        {TEMPLATE(TEXT ",{\"Sequence\":{\"id\":\"B\"}}"), "entry 1 is neither a SpecialToken nor the Sequence A"},
        {TEMPLATE(TEXT "," TOKEN("z")), "\"special_tokens\" has no \"z\""},
        {TEMPLATE(TEXT ",{\"SpecialToken\":7}"), "\"special_tokens\" has no \"\""},
        {TEMPLATE(TEXT "," TOKEN("none")), "\"none\" has no array \"ids\""},
        {TEMPLATE(TEXT "," TOKEN("far")), "a token's id is not an integer from 0"},
        {SEQUENCE(BERT "," TEMPLATE(TEXT)), "TemplateProcessing: it follows another one that adds tokens"},
        {SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE("7"))))))))),
         "nested too deeply"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_tokenizer *tokenizer;
        bl_error_clear(&e);
        ck_assert_int_eq(with_processor(bad[i].processor, true, &tokenizer, &e), BL_EFAIL);
        ck_assert_msg(strstr(e.text, bad[i].message) != NULL, "%s: %s", bad[i].processor, e.text);
        ck_assert_ptr_nonnull(strstr(e.text, "tokenizer.json: "));
        /* Who does not ask for its tokens need not care. */
        e = (struct bl_error){0};
        ck_assert_int_eq(with_processor(bad[i].processor, false, &tokenizer, &e), BL_OK);
        bl_tokenizer_close(tokenizer);
    }
}

UNIT_TEST(too_many_tokens_are_refused)
{
    struct bl_tokenizer *tokenizer;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_buffer_text(&text, "{\"type\":\"TemplateProcessing\",\"single\":[" TEXT);
    for (int i = 0; i <= BL_DOCUMENT_MARKS_MAX; i++)
        bl_buffer_text(&text, "," TOKEN("s"));
    bl_buffer_text(&text, "],\"pair\":[]," SPECIAL "}");
    FAILS_WITH(with_processor(text.data, true, &tokenizer, &e), BL_EFAIL, "adds more than 16 tokens on one side");
}
