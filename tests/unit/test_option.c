#include "base/option.h"

#include <stdint.h>

#include "base/checksum.h"
#include "base/option_help.h"
#include "unit.h"

static const char *const fruits[] = {"apple", "pear", NULL};

struct values {
    bool loud;
    int64_t jobs, length, memory;
    uint64_t seed;
    int fruit;
    const char *name;
    struct bl_rational rate;
    struct bl_dimensions size;
};

static const struct bl_option table[] = {
    BL_OPTION_FLAG("loud", struct values, loud, BL_AFFECTS_NOTHING, "make noise", .letter = 'l', .initial = "false"),
    BL_OPTION_INT("jobs", struct values, jobs, BL_AFFECTS_NOTHING, "how many", .letter = 'j', .initial = "2", .min = 1,
                  .max = 64),
    BL_OPTION_INT("T", struct values, length, BL_AFFECTS_PLAN,
                  "steps per block, the first to the last of them, whatever begins or ends between", .letter = 'T',
                  .min = 1),
    BL_OPTION_BYTES("memory", struct values, memory, BL_AFFECTS_NOTHING, "at most", .initial = "1M", .min = 1024),
    BL_OPTION_UINT("seed", struct values, seed, BL_AFFECTS_PLAN, "decides", .initial = "0"),
    BL_OPTION_CHOICE("fruit", struct values, fruit, fruits, BL_AFFECTS_BYTES, "which", .initial = "apple"),
    BL_OPTION_STRING("name", struct values, name, BL_AFFECTS_NOTHING, "called", .letter = 'n', .placeholder = "WHO",
                     .command_line_only = true),
    BL_OPTION_RATIONAL("rate", struct values, rate, BL_AFFECTS_LENGTHS, "per second"),
    BL_OPTION_DIMENSIONS("size", struct values, size, BL_AFFECTS_BYTES, "of a picture"),
    {0},
};

static struct values values;
static struct bl_options options;
static struct bl_error error;

static void set_up(void)
{
    values = (struct values){0};
    options = (struct bl_options){0};
    error = (struct bl_error){0};
    ck_assert_int_eq(bl_options_add(&options, "Test", table, &values, &error), BL_OK);
}

static void tear_down(void)
{
    bl_options_free(&options);
}

/* Parses a NULL-terminated list of words. */
#define PARSE(...) parse((const char *[]){__VA_ARGS__, NULL})

static int parse(const char **words)
{
    char *argv[16];
    int count = 0;
    for (; words[count]; count++) {
        ck_assert_int_lt(count, 16);
        argv[count] = (char *)words[count];
    }
    bl_error_clear(&error);
    return bl_options_parse(&options, count, argv, &error);
}

UNIT_TEST(defaults_stand_until_something_is_said)
{
    ck_assert(!values.loud);
    ck_assert_int_eq(values.jobs, 2);
    ck_assert_int_eq(values.memory, 1 << 20);
    ck_assert_int_eq(values.fruit, 0);
    ck_assert_ptr_null(values.name);
    ck_assert_int_eq(values.rate.den, 0);
    ck_assert_int_eq(bl_options_origin(&options, "jobs"), BL_ORIGIN_DEFAULT);
}

UNIT_TEST(flags_in_all_their_spellings)
{
    ck_assert_int_eq(PARSE("-l", "-j4", "--T=7", "--memory", "2K", "--seed=18446744073709551615", "--fruit=pear", "-n",
                           "-x", "--rate=30000/1001", "--size", "224x160"),
                     BL_OK);
    ck_assert(values.loud);
    ck_assert_int_eq(values.jobs, 4);
    ck_assert_int_eq(values.length, 7);
    ck_assert_int_eq(values.memory, 2048);
    ck_assert_uint_eq(values.seed, UINT64_MAX);
    ck_assert_int_eq(values.fruit, 1);
    ck_assert_str_eq(values.name, "-x");
    ck_assert_int_eq(values.rate.num, 30000);
    ck_assert_int_eq(values.rate.den, 1001);
    ck_assert_int_eq(values.size.width, 224);
    ck_assert_int_eq(values.size.height, 160);
    ck_assert_int_eq(options.operands, 0);
    ck_assert_int_eq(bl_options_origin(&options, "jobs"), BL_ORIGIN_FLAG);
    ck_assert_int_eq(PARSE("--loud", "-T7", "--memory", "2048", "--rate", "60000/2002"), BL_OK);
    ck_assert_int_eq(values.length, 7);
    ck_assert_int_eq(PARSE("--loud=no", "-T9"), BL_OK);
    ck_assert(!values.loud && values.length == 9);
    ck_assert_int_eq(PARSE("--name", "-y"), BL_OK);
    ck_assert_str_eq(values.name, "-y");
}

UNIT_TEST(operands_stay_in_order)
{
    ck_assert_int_eq(PARSE("a", "-j", "3", "-", "b", "--", "-j", "--loud"), BL_OK);
    ck_assert_int_eq(options.operands, 5);
    static const char *const expected[] = {"a", "-", "b", "-j", "--loud"};
    for (int i = 0; i < 5; i++)
        ck_assert_str_eq(options.operand[i], expected[i]);
    ck_assert(!values.loud);
}

UNIT_TEST(rates_are_exact)
{
    static const struct {
        const char *text;
        int64_t num, den;
    } good[] = {{"25", 25, 1},  {"12.5", 25, 2},    {"29.97", 2997, 100},
                {"10/4", 5, 2}, {"0.001", 1, 1000}, {"1.0", 1, 1}};
    for (size_t i = 0; i < COUNT(good); i++) {
        ck_assert_int_eq(bl_options_set(&options, "rate", good[i].text, BL_ORIGIN_FLAG, &error), BL_OK);
        ck_assert_int_eq(values.rate.num, good[i].num);
        ck_assert_int_eq(values.rate.den, good[i].den);
    }
    static const char *const bad[] = {"",    "0",     "-1",   "1/0",  "1/",  "/1",         ".5",    "1.",
                                      "0.0", "1/2/3", "1.-0", "1/-2", "1e3", "1234567890", "1.2.3", "25 "};
    for (size_t i = 0; i < COUNT(bad); i++) {
        bl_error_clear(&error);
        ck_assert_msg(bl_options_set(&options, "rate", bad[i], BL_ORIGIN_FLAG, &error) == BL_EUSAGE, "took \"%s\"",
                      bad[i]);
    }
}

/* The words are refused, with this message. */
static void refuse(const char *message, const char **words)
{
    ck_assert_int_eq(parse(words), BL_EUSAGE);
    ck_assert_str_eq(error.text, message);
}

#define REFUSE(message, ...) refuse(message, (const char *[]){__VA_ARGS__, NULL})

UNIT_TEST(refusals_say_what_is_expected)
{
    REFUSE("unknown option --jbos: did you mean --jobs?", "--jbos", "3");
    REFUSE("unknown option --job: did you mean --jobs?", "--job=3");
    REFUSE("unknown option -z (see --help)", "-z");
    REFUSE("--jobs expects a whole number from 1 to 64, not \"0\"", "-j0");
    REFUSE("--jobs expects a whole number from 1 to 64, not \"65\"", "--jobs", "65");
    REFUSE("--jobs expects a whole number from 1 to 64, not \"\"", "--jobs=");
    REFUSE("-T expects a whole number of at least 1, not \"many\"", "-T", "many");
    REFUSE("--jobs needs a value (a whole number)", "--jobs");
    REFUSE("--fruit expects one of apple, pear, not \"plum\"", "--fruit", "plum");
    REFUSE("--fruit needs a value (see --help)", "--fruit");
    REFUSE("--loud expects true or false, not \"maybe\"", "--loud=maybe");
    REFUSE("-l takes no value: write -lj as separate flags", "-lj");
    REFUSE("--seed expects a whole number, 0 to 2^64-1, not \"18446744073709551616\"", "--seed=18446744073709551616");
    REFUSE("--seed expects a whole number, 0 to 2^64-1, not \"-1\"", "--seed=-1");
    REFUSE("--memory expects a number of bytes, such as 256M or 4G, not \"1\"", "--memory=1");
    REFUSE("--size expects width x height, each 1 to 32768, such as 224x224, not \"0x8\"", "--size=0x8");
    REFUSE("--size expects width x height, each 1 to 32768, such as 224x224, not \"224\"", "--size=224");
    REFUSE("--name expects a text that is not empty, not \"\"", "--name", "");
}

UNIT_TEST(flags_win_over_the_file)
{
    ck_assert_int_eq(bl_options_set(&options, "jobs", "5", BL_ORIGIN_FILE, &error), BL_OK);
    ck_assert_int_eq(bl_options_set(&options, "seed", "5", BL_ORIGIN_FILE, &error), BL_OK);
    ck_assert_int_eq(bl_options_origin(&options, "seed"), BL_ORIGIN_FILE);
    ck_assert_int_eq(PARSE("-j6"), BL_OK);
    ck_assert_int_eq(bl_options_set(&options, "jobs", "7", BL_ORIGIN_FILE, &error), BL_OK);
    ck_assert_int_eq(values.jobs, 6);
    ck_assert_uint_eq(values.seed, 5);
    ck_assert_int_eq(bl_options_set(&options, "name", "x", BL_ORIGIN_FILE, &error), BL_EUSAGE);
    ck_assert_str_eq(error.text, "unknown key \"name\"");
    bl_error_clear(&error);
    ck_assert_int_eq(bl_options_set(&options, "fruit", "plum", BL_ORIGIN_FILE, &error), BL_EUSAGE);
    ck_assert_str_eq(error.text, "fruit expects one of apple, pear, not \"plum\"");
}

/* Appends the values of the options up to "size". */
static void append_values(struct bl_buffer *out)
{
    bool is_last = false;
    for (struct bl_option_match m = {0}; !is_last && bl_options_next(&options, &m);) {
        bl_buffer_printf(out, "%s=", m.option->name);
        bl_option_format(m.group, m.option, out);
        bl_buffer_byte(out, ';');
        is_last = strcmp(m.option->name, "size") == 0;
    }
    ck_assert(is_last);
}

UNIT_TEST(values_are_written_in_one_form)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    append_values(&out);
    ck_assert_str_eq(out.data, "loud=false;jobs=2;T=;memory=1048576;seed=0;fruit=apple;name=;rate=;size=;");
    ck_assert_int_eq(PARSE("-l", "-T007", "--memory=1M", "--rate=12.50", "--size=08x8", "-nx", "--seed=01"), BL_OK);
    bl_buffer_clear(&out);
    append_values(&out);
    ck_assert_str_eq(out.data, "loud=true;jobs=2;T=7;memory=1048576;seed=1;fruit=apple;name=x;rate=25/2;size=8x8;");
}

UNIT_TEST(identity_is_what_affects_something)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_options_identity(&options, &out);
    ck_assert_str_eq(out.data, "T: \nseed: 0\nfruit: apple\nrate: \nsize: \n");
    bl_buffer_clear(&out);
    bl_options_mark_idle(&options, options.group[0].values);
    bl_options_identity(&options, &out);
    ck_assert_uint_eq(out.size, 0);
}

UNIT_TEST(help)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    ck_assert(bl_options_help(&options, NULL, &out));
    ck_assert_str_eq(out.data, "\nTest:\n"
                               "  -l, --loud                  make noise\n"
                               "  -j, --jobs N                how many [2]\n"
                               "  -T N                        steps per block, the first to the last of them,\n"
                               "                              whatever begins or ends between\n"
                               "      --memory BYTES          at most [1M]\n"
                               "      --seed N                decides [0]\n"
                               "      --fruit apple|pear      which [apple]\n"
                               "  -n, --name WHO              called\n"
                               "      --rate RATE             per second\n"
                               "      --size WxH              of a picture\n");
}

UNIT_TEST(groups_follow_each_other)
{
    struct values second = {0};
    static const struct bl_option more[] = {
        BL_OPTION_INT("extra", struct values, jobs, BL_AFFECTS_NOTHING, "more", .initial = "3"),
        {0},
    };
    ck_assert_int_eq(bl_options_add(&options, "More", more, &second, &error), BL_OK);
    ck_assert_int_eq(PARSE("--extra=4", "-j5"), BL_OK);
    ck_assert_int_eq(second.jobs, 4);
    ck_assert_int_eq(values.jobs, 5);
    static const struct bl_option wrong[] = {
        BL_OPTION_INT("wrong", struct values, jobs, BL_AFFECTS_NOTHING, "", .initial = "three"),
        {0},
    };
    ck_assert_int_eq(bl_options_add(&options, "Wrong", wrong, &second, &error), BL_EFAIL);
    ck_assert_str_eq(error.text, "--wrong does not take its own default three");
}

UNIT_EACH(set_up, tear_down)
