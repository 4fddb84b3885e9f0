#include "run/finish.h"
#include "unit.h"

UNIT_TEST(outcomes_survive_the_record)
{
    OWNED(bl_outcomes_free) struct bl_outcomes there = {0}, back = {0};
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    ck_assert_int_eq(bl_outcomes_add(&there, 7, true, 94, "a\ttab, a \\ and\na line", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&there, 3, false, 0, "3 of 9 frames damaged", &e), BL_OK);
    there.unfiltered = true;
    bl_outcomes_add_untrained(&there, &(struct bl_untrained){5, 2, 9});
    bl_outcomes_format(&there, &text);
    ck_assert_int_eq(bl_outcomes_parse(&back, text.data, text.size, &e), BL_OK);
    ck_assert(back.unfiltered);
    ck_assert(back.untrained.pieces == 5 && back.untrained.blocks == 2 && back.untrained.counted == 9);
    ck_assert_int_eq(bl_outcomes_parse(&back, (char[]){"untrained\t1\t0\t3\n"}, 16, &e), BL_OK);
    ck_assert(back.untrained.pieces == 6 && back.untrained.blocks == 2 && back.untrained.counted == 12);
    ck_assert_uint_eq(back.count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(back.outcome[i].row, there.outcome[i].row);
        ck_assert_int_eq(back.outcome[i].failed, there.outcome[i].failed);
        ck_assert_int_eq(back.outcome[i].steps, there.outcome[i].steps);
        ck_assert_str_eq(back.outcome[i].text, there.outcome[i].text);
    }
}

UNIT_TEST(what_is_no_outcome_is_refused)
{
    static const char *const bad[] = {
        "failed\t1\t2\n",    "gone\t1\t2\tx\n",      "failed\t-1\t2\tx\n", "noted\t1\tx\tx\n",
        "failed\t1\t2\tx",   "failed\t1\t2\tx\ty\n", "noted\t1\t2\t\\q\n", "\n",
        "untrained\t1\t2\n", "untrained\t1\t2\t-3\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        OWNED(bl_outcomes_free) struct bl_outcomes o = {0};
        bl_error_clear(&e);
        char text[64];
        snprintf(text, sizeof text, "%s", bad[i]);
        ck_assert_msg(bl_outcomes_parse(&o, text, strlen(text), &e) == BL_EDATA, "took \"%s\"", bad[i]);
    }
}

UNIT_TEST(pieces_of_a_sequence_are_merged)
{
    OWNED(bl_outcomes_free) struct bl_outcomes o = {0};
    ck_assert_int_eq(bl_outcomes_add(&o, 9, false, 0, "first", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&o, 2, false, 0, "alone", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&o, 9, false, 0, "second", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&o, 5, false, 0, "a note", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&o, 5, true, 40, "broken", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_add(&o, 5, true, 2, "broken", &e), BL_OK);
    ck_assert_int_eq(bl_outcomes_merge(&o, &e), BL_OK);
    ck_assert_uint_eq(o.count, 3);
    ck_assert_int_eq(o.outcome[0].row, 2);
    ck_assert_str_eq(o.outcome[0].text, "alone");
    ck_assert_int_eq(o.outcome[1].row, 5);
    ck_assert(o.outcome[1].failed);
    ck_assert_int_eq(o.outcome[1].steps, 42);
    ck_assert_str_eq(o.outcome[1].text, "broken");
    ck_assert_int_eq(o.outcome[2].row, 9);
    ck_assert(!o.outcome[2].failed);
    ck_assert_str_eq(o.outcome[2].text, "first; second");
}
