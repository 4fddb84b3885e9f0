/* Cuts of recordings: places, lines of manifests, and windows over the sound of a file. */

#include "kind/audio/manifest_lines.h"
#include "kind/audio/trim.h"
#include "unit.h"

UNIT_SCRATCH

UNIT_TEST(halves_are_rounded_up_and_errors_of_the_product_do_not_count)
{
    ck_assert_int_eq(bl_cut_samples(0.29, 100), 29);
    ck_assert_int_eq(bl_cut_samples(2.5, 1), 3);
    ck_assert_int_eq(bl_cut_samples(1.00003125, 16000), 16001); /* 16000.5 */
    ck_assert_int_eq(bl_cut_samples(1.00003, 16000), 16000);
    ck_assert_int_eq(bl_cut_samples(0.7, 44100), 30870);
    ck_assert_int_eq(bl_cut_samples(86400.1, 48000), 4147204800);
    ck_assert_int_eq(bl_cut_samples(0.4999999999, 1), 1);
    ck_assert_int_eq(bl_cut_samples(0.49999999, 1), 0);
}

UNIT_TEST(columns_to_cuts)
{
    struct bl_cut cut;
    int64_t begin, end;
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){0}) && bl_cut_is_whole(&cut) && !cut.channels.count);
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){.start = "", .duration = "x"}) && bl_cut_is_whole(&cut));
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){.start = "0", .duration = "", .channel = ""}));
    ck_assert(bl_cut_is_whole(&cut));
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){.start = "1.5e0", .duration = "0.25", .channel = "3"}));
    ck_assert(!bl_cut_is_whole(&cut) && cut.channels.count == 1 && cut.channels.number[0] == 3);
    bl_cut_range(&cut, 8000, &begin, &end);
    ck_assert_int_eq(begin, 12000);
    ck_assert_int_eq(end, 14000);
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){.start = "1.5"}));
    bl_cut_range(&cut, 8000, &begin, &end);
    ck_assert_int_eq(end, INT64_MAX);
    static const char *const bad[] = {"-1", "nan", "inf", "1e10", "1x", " "};
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert(!bl_cut_parse(&cut, &(struct bl_row){.start = bad[i]}));
        ck_assert(!bl_cut_parse(&cut, &(struct bl_row){.start = "0", .duration = bad[i]}));
        ck_assert(!bl_cut_parse(&cut, &(struct bl_row){.start = "0", .channel = bad[i]}));
    }
    ck_assert(bl_cut_parse(&cut, &(struct bl_row){.start = "", .clip_begin = 5, .clip_end = 9}));
    ck_assert(!bl_cut_is_whole(&cut) && !cut.channels.count);
    bl_cut_range(&cut, 8000, &begin, &end);
    ck_assert_int_eq(begin, 5);
    ck_assert_int_eq(end, 9);
    ck_assert(!bl_cut_parse(&cut, &(struct bl_row){.start = "0", .duration = "0"}));
    ck_assert(!bl_cut_parse(&cut, &(struct bl_row){.start = "0", .channel = "1.5"}));
}

UNIT_TEST(choices_of_channels)
{
    static const struct {
        const char *text, *same;
    } good[] = {{"0", "0"},         {"4,0", "4,0"}, {"[4, 0]", "4,0"}, {"3.0", "3"}, {" 7 ,\t5.00", "7,5"},
                {"63,62", "63,62"}, {"", ""}};
    static const char *const bad[] = {"-1", "64", "1,1", "1,", ",", "1.5", "4.", "left", "[]", "0 4", "[0", "0x1", " "};
    struct bl_channel_list list, other;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    for (size_t i = 0; i < COUNT(good); i++) {
        ck_assert(bl_channel_list_parse(good[i].text, strlen(good[i].text), 63, &list));
        bl_buffer_clear(&text);
        bl_buffer_text(&text, "");
        bl_channel_list_format(&list, &text);
        ck_assert_str_eq(text.data, good[i].same);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_channel_list_parse(bad[i], strlen(bad[i]), 63, &list), "%s", bad[i]);
    /* 64 of them, and one more. */
    bl_buffer_clear(&text);
    for (int i = 0; i < 64; i++)
        bl_buffer_printf(&text, "%s%d", i ? "," : "", 63 - i);
    ck_assert(bl_channel_list_parse(text.data, text.size, 63, &list) && list.count == 64);
    ck_assert_int_eq(bl_channel_list_highest(&list), 63);
    bl_buffer_text(&text, ",64");
    ck_assert(!bl_channel_list_parse(text.data, text.size, 1000, &other));
    ck_assert(bl_channel_list_parse("0,4", 3, 63, &list) && bl_channel_list_parse("4,0", 3, 63, &other));
    ck_assert(!bl_channel_list_are_same(&list, &other) && bl_channel_list_are_same(&list, &list));
    ck_assert_int_eq(bl_channel_list_highest(&(struct bl_channel_list){0}), -1);
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

static int parse(struct bl_entry *entry, const char *line, struct bl_error *e)
{
    *e = (struct bl_error){0};
    return bl_entry_parse(entry, line, strlen(line), e);
}

#define CUT "\"id\": \"c\", \"start\": 1.5, \"duration\": 2, \"channel\": 1, \"type\": \"MonoCut\""
#define SOURCE "{\"type\": \"file\", \"channels\": [0], \"source\": \"a.wav\"}"

UNIT_TEST(lines_to_entries)
{
    OWNED(bl_entry_free) struct bl_entry entry = {0};
    ck_assert_msg(parse(&entry, "{\"audio_filepath\": \"a\\u00e9.wav\", \"text\": \"x\", \"offset\": null}", &e) ==
                      BL_OK,
                  "%s", e.text);
    ck_assert_str_eq(entry.path.data, "a\xc3\xa9.wav");
    ck_assert(entry.relative && entry.id.size == 0 && strcmp(entry.start, "0") == 0 && !*entry.duration);
    ck_assert_str_eq(entry.text.data, "x");

    /* The file that has the channel, and its place there; texts of all supervisions. */
    ck_assert_msg(parse(&entry,
                        "{" CUT ", \"supervisions\": [{\"text\": \"a\"}, {}, {\"text\": \"b\\n\"}], \"recording\": "
                        "{\"sources\": [" SOURCE
                        ", {\"type\": \"file\", \"channels\": [7, 1], \"source\": \"b.wav\"}], \"transforms\": "
                        "[{\"name\": \"Resample\"}]}}",
                        &e) == BL_OK,
                  "%s", e.text);
    ck_assert_str_eq(entry.path.data, "b.wav");
    ck_assert_str_eq(entry.channel, "1");
    ck_assert_str_eq(entry.start, "1.5");
    ck_assert_str_eq(entry.duration, "2");
    ck_assert_str_eq(entry.text.data, "a b\n");
    ck_assert_str_eq(entry.id.data, "c");
    ck_assert(!entry.relative);

    ck_assert_int_eq(parse(&entry, "{\"id\": \"r\", \"sources\": [" SOURCE "]}", &e), BL_OK);
    ck_assert(!*entry.channel && !*entry.duration);
    ck_assert_str_eq(entry.start, "0");
}

UNIT_TEST(lines_of_no_use_say_why)
{
    static const struct {
        const char *line, *why;
    } bad[] = {
        {"", "not JSON at byte 0"},
        {"[]", "an array; JSONL has an object in every line"},
        {"{}", "neither"},
        {"{\"audio_filepath\": \"\"}", "is empty, no path"},
        {"{\"audio_filepath\": \"a\\u0000b\"}", "a zero byte in \"audio_filepath\""},
        {"{\"audio_filepath\": \"a\", \"offset\": \"1\"}", "\"offset\" is no number of seconds"},
        {"{\"audio_filepath\": \"a\", \"duration\": 1111111111111111111111111111111111111111111}",
         "\"duration\" is no"},
        {"{" CUT "}", "no recording with its sources"},
        {"{" CUT ", \"recording\": {\"sources\": 5}}", "no recording with its sources"},
        {"{" CUT ", \"recording\": {\"sources\": [5]}}", "a source is no object"},
        {"{" CUT ", \"recording\": {\"sources\": []}}", "no source has channel 1"},
        {"{\"id\": \"r\", \"sources\": [" SOURCE ", " SOURCE "]}", "a recording of several files"},
        {"{\"id\": \"r\", \"sources\": [{\"type\": \"memory\", \"source\": \"x\"}]}", "a source of type \"memory\""},
        {"{\"id\": \"r\", \"sources\": [" SOURCE "], \"transforms\": [{\"name\": \"Volume\"}]}",
         "would transform this recording as it reads it (Volume)"},
        {"{\"id\": \"a\\u0000\", \"sources\": [" SOURCE "]}", "a zero byte in \"id\""},
        {"{\"type\": \"PaddingCut\", \"id\": \"p\"}", "a PaddingCut"},
        {"{\"channel\": -1, \"id\": \"p\", \"type\": \"Cut\"}", "\"channel\" is no number"},
    };
    OWNED(bl_entry_free) struct bl_entry entry = {0};
    for (size_t i = 0; i < COUNT(bad); i++)
        FAILS_WITH(parse(&entry, bad[i].line, &e), BL_EDATA, bad[i].why);
}

UNIT_TEST(a_long_text_is_cut_at_a_character)
{
    OWNED(bl_entry_free) struct bl_entry entry = {0};
    OWNED(bl_buffer_free) struct bl_buffer line = {0};
    bl_buffer_text(&line, "{\"audio_filepath\": \"a\", \"text\": \"x");
    for (int i = 0; i < 40000; i++)
        bl_buffer_text(&line, "\xc3\xa9");
    bl_buffer_text(&line, "\"}");
    ck_assert_int_eq(parse(&entry, line.data, &e), BL_OK);
    ck_assert(entry.text_truncated);
    ck_assert_uint_eq(entry.text.size, BL_ENTRY_TEXT_MAX - 1);
}

/* --- windows ---------------------------------------------------------------------------------------------------- */

#define RATE 8000
#define SECONDS 12

static void put(FILE *file, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fputc((int)(value >> 8 * i & 255), file);
}

/* The sample of a channel at a place: no two places are alike within the file. */
static int16_t sample_at(int64_t place, int channel)
{
    return (int16_t)(channel ? -(place % 32749) : place % 32749);
}

/* A wav file of two channels. */
static void write_wave(const char *path)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    uint32_t size = RATE * SECONDS * 4;
    fputs("RIFF", file);
    put(file, size + 36, 4);
    fputs("WAVEfmt ", file);
    put(file, 16, 4);
    put(file, 1, 2);
    put(file, 2, 2);
    put(file, RATE, 4);
    put(file, RATE * 4, 4);
    put(file, 4, 2);
    put(file, 16, 2);
    fputs("data", file);
    put(file, size, 4);
    for (int64_t i = 0; i < RATE * SECONDS; i++) {
        put(file, (uint16_t)sample_at(i, 0), 2);
        put(file, (uint16_t)sample_at(i, 1), 2);
    }
    ck_assert_int_eq(fclose(file), 0);
}

/* Goes through a cut, and compares every sample. */
static int64_t go_through(struct bl_trim *w, const struct bl_cut *cut, bool damaged)
{
    struct bl_error e = {0};
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    int64_t at = bl_cut_samples(cut->start, RATE), first = at;
    bool got;
    bl_trim_set(w, cut, damaged);
    for (;;) {
        ck_assert_msg(bl_trim_next(w, frame, &got, &e) == BL_OK, "%s", e.text);
        if (!got)
            break;
        const struct bl_channel_list *chosen = &cut->channels;
        int channels = chosen->count ? chosen->count : 2;
        const int16_t *data = (const int16_t *)(const void *)frame->data[0];
        ck_assert_int_eq(frame->ch_layout.nb_channels, channels);
        for (int i = 0; i < frame->nb_samples; i++, at++) {
            for (int c = 0; c < channels; c++)
                ck_assert_int_eq(data[i * channels + c], sample_at(at, chosen->count ? chosen->number[c] : c));
        }
        av_frame_unref(frame);
    }
    return at - first;
}

UNIT_TEST(every_cut_in_any_order)
{
    struct bl_cancel cancel = {0};
    const struct bl_kind_env env = {.cancel = &cancel};
    struct bl_trim w;
    write_wave("a.wav");
    ck_assert_int_eq(bl_trim_open(&w, "a.wav", -1, -1, (struct bl_rational){0, 1}, &env, &e), BL_OK);
    ck_assert_int_eq(go_through(&w, &bl_cut_whole, false), RATE * SECONDS);
    /* Behind each other, back, far ahead, at the very end and beyond it. */
    static const struct bl_cut cuts[] = {{.start = 0, .duration = 0.5, .channels = {0}},
                                         {.start = 0.5, .duration = 0.25, .channels = {1, {0}}},
                                         {.start = 0.75, .duration = 0.001, .channels = {1, {1}}},
                                         {.start = 9.1234, .duration = 0.5, .channels = {1, {1}}},
                                         {.start = 0.1, .duration = 0.2, .channels = {0}},
                                         {.start = 0.2, .duration = 5, .channels = {1, {0}}},
                                         {.start = 11.5, .duration = -1, .channels = {0}},
                                         {.start = 3, .duration = -1, .channels = {1, {1}}},
                                         {.start = 11.99, .duration = 0.5, .channels = {0}},
                                         {.start = 12, .duration = 1, .channels = {1, {0}}},
                                         {.start = 4, .duration = 1, .channels = {2, {1, 0}}},
                                         {.start = 5, .duration = 1, .channels = {2, {0, 1}}},
                                         {.start = 2, .duration = 1, .channels = {1, {1}}},
                                         {.start = 100, .duration = 1, .channels = {1, {0}}}};
    uint32_t state = 7;
    for (int i = 0; i < unit_times(300); i++) {
        state = state * 1664525 + 1013904223;
        const struct bl_cut *cut = &cuts[(state >> 16) % COUNT(cuts)];
        int64_t begin, end, all = RATE * SECONDS;
        bl_cut_range(cut, RATE, &begin, &end);
        int64_t expected = begin >= all ? 0 : (end < all ? end : all) - begin;
        ck_assert_int_eq(go_through(&w, cut, state >> 28 == 0), expected);
    }
    go_through(&w, &cuts[4], true);
    ck_assert(!w.seeked);
    go_through(&w, &cuts[3], false);
    ck_assert(w.seeked);
    struct bl_cut third = {.duration = 1, .channels = {2, {0, 2}}};
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    bl_trim_set(&w, &third, false);
    bool got;
    FAILS(bl_trim_next(&w, frame, &got, &e), BL_EDATA, "channel 2 is wanted, and there are 2");
    bl_trim_close(&w);
}
