

#include "cmd/progress_bar.h"
#include "unit.h"

static struct bl_progress progress = {.what = "pack",
                                      .unit = "blocks",
                                      .step = "frames",
                                      .total = 34,
                                      .done = 12,
                                      .steps = 3400,
                                      .steps_left = 6600,
                                      .bytes = 3 << 20};

static struct bl_progress_view view = {
    .progress = &progress, .seconds = 61.5, .left = 125, .rate = 1234, .byte_rate = 1 << 20};

static const char *bar(int width)
{
    static char text[512];
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_progress_line_bar(&view, width, &out);
    ck_assert(!out.failed);
    snprintf(text, sizeof text, "%s", out.data ? out.data : "");
    return text;
}

UNIT_TEST(a_narrow_line_leaves_out_what_matters_less)
{
    ck_assert_str_eq(bar(4), "");
    ck_assert_str_eq(bar(15), "pack");
    ck_assert_str_eq(bar(16), "pack 2 min left");
    ck_assert_str_eq(bar(20), "pack 2 min left");
    ck_assert_str_eq(bar(22), "pack 2 min left, 34 %");
    ck_assert_str_eq(bar(40), "pack 2 min left, 34 %, 12 of 34 blocks");
    ck_assert_str_eq(bar(200), "pack [########................] 2 min left, 34 %, 12 of 34 blocks, 1,234 frames/s, "
                               "1.0 MiB/s, 3.0 MiB");
    for (int width = 1; width < 200; width++)
        ck_assert_int_lt((int)strlen(bar(width)), width);
}

UNIT_TEST(a_file_that_holds_up_is_named)
{
    progress.file = "videos/a/rather/long/path/to/some/\xe4\xb8\xad\xe6\x96\x87.mp4";
    ck_assert_str_eq(bar(105),
                     "pack 2 min left, 34 %, 12 of 34 blocks, 1,234 frames/s, waits for ...r/long/path/to/some/"
                     "\xe4\xb8\xad\xe6\x96\x87.mp4");
    progress.file = "a\"\\\n\xff.mp4";
    struct bl_buffer out = {0};
    bl_progress_line_json(&view, &out);
    ck_assert_ptr_nonnull(out.data);
    ck_assert_ptr_nonnull(strstr(out.data, "\"file\": \"a\\\"\\\\\\u000a\xef\xbf\xbd.mp4\"}"));
    bl_buffer_free(&out);
    progress.file = NULL;
}

UNIT_TEST(plain_lines_become_rarer)
{
    int first = 0, later = 0, fast = 0;
    double shown = 0, share = 0;
    for (double t = 0; t < 3600; t += 0.1) { /* 1 % a minute */
        if (bl_progress_bar_plain_is_due(t, t / 6000, shown, share)) {
            first += t < 60;
            later += t >= 120;
            shown = t;
            share = t / 6000;
        }
    }
    ck_assert_int_ge(first, 5);
    ck_assert_int_le(first, 6);
    ck_assert_int_ge(later, 55);
    ck_assert_int_le(later, 65);
    shown = 120;
    share = 0;
    for (double t = 120; t < 320; t += 0.1) { /* a tenth in 20 s */
        if (bl_progress_bar_plain_is_due(t, (t - 120) / 200, shown, share)) {
            fast++;
            shown = t;
            share = (t - 120) / 200;
        }
    }
    ck_assert_int_ge(fast, 7);
    ck_assert_int_le(fast, 11);
}
