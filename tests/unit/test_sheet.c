/* The layout of a sheet: where steps are, what lies on each line, and the ticks of the scale. */
#include "show/sheet.h"
#include "unit.h"

/* Pieces of random lengths, with padding between some. Returns the end of the last one. */
static int64_t pieces_make(struct bl_sheet *s, struct bl_sheet_piece *piece, size_t most, int64_t longest)
{
    int64_t at = 0;
    s->piece = piece;
    s->pieces = (size_t)random() % (most + 1);
    for (size_t i = 0; i < s->pieces; i++) {
        at += random() % 3 ? 0 : random() % longest;
        piece[i] = (struct bl_sheet_piece){.start = at, .end = at + 1 + random() % longest};
        at = piece[i].end;
    }
    return at;
}

/* The axis as the layout makes it: as few lines as all steps need. */
static void axis_make(struct bl_sheet *s, int64_t steps, int lines, int width)
{
    s->steps = s->drawn = steps;
    s->width = width;
    s->line_steps = (steps - 1) / lines + 1;
    s->lines = (int)((steps - 1) / s->line_steps + 1);
}

UNIT_TEST(steps_have_pixels)
{
    struct bl_sheet s = {0};
    axis_make(&s, 100, 1, 50);
    ck_assert_int_eq(bl_sheet_pixel(&s, 0), 0);
    ck_assert_int_eq(bl_sheet_pixel(&s, 1), 0);
    ck_assert_int_eq(bl_sheet_pixel(&s, 99), 49);
    ck_assert_int_eq(bl_sheet_pixel(&s, 100), 50);
    axis_make(&s, INT32_MAX, 4, 960);
    ck_assert_int_eq(bl_sheet_pixel(&s, 0), 0);
    ck_assert_int_eq(bl_sheet_pixel(&s, s.line_steps), 960);
    ck_assert_int_eq(bl_sheet_pixel(&s, 3 * s.line_steps), 3 * 960);
}

UNIT_TEST(the_last_line_may_be_short)
{
    struct bl_sheet s = {.steps = 25, .drawn = 25, .line_steps = 10, .lines = 3, .width = 40};
    ck_assert_int_eq(bl_sheet_line_width(&s, 0), 40);
    ck_assert_int_eq(bl_sheet_line_width(&s, 1), 40);
    ck_assert_int_eq(bl_sheet_line_width(&s, 2), 20);
    s = (struct bl_sheet){.steps = 1001, .drawn = 1001, .line_steps = 1000, .lines = 2, .width = 40};
    ck_assert_int_eq(bl_sheet_line_width(&s, 1), 1); /* no picture is empty */
}

UNIT_TEST(ticks_are_round)
{
    struct bl_sheet s = {0};
    axis_make(&s, 1000, 1, 1000);
    static const struct {
        int pixels, tick;
    } known[] = {{1, 1}, {2, 2}, {3, 5}, {6, 10}, {11, 20}, {21, 50}, {51, 100}, {90, 100}, {101, 200}, {300, 500}};
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_int_eq(bl_sheet_tick(&s, known[i].pixels), known[i].tick);
    axis_make(&s, 5, 1, 3);
    ck_assert_int_ge(bl_sheet_tick(&s, 90), 5); /* none has room: it ends */
    axis_make(&s, INT64_C(1) << 40, 1, 960);
    int64_t tick = bl_sheet_tick(&s, 90);
    ck_assert_int_eq(tick, INT64_C(200000000000));
}

/* Spans lie one behind the other on all pixels of the axis, each on one line, and those of a piece from the pixel of
 * its first step to that behind its last. */
static void spans_are_right(const struct bl_sheet *s)
{
    int at = 0, begun = 0, wide = 0;
    for (size_t i = 0; i < s->spans; i++) {
        const struct bl_sheet_span *span = &s->span[i];
        ck_assert_int_gt(span->width, 0);
        ck_assert_int_eq(span->line * s->width + span->x, at);
        ck_assert_int_le(span->x + span->width, s->width);
        at += span->width;
        const bool is_first = !i || span[-1].piece != span->piece;
        if (span->piece < 0)
            continue;
        ck_assert_int_eq(span->begins, is_first);
        begun += span->begins;
        if (is_first)
            ck_assert_int_eq(span->line * s->width + span->x, bl_sheet_pixel(s, s->piece[span->piece].start));
        if (i + 1 == s->spans || span[1].piece != span->piece)
            ck_assert_int_eq(at, bl_sheet_pixel(s, s->piece[span->piece].end));
    }
    ck_assert_int_eq(at, bl_sheet_pixel(s, s->steps));
    for (size_t i = 0; i < s->pieces; i++)
        wide += bl_sheet_pixel(s, s->piece[i].end) > bl_sheet_pixel(s, s->piece[i].start);
    ck_assert_int_eq(begun, wide);
}

UNIT_TEST(spans_fill_the_lines)
{
    struct bl_sheet_piece piece[60];
    srandom(3);
    for (int i = 0; i < unit_times(3000); i++) {
        struct bl_sheet s = {0};
        int64_t end = pieces_make(&s, piece, 60, 1 + random() % 300);
        axis_make(&s, end + 1 + random() % 100, 1 + (int)(random() % 6), 1 + (int)(random() % 400));
        ck_assert_int_eq(bl_sheet_find_spans(&s, &e), BL_OK);
        spans_are_right(&s);
        free(s.span);
    }
}

UNIT_TEST(known_spans)
{
    struct bl_sheet_piece piece[] = {{.start = 0, .end = 15}, {.start = 15, .end = 16}, {.start = 20, .end = 30}};
    static const struct bl_sheet_span expected[] = {{0, 0, 5, 0, true},  {1, 0, 2, 0, false}, {1, 2, 1, 1, true},
                                                    {1, 3, 2, -1, true}, {2, 0, 5, 2, true},  {3, 0, 1, -1, true}};
    struct bl_sheet s = {
        .piece = piece, .pieces = 3, .steps = 33, .drawn = 33, .line_steps = 10, .lines = 4, .width = 5};
    ck_assert_int_eq(bl_sheet_find_spans(&s, &e), BL_OK);
    ck_assert_uint_eq(s.spans, COUNT(expected));
    for (size_t i = 0; i < s.spans; i++) {
        ck_assert_int_eq(s.span[i].line, expected[i].line);
        ck_assert_int_eq(s.span[i].x, expected[i].x);
        ck_assert_int_eq(s.span[i].width, expected[i].width);
        ck_assert_int_eq(s.span[i].piece, expected[i].piece);
        ck_assert_int_eq(s.span[i].begins, expected[i].begins);
    }
    free(s.span);
}

/* What stands above the texts of an own field, of a block and of a sequence. */
UNIT_TEST(own_steps_have_words)
{
    struct bl_view view = {
        .manifest.format.fields = {
            .count = 1, .field[0] = {.name = "text", .own = true, .rank = 2, .shape = {3, 4}, .capacity = 1200}}};
    struct bl_sheet_piece piece[] = {{.start = 5}, {.failed = true}, {0}};
    struct bl_passages p = {.damaged = (bool[]){false, false, true}, .own = (int32_t[]){1, 0, 1000}, .own_steps = 1001};
    struct bl_sheet s = {.view = &view, .piece = piece, .pieces = 3};
    static const char *const block[] = {", 1 step", ", no steps: failed while packing", ", 1,000 steps: damaged"};
    struct bl_buffer out = {0};
    for (size_t i = 0; i < COUNT(block); i++) {
        bl_buffer_clear(&out);
        bl_sheet_append_state(&s, &p, i, &out);
        ck_assert_str_eq(out.data, block[i]);
    }
    bl_buffer_clear(&out);
    bl_sheet_append_fill(&s, &p, &out);
    ck_assert_str_eq(out.data, "1,001 of 1,200 steps of [3, 4]");
    ck_assert_uint_eq(bl_sheet_passages_pieces(&s, &p), 3);
    s.subject.block = -1;
    p.own_steps = 0;
    bl_buffer_clear(&out);
    bl_sheet_append_fill(&s, &p, &out);
    ck_assert_str_eq(out.data, "no steps of [3, 4]");
    ck_assert_uint_eq(bl_sheet_passages_pieces(&s, &p), 1);
    s = (struct bl_sheet){.pieces = 30, .subject.is_brief = true};
    ck_assert_uint_eq(bl_sheet_passages_pieces(&s, &p), BL_SHEET_BRIEF);
    s = (struct bl_sheet){.view = &view, .piece = piece, .pieces = 3};
    /* A field of the axis. */
    p.own = NULL;
    bl_buffer_clear(&out);
    bl_sheet_append_state(&s, &p, 0, &out);
    ck_assert_str_eq(out.data, ", from step 5");
    ck_assert_uint_eq(bl_sheet_passages_pieces(&s, &p), 3);
    bl_buffer_free(&out);
}
