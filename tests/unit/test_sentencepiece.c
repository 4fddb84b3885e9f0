#include "base/io.h"
#include "kind/text/encoder.h"
#include "unit.h"
#include "base/output.h"

UNIT_SCRATCH

#define PIECE(text, score, type) "\x0a\x0a\x0a\x01" text "\x15" score "\x18" type
#define ZERO "\0\0\0\0"
#define UNKNOWN PIECE("?", ZERO, "\2")
#define WHOLE(text) text, sizeof(text) - 1

static int open_model(const char *bytes, size_t size, struct bl_tokenizer **tokenizer, struct bl_error *e)
{
    const struct bl_tokenizer_options options = {.path = "t.model"};
    ck_assert_int_eq(bl_output_replace("t.model", bytes, size, e), BL_OK);
    return bl_tokenizer_open(tokenizer, &options, e);
}

UNIT_TEST(what_is_no_model_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } bad[] = {
        {"", 0, "t.model: not a SentencePiece model: it has no pieces"},
        {WHOLE("no model"), "not a SentencePiece model: it is damaged near byte"},
        {WHOLE("\x0a\x7f"), "it is damaged near byte 2"},
        {WHOLE("\x0a\x05\x0a\x09"), "it is damaged"},
        {WHOLE("\x0f"), "it is damaged"},
        {WHOLE(UNKNOWN PIECE("a", ZERO, "\1") PIECE("a", ZERO, "\4")), "the piece 2 is the same as the piece 1"},
        {WHOLE(UNKNOWN UNKNOWN), "the piece 1 is the same as the piece 0"},
        {WHOLE(UNKNOWN PIECE("b", ZERO, "\2")), "the pieces 0 and 1 are both unknown"},
        {WHOLE(PIECE("a", ZERO, "\1")), "no piece for unknown characters"},
        {WHOLE(UNKNOWN PIECE("a", ZERO, "\7")), "the piece 1 is empty, of an unknown type"},
        {WHOLE(UNKNOWN PIECE("a", "\0\0\xc0\x7f", "\1")), "without a score"},
        {WHOLE(UNKNOWN PIECE("\xff", ZERO, "\1")), "the piece 1 is not UTF-8"},
        {WHOLE(UNKNOWN "\x12\x05\x18\x02\x98\x02\x01"), "it has 0 pieces for bytes, not 256"},
        {WHOLE(UNKNOWN "\x1a\x03\x12\x01x"), "the map of the normalizer"},
        {WHOLE(UNKNOWN PIECE("a", ZERO, "\5") "\x12\x02\x18\x02"), "not supported: the unused piece 1"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_tokenizer *tokenizer;
        bl_error_clear(&e);
        ck_assert_msg(open_model(bad[i].bytes, bad[i].size, &tokenizer, &e) == BL_EFAIL, "%zu", i);
        ck_assert_ptr_null(tokenizer);
        ck_assert_msg(strstr(e.text, bad[i].message) != NULL, "\"%s\" where \"%s\" was to come", e.text,
                      bad[i].message);
    }
}

static void ids_are(const char *bytes, size_t size, const char *text, const int32_t *expected, size_t count)
{
    struct bl_tokenizer *tokenizer;
    struct bl_encoder *encoder;
    OWNED(bl_ids_free) struct bl_ids ids = {0};
    struct bl_error e = {0};
    ck_assert_msg(open_model(bytes, size, &tokenizer, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(bl_encoder_open(&encoder, tokenizer, &e), BL_OK);
    ck_assert_msg(bl_encoder_encode(encoder, text, strlen(text), &ids, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(ids.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(ids.id[i], expected[i]);
    ck_assert_int_eq(bl_tokenizer_find(tokenizer, "?"), 0);
    ck_assert_int_eq(bl_tokenizer_find(tokenizer, "b"), 2);
    ck_assert_int_eq(bl_tokenizer_find(tokenizer, "none"), -1);
    bl_encoder_close(encoder);
    bl_tokenizer_close(tokenizer);
}

/* Unigram and BPE without the prefix and with equal scores: of "aba" BPE merges the left pair; unknown ones are one. */
UNIT_TEST(pieces_are_found)
{
#define PIECES                                                                                                         \
    UNKNOWN PIECE("a", ZERO, "\1") PIECE("b", ZERO, "\1") "\x0a\x0b\x0a\x02"                                           \
                                                          "ab\x15" ZERO "\x18\1"                                       \
                                                          "\x0a\x0b\x0a\x02"                                           \
                                                          "ba\x15" ZERO "\x18\1"
    ids_are(WHOLE(PIECES "\x1a\x02\x18\x00"
                         "\x12\x02\x18\x02"),
            "abaxyb a", (int32_t[]){3, 1, 0, 2, 0, 1}, 6);
    ids_are(WHOLE(PIECES "\x1a\x02\x18\x00"), "ababxy", (int32_t[]){3, 3, 0}, 3);
}
