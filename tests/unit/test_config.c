#include "cmd/config.h"

#include <sys/stat.h>

#include "base/output.h"
#include "plan/options.h"
#include "unit.h"

UNIT_SCRATCH

static int read_text(const char *text, struct bl_config *config, struct bl_plan_options *values,
                     struct bl_options *options, struct bl_error *e)
{
    *options = (struct bl_options){0};
    ck_assert_int_eq(bl_output_replace("dir/c.yaml", text, strlen(text), e), BL_OK);
    ck_assert_int_eq(bl_options_add(options, "Planning", bl_plan_option_table, values, e), BL_OK);
    ck_assert_int_eq(bl_options_add(options, "Strategy", bl_plan_strategy_table, values, e), BL_OK);
    char flag[] = "--seed=9";
    char *argv[] = {flag, NULL};
    ck_assert_int_eq(bl_options_parse(options, 1, argv, e), BL_OK);
    return bl_config_read(config, "dir/c.yaml", options, e);
}

UNIT_TEST(a_file_says_what_flags_say)
{
    ck_assert_int_eq(mkdir("dir", 0777), 0);
    OWNED(bl_config_free) struct bl_config config;
    struct bl_plan_options values = {0};
    OWNED(bl_options_free) struct bl_options options;
    ck_assert_msg(read_text("# a comment\nsources:\n  - path: videos/\n    kind: video\n  - other/*.mp4\nT: longest\n"
                            "oversize: split\nseed: 3\nfill: 'paper'\n",
                            &config, &values, &options, &e) == BL_OK,
                  "%s", e.text);
    ck_assert_str_eq(config.directory, "dir");
    ck_assert_int_eq(config.sources, 2);
    ck_assert_str_eq(config.source[0].path, "videos/");
    ck_assert_str_eq(config.source[0].kind->name, "video");
    ck_assert_str_eq(config.source[1].path, "other/*.mp4");
    ck_assert_int_eq(values.T, 0);
    ck_assert_int_eq(values.oversize, BL_OVERSIZE_SPLIT);
    ck_assert_int_eq(values.fill, BL_FILL_PAPER);
    ck_assert_uint_eq(values.seed, 9); /* the flag wins */
    ck_assert_int_eq(bl_options_origin(&options, "T"), BL_ORIGIN_FILE);
    ck_assert_int_eq(bl_options_origin(&options, "seed"), BL_ORIGIN_FLAG);

    /* What is printed, read again, says the same. */
    OWNED(bl_buffer_free) struct bl_buffer printed = {0}, again = {0};
    OWNED(bl_config_free) struct bl_config second;
    struct bl_plan_options other = {0};
    OWNED(bl_options_free) struct bl_options read_back;
    bl_config_print(&config, &options, config.source, config.sources, &printed);
    ck_assert_msg(read_text(printed.data, &second, &other, &read_back, &e) == BL_OK, "%s", e.text);
    bl_config_print(&second, &read_back, second.source, second.sources, &again);
    ck_assert_str_eq(printed.data, again.data);
}

UNIT_TEST(faults_have_a_line_and_a_column)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "dir/c.yaml is empty"},
        {"- a\n- b\n", "dir/c.yaml:1:1: a mapping"},
        {"T: 12\nTee: 3\n", "dir/c.yaml:2:1: unknown key \"Tee\""},
        {"T: twelve\n", "dir/c.yaml:1:4: T expects"},
        {"T: [12]\n", "dir/c.yaml:1:4: T: a single value, not a list"},
        {"T: {a: b}\n", "dir/c.yaml:1:4: T: a single value, not a mapping"},
        {"T: 12\nT: 13\n", "dir/c.yaml:2:1: key given twice: T"},
        {"min-length: 12\nmin_length: 13\n", "dir/c.yaml:2:1: key given twice: min-length"},
        {"T:\n", "dir/c.yaml:1:3: T expects"},
        {"fill: best\n", "dir/c.yaml:1:7: fill expects one of optimal"},
        {"sources: videos\n", "dir/c.yaml:1:10: sources: a list is expected"},
        {"sources:\n  - kind: video\n", "dir/c.yaml:2:5: a source without a path"},
        {"sources:\n  - path: a\n    sort: video\n", "dir/c.yaml:3:5: unknown key in a source"},
        {"sources:\n  - path: a\n    kind: film\n", "dir/c.yaml:3:11: there is no kind film"},
        {"T: 12\n  x: [\n", "not YAML"},
        {"T: \"1\\0\"\n", "a zero byte"},
    };
    ck_assert_int_eq(mkdir("dir", 0777), 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        OWNED(bl_config_free) struct bl_config config;
        struct bl_plan_options values = {0};
        OWNED(bl_options_free) struct bl_options options;
        FAILS_WITH(read_text(bad[i].text, &config, &values, &options, &e), BL_EUSAGE, bad[i].message);
    }
}
