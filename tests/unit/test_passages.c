/* Texts of pieces in runs: shading, characters of several tokens, what cannot be seen, and ids without a tokenizer. */
#include "show/passages.h"
#include "unit.h"

static struct bl_tokenizer *tokenizer;
static struct bl_detokenizer *detokenizer;

static void tokenizer_open(void)
{
    struct bl_error e = {0};
    const struct bl_tokenizer_options options = {.path = "bytes"};
    ck_assert_int_eq(bl_tokenizer_open(&tokenizer, &options, &e), BL_OK);
    ck_assert_int_eq(bl_detokenizer_open(&detokenizer, tokenizer, &e), BL_OK);
}

static void tokenizer_close(void)
{
    bl_detokenizer_close(detokenizer);
    bl_tokenizer_close(tokenizer);
}

/* Adds a token for each byte; those whose place in `shades` has an "x" are shaded. */
static void piece_add(struct bl_passages *p, size_t piece, const char *text, const char *shades)
{
    struct bl_error e = {0};
    for (size_t i = 0; text[i]; i++)
        ck_assert_msg(bl_passages_add(p, detokenizer, (uint8_t)text[i], i < strlen(shades) && shades[i] == 'x', &e) ==
                          BL_OK,
                      "%s", e.text);
    ck_assert_int_eq(bl_passages_end(p, piece, &e), BL_OK);
}

/* All runs, as "piece:text" with "|" behind each; what is shaded is in brackets. */
static void runs_are(const struct bl_passages *p, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    size_t at = 0;
    bl_buffer_text(&out, "");
    for (size_t r = 0; r < p->runs; r++) {
        bl_buffer_printf(&out, p->run[r].is_shaded ? "%zu:[" : "%zu:", p->run[r].piece);
        bl_buffer_append(&out, p->text.data + at, p->run[r].end - at);
        bl_buffer_text(&out, p->run[r].is_shaded ? "]|" : "|");
        at = p->run[r].end;
    }
    ck_assert_str_eq(out.data, expected);
    ck_assert_uint_eq(at, p->text.size);
}

static void text_becomes(const char *text, const char *shades, const char *expected)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    piece_add(&p, 0, text, shades);
    runs_are(&p, expected);
}

UNIT_TEST(runs_change_with_the_shading)
{
    text_becomes("abcdef", "", "0:abcdef|");
    text_becomes("abcdef", "xxxxxx", "0:[abcdef]|");
    text_becomes("abcdef", "xx  x", "0:[ab]|0:cd|0:[e]|0:f|");
    text_becomes("abcdef", "     x", "0:abcde|0:[f]|");
    text_becomes("", "", "");
}

/* A character whose bytes are of two tokens is not cut: it belongs to the first. */
UNIT_TEST(characters_are_whole)
{
    text_becomes("\xc3\xa9z", "x", "0:[\xc3\xa9]|0:z|");
    text_becomes("\xc3\xa9z", " xx", "0:\xc3\xa9|0:[z]|");
    text_becomes("\xf0\x9f\x99\x82", "x x ", "0:[\xf0\x9f\x99\x82]|");
    text_becomes("a\xf0\x9f\x99\x82"
                 "b",
                 "  x xx", "0:a\xf0\x9f\x99\x82|0:[b]|");
}

UNIT_TEST(what_is_no_text_is_replaced)
{
    text_becomes("a\xff"
                 "b",
                 "",
                 "0:a\xef\xbf\xbd"
                 "b|");
    text_becomes("\xa9", "", "0:\xef\xbf\xbd|");                                 /* begins within a character */
    text_becomes("caf\xc3", "", "0:caf\xef\xbf\xbd|");                           /* ends within one */
    text_becomes("\xed\xa0\x80", "", "0:\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"); /* half of a pair of UTF-16 */
}

/* Nothing that a terminal would obey, or a page would not show. */
UNIT_TEST(controls_are_masked)
{
    text_becomes("a\033[31mb\rc\x7f", "", "0:a?[31mb?c?|");
    text_becomes("line\n\tnext", "", "0:line\n\tnext|");
    text_becomes("\xe2\x80\xae"
                 "abc\xc2\x9b",
                 "", "0:?abc?|"); /* right to left; CSI of C1 */
    OWNED(bl_passages_free) struct bl_passages p = {0};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(bl_passages_add(&p, detokenizer, 0, i == 1, &e), BL_OK);
    ck_assert_int_eq(bl_passages_end(&p, 0, &e), BL_OK);
    runs_are(&p, "0:?|0:[?]|0:?|");
}

UNIT_TEST(pieces_are_apart)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    piece_add(&p, 0, "ab\xc3", "xxx"); /* neither the character nor the shading goes on in the next */
    piece_add(&p, 1,
              "\xa9"
              "c",
              "");
    ck_assert_int_eq(bl_passages_add(&p, detokenizer, 'x', true, &e), BL_OK);
    bl_passages_drop(&p);
    piece_add(&p, 3, "de", " x");
    runs_are(&p, "0:[ab\xef\xbf\xbd]|1:\xef\xbf\xbd"
                 "c|3:d|3:[e]|");
}

UNIT_TEST(ids_are_numbers)
{
    static const int64_t id[] = {7, -100, INT64_MAX, 0, 12};
    OWNED(bl_passages_free) struct bl_passages p = {0};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(bl_passages_add(&p, NULL, id[i], i == 3, &e), BL_OK);
    ck_assert_int_eq(bl_passages_end(&p, 2, &e), BL_OK);
    runs_are(&p, "2:7 -100 9223372036854775807|2:[ 0]|2: 12|");
}

UNIT_TEST(ids_of_no_token_are_faults)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    FAILS(bl_passages_add(&p, detokenizer, 256, false, &e), BL_EDATA, "the tokenizer has no token with the id 256");
    ck_assert_int_eq(bl_passages_add(&p, detokenizer, -1, true, &e), BL_EDATA);
    bl_passages_drop(&p);
    piece_add(&p, 0, "a", "");
    runs_are(&p, "0:a|");
}

UNIT_TEST(more_text_than_is_shown_is_refused)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    char *text = malloc(BL_PASSAGES_MAX);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', BL_PASSAGES_MAX);
    bl_buffer_append(&p.bytes, text, BL_PASSAGES_MAX);
    free(text);
    p.bytes.capacity = BL_PASSAGES_MAX + 1; /* it would have room by chance */
    FAILS(bl_passages_add(&p, detokenizer, 'x', false, &e), BL_EUSAGE,
          "there is more text to show than 64.0 MiB: bload cat writes that of one sequence");
}

UNIT_EACH(tokenizer_open, tokenizer_close)
