#include "report/report.h"
#include "unit.h"

static struct bl_tally_entry *add_row(struct bl_tally *t, const char *key)
{
    struct bl_tally_entry *entry = NULL;
    struct bl_error e = {0};
    ck_assert_int_eq(bl_tally_add(t, key, &entry, &e), BL_OK);
    return entry;
}

UNIT_TEST(rows_with_a_text_are_counted_together)
{
    struct bl_tally t = {0};
    for (int i = 0; i < 5; i++) {
        struct bl_tally_entry *entry = add_row(&t, "a");
        char name[8];
        snprintf(name, sizeof name, "row %d", i);
        ck_assert_int_eq(bl_tally_add_example(entry, name, &e), BL_OK);
    }
    add_row(&t, "")->steps += 7;
    ck_assert_uint_eq(t.count, 2);
    ck_assert_int_eq(t.entry[0].rows, 5);
    ck_assert_int_eq(t.entry[0].examples, BL_TALLY_EXAMPLES); /* the first */
    ck_assert_str_eq(t.entry[0].example[2], "row 2");
    ck_assert_int_eq(t.entry[1].steps, 7);
    bl_tally_free(&t);
    ck_assert_uint_eq(t.count, 0);
}

UNIT_TEST(most_steps_come_first_then_most_rows_then_texts)
{
    OWNED(bl_tally_free) struct bl_tally t = {0};
    static const char *const order[] = {"steps", "rows", "a", "b"};
    add_row(&t, "b");
    add_row(&t, "a");
    add_row(&t, "rows");
    add_row(&t, "rows");
    add_row(&t, "steps")->steps = 1;
    bl_tally_sort(&t);
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(t.entry[i].key, order[i]);
}

UNIT_TEST(texts_beyond_the_most_are_counted_together)
{
    OWNED(bl_tally_free) struct bl_tally t = {0};
    char key[16];
    for (int i = 0; i < BL_TALLY_KEYS + 10; i++) {
        snprintf(key, sizeof key, "%d", i);
        add_row(&t, key);
    }
    add_row(&t, "0"); /* a known one */
    ck_assert_uint_eq(t.count, BL_TALLY_KEYS);
    ck_assert_int_eq(t.rest.rows, 10);
    ck_assert_int_eq(t.entry[0].rows, 2);
}
