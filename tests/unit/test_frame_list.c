/* The lists of frames, as numpy 2.4 and torch 2.15 (on AVX2) print them, and the numbers of frames by the rules. */
#include "kind/video/frame_list.h"

#include "kind/video/options.h"
#include "unit.h"

static void assert_list(enum bl_frame_form form, int64_t frames, int64_t count, const int64_t *expected)
{
    const struct bl_frame_list list = {.form = form, .frames = frames, .count = count};
    for (int64_t i = 0; i < count; i++) {
        int64_t number = bl_frame_list_at(&list, i);
        ck_assert_msg(number == expected[i], "form %d, %d of %d: entry %d is %d, not %d", (int)form, (int)count,
                      (int)frames, (int)i, (int)number, (int)expected[i]);
    }
}

#define ASSERT_LIST(form, frames, count, ...) assert_list(form, frames, count, (const int64_t[]){__VA_ARGS__})

UNIT_TEST(forms)
{
    ASSERT_LIST(BL_FRAMES_LINSPACE, 300, 8, 0, 42, 85, 128, 170, 213, 256, 299);
    ASSERT_LIST(BL_FRAMES_LINSPACE_ROUND, 300, 8, 0, 43, 85, 128, 171, 214, 256, 299);
    ASSERT_LIST(BL_FRAMES_MIDDLE, 300, 8, 18, 56, 93, 131, 168, 206, 243, 281);
    ASSERT_LIST(BL_FRAMES_START, 300, 8, 0, 37, 75, 112, 150, 187, 225, 262);
    ASSERT_LIST(BL_FRAMES_TORCH_LINSPACE, 300, 8, 0, 43, 85, 128, 171, 214, 256, 299);
    ASSERT_LIST(BL_FRAMES_TORCH_ARANGE, 300, 8, 0, 37, 75, 112, 150, 187, 225, 262);
    for (int form = BL_FRAMES_LINSPACE; form <= BL_FRAMES_TORCH_ARANGE; form++)
        ASSERT_LIST((enum bl_frame_form)form, 4, 4, 0, 1, 2, 3);
}

UNIT_TEST(one_entry_and_short_videos)
{
    ASSERT_LIST(BL_FRAMES_LINSPACE, 10, 1, 0);
    ASSERT_LIST(BL_FRAMES_TORCH_LINSPACE, 10, 1, 0);
    ASSERT_LIST(BL_FRAMES_MIDDLE, 10, 1, 5);
    ASSERT_LIST(BL_FRAMES_LINSPACE, 3, 8, 0, 0, 0, 0, 1, 1, 1, 2);
    ASSERT_LIST(BL_FRAMES_LINSPACE_ROUND, 3, 8, 0, 0, 1, 1, 1, 1, 2, 2);
    ASSERT_LIST(BL_FRAMES_MIDDLE, 3, 8, 0, 0, 0, 1, 1, 2, 2, 2);
    ASSERT_LIST(BL_FRAMES_START, 3, 8, 0, 0, 0, 1, 1, 1, 2, 2);
    ASSERT_LIST(BL_FRAMES_LINSPACE, 1, 3, 0, 0, 0);
    struct bl_frame_list list = {.form = BL_FRAMES_LINSPACE, .frames = 3, .count = 8};
    ck_assert_int_eq(bl_frame_list_repeated(&list), 5);
    list.frames = 300;
    ck_assert_int_eq(bl_frame_list_repeated(&list), 0);
    ck_assert_int_eq(bl_frame_list_repeated(&(struct bl_frame_list){0}), 0);
}

/* Halves go to the even number; float32 takes other frames than float64. */
UNIT_TEST(rounding)
{
    ASSERT_LIST(BL_FRAMES_LINSPACE_ROUND, 8, 15, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7);
    struct bl_frame_list list = {.form = BL_FRAMES_TORCH_LINSPACE, .frames = 149633, .count = 606};
    ck_assert_int_eq(bl_frame_list_at(&list, 453), 112039);
    list.form = BL_FRAMES_TORCH_ARANGE;
    ck_assert_int_eq(bl_frame_list_at(&list, 569), 140497);
    list.form = BL_FRAMES_START;
    ck_assert_int_eq(bl_frame_list_at(&list, 569), 140496);
}

UNIT_TEST(numbers_never_decrease_and_stay_within)
{
    const int64_t step = unit_brief() ? 101 : 7;
    for (int form = BL_FRAMES_LINSPACE; form <= BL_FRAMES_TORCH_ARANGE; form++) {
        for (int64_t frames = 1; frames < 3000; frames += step) {
            struct bl_frame_list list = {.form = (enum bl_frame_form)form, .frames = frames};
            for (list.count = 1; list.count < 200; list.count += 13) {
                int64_t before = 0;
                for (int64_t i = 0; i < list.count; i++) {
                    int64_t number = bl_frame_list_at(&list, i);
                    ck_assert(number >= before && number < frames);
                    before = number;
                }
            }
        }
    }
}

UNIT_TEST(rules)
{
    static const struct {
        struct bl_frame_rule_options options;
        int64_t frames;
        double rate;
        int64_t count;
    } cases[] = {
        {{BL_FRAME_RULE_QWEN_VL_UTILS, 2, 4, 768, 2}, 224, 18.3, 24},
        {{BL_FRAME_RULE_QWEN2_VL, 2, 4, 768, 2}, 224, 18.3, 24},
        {{BL_FRAME_RULE_QWEN3_VL, 2, 4, 768, 2}, 232, 18.3, 25},
        {{BL_FRAME_RULE_QWEN_VL_UTILS, 2, 4, 768, 2}, 3, 25, 2},
        {{BL_FRAME_RULE_QWEN2_VL, 2, 4, 768, 2}, 3, 25, 2},
        {{BL_FRAME_RULE_QWEN3_VL, 2, 4, 768, 2}, 3, 25, 3},
        {{BL_FRAME_RULE_QWEN_VL_UTILS, 2, 4, 768, 2}, 1, 25, 0},
        {{BL_FRAME_RULE_QWEN2_VL, 2, 4, 768, 2}, 1, 25, 0},
        {{BL_FRAME_RULE_QWEN3_VL, 2, 4, 768, 2}, 1, 25, 1},
        {{BL_FRAME_RULE_QWEN_VL_UTILS, 2, 5, 768, 4}, 250, 50, 8}, /* 10 frames; 5 becomes 8 */
        {{BL_FRAME_RULE_QWEN_VL_UTILS, 2, 5, 768, 4}, 50, 25, 8},
        {{BL_FRAME_RULE_QWEN2_VL, 2, 5, 768, 4}, 50, 25, 4},
        {{BL_FRAME_RULE_QWEN3_VL, 2, 4, 768, 2}, 1000000, 25, 768},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(bl_frame_rule_count(&cases[i].options, cases[i].frames, cases[i].rate) == cases[i].count,
                      "case %zu: %d", i, (int)bl_frame_rule_count(&cases[i].options, cases[i].frames, cases[i].rate));
}

/* The picker gives each frame as often as the list has it. */
UNIT_TEST(picked_by_a_list)
{
    for (int64_t frames = 1; frames < 40; frames++) {
        for (int64_t count = 1; count < 20; count++) {
            struct bl_frame_list list = {.form = BL_FRAMES_MIDDLE, .frames = frames, .count = count};
            struct bl_pick pick;
            int64_t taken = 0;
            ck_assert(bl_pick_init(&pick, 0, 0, 1, 1, 25));
            bl_pick_set_list(&pick, &list);
            for (int64_t frame = 0; frame <= frames; frame++) {
                int64_t times = frame < frames ? bl_pick_push(&pick, 3) : bl_pick_end(&pick, 3);
                for (; times > 0; times--)
                    ck_assert_int_eq(bl_frame_list_at(&list, taken++), frame - 1);
            }
            ck_assert_int_eq(taken, count);
            ck_assert_int_eq(pick.taken, count);
        }
    }
}
