/* Text in lines of so many columns: where they break, and that nothing but an end of a line, or one space, is lost. */
#include "show/passages.h"
#include "base/buffer.h"
#include "base/text.h"
#include "unit.h"

/* --- passages and lines ----------------------------------------------------------------------------------------- */

/* Appends a run of a piece. */
static void run_add(struct bl_passages *p, size_t piece, const char *text, bool is_shaded)
{
    struct bl_error e = {0};
    bl_buffer_text(&p->text, text);
    ck_assert_int_eq(BL_ARRAY_RESERVE(p->run, p->capacity, p->runs + 1, &e), BL_OK);
    p->run[p->runs++] = (struct bl_passage_run){.piece = piece, .end = p->text.size, .is_shaded = is_shaded};
}

static void lines_begin(void *to)
{
    (void)to;
}

static void lines_put(void *to, const char *text, size_t size, bool is_shaded)
{
    ck_assert_uint_gt(size, 0);
    bl_buffer_text(to, is_shaded ? "[" : "");
    bl_buffer_append(to, text, size);
    bl_buffer_text(to, is_shaded ? "]" : "");
}

static void lines_end(void *to)
{
    bl_buffer_byte(to, '|');
}

/* The lines of a piece, each with "|" behind it; what is shaded is in brackets. */
static void lines_are(const struct bl_passages *p, size_t piece, int columns, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    const struct bl_text_lines lines = {
        .begin = lines_begin, .put = lines_put, .end = lines_end, .to = &out, .columns = columns};
    bl_buffer_text(&out, "");
    bl_text_lines_put(&lines, p, piece);
    ck_assert_str_eq(out.data, expected);
}

static void text_becomes(const char *text, int columns, const char *expected)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    run_add(&p, 0, text, false);
    lines_are(&p, 0, columns, expected);
}

/* --- known answers ---------------------------------------------------------------------------------------------- */

UNIT_TEST(lines_break_between_words)
{
    text_becomes("one two three", 20, "one two three|");
    text_becomes("one two three", 13, "one two three|");
    text_becomes("one two three", 12, "one two |three|");
    text_becomes("one two three", 8, "one two |three|");
    text_becomes("one two three", 7, "one two|three|"); /* the space has no room, and is not needed */
    text_becomes("one two three", 5, "one |two |three|");
    text_becomes("hello world", 5, "hello|world|");
    text_becomes("a   b", 2, "a | b|");
}

UNIT_TEST(long_words_are_cut)
{
    text_becomes("abcdefgh", 3, "abc|def|gh|");
    text_becomes("ab cdefgh", 4, "ab |cdef|gh|");
    text_becomes("abcdefgh i", 4, "abcd|efgh|i|");
}

UNIT_TEST(ends_of_lines_are_kept)
{
    text_becomes("a\nb", 9, "a|b|");
    text_becomes("a\n", 9, "a|");
    text_becomes("\n\na", 9, "||a|");
    text_becomes("abc\ndef", 3, "abc|def|"); /* no empty line between them */
    text_becomes("abc \ndef", 3, "abc||def|");
}

/* Chinese takes two columns a character, also where only one is left. */
UNIT_TEST(wide_characters_have_two_columns)
{
    text_becomes("一二三", 6, "一二三|");
    text_becomes("一二三", 5, "一二|三|");
    text_becomes("a一b", 2, "a|一|b|");
    text_becomes("é é", 2, "é |é|");
}

UNIT_TEST(tabs_are_spaces)
{
    text_becomes("a\tb", 9, "a    b|");
    text_becomes("a\tb", 5, "a    |b|");
    text_becomes("\ta", 3, "   |a|"); /* at most the whole line */
    text_becomes("\t\t", 2, "  |  |");
}

UNIT_TEST(shading_goes_through_lines)
{
    OWNED(bl_passages_free) struct bl_passages p = {0};
    run_add(&p, 0, "ab", false);
    run_add(&p, 0, "c de", true);
    run_add(&p, 0, "f", false);
    lines_are(&p, 0, 9, "ab[c de]f|");
    lines_are(&p, 0, 4, "ab[c ]|[de]f|");
    lines_are(&p, 0, 2, "ab|[c ]|[de]|f|");
}

UNIT_TEST(pieces_have_their_own_lines)
{
    struct bl_passages p = {0};
    run_add(&p, 1, "one", false);
    run_add(&p, 1, "two", true);
    run_add(&p, 4, "three", false);
    lines_are(&p, 0, 9, "");
    lines_are(&p, 1, 9, "one[two]|");
    lines_are(&p, 2, 9, ""); /* such as a damaged one */
    lines_are(&p, 4, 9, "three|");
    lines_are(&p, 5, 9, "");
    bl_passages_free(&p);
    lines_are(&p, 0, 9, "");
}

/* --- the law ---------------------------------------------------------------------------------------------------- */

/* What is compared with the text while its lines come. */
struct law {
    const struct bl_passages *passages;
    size_t at; /* in the text */
    int columns, used;
};

/* The text may lack one space, or the end of a line, where a line begins. */
static void law_begin(void *to)
{
    struct law *law = to;
    law->used = 0;
}

static void law_put(void *to, const char *text, size_t size, bool is_shaded)
{
    struct law *law = to;
    const struct bl_passages *p = law->passages;
    for (size_t i = 0; i < size;) {
        size_t run = 0;
        while (p->run[run].end <= law->at)
            run++;
        ck_assert_int_eq(p->run[run].is_shaded, is_shaded);
        if (p->text.data[law->at] == '\t') {
            ck_assert_int_eq(text[i], ' ');
            i += law->columns < 4 ? (size_t)law->columns : 4;
        } else {
            ck_assert_int_eq(text[i], p->text.data[law->at]);
            i++;
        }
        law->at++;
    }
    OWNED(bl_buffer_free) struct bl_buffer part = {0};
    bl_buffer_append(&part, text, size);
    law->used += bl_columns_of(part.data);
    ck_assert_int_le(law->used, law->columns);
}

static void law_end(void *to)
{
    struct law *law = to;
    const char *text = law->passages->text.data;
    if (text[law->at] == '\n')
        law->at++;
    else if (text[law->at] == ' ') {
        ck_assert_int_eq(law->used, law->columns); /* else it had room */
        law->at++;
    }
}

UNIT_TEST(all_of_the_text_is_there)
{
    static const char *const part[] = {"a", "bc", " ", "  ", "\n", "\t", "é", "一", "long-word", " w", "🙂", "\n\n"};
    srandom(7);
    for (int i = 0; i < unit_times(4000); i++) {
        OWNED(bl_passages_free) struct bl_passages p = {0};
        for (long k = random() % 40; k >= 0; k--)
            run_add(&p, 0, part[(size_t)random() % COUNT(part)], random() % 2);
        struct law law = {.passages = &p, .columns = 2 + (int)(random() % 12)};
        const struct bl_text_lines lines = {
            .begin = law_begin, .put = law_put, .end = law_end, .to = &law, .columns = law.columns};
        bl_text_lines_put(&lines, &p, 0);
        ck_assert_uint_eq(law.at, p.text.size);
    }
}
