/* Fill-in-the-middle: the option, and what is drawn. The tokens are compared with Megatron-LM's in
 * tests/readers/test_fim.py. */
#include "kind/text/fim.h"
#include "base/text.h"
#include "unit.h"

static bool parse(const char *text, struct bl_fim *fim)
{
    return bl_option_fim.parse(NULL, text, fim);
}

UNIT_TEST(values_are_written_in_one_form)
{
    static const struct {
        const char *text, *form;
        int64_t rate, spm;
    } good[] = {
        {"0", "0", 0, 500000},
        {"1", "1", 1000000, 500000},
        {"1.000000", "1", 1000000, 500000},
        {".5", "0.5", 500000, 500000},
        {"0.50,spm=0.5", "0.5", 500000, 500000},
        {"0.000001,spm=1", "0.000001,spm=1", 1, 1000000},
        {"0.9,seed=7,spm=0", "0.9,spm=0,seed=7", 900000, 0},
        {"0.5,suffix=<s>,prefix=<p>,middle=3", "0.5,prefix=<p>,middle=3,suffix=<s>", 500000, 500000},
        {"0.5,prefix=a=b,middle=c,suffix=d,seed=0", "0.5,prefix=a=b,middle=c,suffix=d", 500000, 500000},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        struct bl_fim fim, again;
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        ck_assert_msg(parse(good[i].text, &fim), "%s", good[i].text);
        ck_assert_int_eq(fim.rate, good[i].rate);
        ck_assert_int_eq(fim.spm, good[i].spm);
        bl_option_fim.format(NULL, &fim, &out);
        ck_assert_str_eq(out.data, good[i].form);
        ck_assert(parse(out.data, &again));
    }
}

UNIT_TEST(other_values_are_refused)
{
    static const char *const bad[] = {
        "",
        ",",
        ".",
        "0.",
        "1.5",
        "2",
        "1.000001",
        "-0.5",
        "-0",
        "0.-5",
        "+1",
        "1e-1",
        "0.1234567",
        "50%",
        "0x1",
        " 0.5",
        "0.5,",
        "0.5,,seed=1",
        "0.5,spm",
        "0.5,spm=",
        "0.5,spm=2",
        "0.5,spm=0.5,spm=0.5",
        "0.5,seed=-1",
        "0.5,seed=x",
        "0.5,sp=1",
        "0.5,prefix=a",
        "0.5,prefix=a,middle=b",
        "0.5,prefix=,middle=b,suffix=c",
        "0.5,0.5",
        "nan",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_fim fim;
        ck_assert_msg(!parse(bad[i], &fim), "%s", bad[i]);
    }
}

/* The cuts are between characters, the same in bytes and in characters, and each of them is met. */
UNIT_TEST(cuts_are_between_characters)
{
    static const struct {
        const char *text;
        int characters;
    } texts[] = {{"", 0},
                 {"a", 1},
                 {"\u00e9", 1},
                 {"\U0001f600", 1},
                 {"ab", 2},
                 {"e\u0301", 2},
                 {"\u65e5\u672c", 2},
                 {"a\U0001f600\u00e9b", 4},
                 {"\ufffd\n\r\t", 4}};
    for (size_t t = 0; t < COUNT(texts); t++) {
        const char *text = texts[t].text;
        size_t size = strlen(text), met[5][5] = {{0}};
        int n = texts[t].characters;
        for (int64_t offset = 0; offset < 1000; offset++) {
            const struct bl_fim fim = {.given = true, .rate = 1000000, .spm = 500000, .seed = 1};
            struct bl_fim_draw draw;
            bl_fim_draw(&fim, offset, text, size, &draw);
            ck_assert(draw.form == BL_FIM_PSM || draw.form == BL_FIM_SPM);
            ck_assert(0 <= draw.first && draw.first <= draw.last && draw.last <= n);
            ck_assert(draw.begin <= draw.end && draw.end <= size);
            size_t at[5] = {0};
            for (int c = 1; c <= n; c++)
                at[c] = at[c - 1] + bl_utf8_length(text + at[c - 1], size - at[c - 1]);
            ck_assert_uint_eq(draw.begin, at[draw.first]);
            ck_assert_uint_eq(draw.end, at[draw.last]);
            met[draw.first][draw.last]++;
        }
        for (int first = 0; first <= n; first++) {
            for (int last = first; last <= n; last++)
                ck_assert_uint_gt(met[first][last], 0);
        }
    }
}

static bool draws_equal(const struct bl_fim_draw *a, const struct bl_fim_draw *b)
{
    return a->form == b->form && a->begin == b->begin && a->end == b->end;
}

UNIT_TEST(draws_depend_on_seed_text_and_offset)
{
    static const char text[] = "a text that is long enough for two draws to be the same only by chance";
    const struct {
        uint64_t seed;
        int64_t offset;
        size_t size;
        bool same;
    } with[] = {{1, 70, 60, true}, {2, 70, 60, false}, {1, 71, 60, false}, {1, -1, 60, false}, {1, 70, 61, false}};
    struct bl_fim_draw first, draw;
    const struct bl_fim fim = {.rate = 1000000, .spm = 500000, .seed = 1};
    bl_fim_draw(&fim, 70, text, 60, &first);
    for (size_t i = 0; i < COUNT(with); i++) {
        const struct bl_fim other = {.rate = 1000000, .spm = 500000, .seed = with[i].seed};
        bl_fim_draw(&other, with[i].offset, text, with[i].size, &draw);
        ck_assert_int_eq(draws_equal(&first, &draw), with[i].same);
    }
}

UNIT_TEST(a_larger_rate_keeps_the_draws_of_a_smaller_one)
{
    static const int64_t rates[] = {0, 1, 250000, 500000, 999999, 1000000};
    const char text[] = "abcdefghijklmnopqrstuvwxyz";
    for (int64_t offset = 0; offset < 500; offset++) {
        struct bl_fim_draw before = {0}, draw;
        for (size_t r = 0; r < COUNT(rates); r++) {
            const struct bl_fim fim = {.rate = rates[r], .spm = 300000};
            bl_fim_draw(&fim, offset, text, strlen(text), &draw);
            ck_assert(before.form < BL_FIM_PSM || draws_equal(&before, &draw));
            ck_assert(rates[r] || draw.form == BL_FIM_NO);
            before = draw;
        }
        ck_assert(draw.form >= BL_FIM_PSM);
    }
}

/* The draws are part of what identifies a dataset: they are the same in every version and on every machine. */
UNIT_TEST(draws_stay_what_they_are)
{
    const struct bl_fim fim = {.rate = 500000, .spm = 500000, .seed = 42};
    char found[200] = "";
    for (int64_t offset = -1; offset < 7; offset++) {
        struct bl_fim_draw draw;
        bl_fim_draw(&fim, offset, "The quick brown \U0001f98a jumps", 26, &draw);
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s %d %d,", bl_fim_form_name(draw.form), (int)draw.first,
                 (int)draw.last);
    }
    ck_assert_str_eq(found, "spm 2 21,spm 13 14,no 0 0,spm 12 22,psm 7 22,spm 4 18,no 0 0,spm 12 22,");
}

UNIT_TEST(families_are_whole)
{
    size_t f = 0;
    for (; bl_fim_family(f); f++) {
        const char *const *name = bl_fim_family(f);
        ck_assert(strcmp(name[0], name[1]) != 0 && strcmp(name[0], name[2]) != 0 && strcmp(name[1], name[2]) != 0);
    }
    ck_assert_uint_ge(f, 6);
}
