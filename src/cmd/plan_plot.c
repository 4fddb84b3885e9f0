/* The picture of a plan as SVG, which bload plan --plot writes.
 *
 * Layout: a column with the numbers of the blocks, the bars, and a column that says how full they are; above them the
 * title and the scale, below them a legend. All lengths are units of the viewBox, which are pixels unless it is scaled.
 *
 * No text is measured: LINE_CHARACTERS fit the width in any usual font, and neighbouring texts have room for their
 * largest numbers. A sequence has the same colour in all of its pieces. Marks are bounded, and with them the size of
 * the file: pieces too narrow to be seen, which follow each other, become one mark. */
#include "cmd/plan_plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "show/html.h"
#include "store/row_reader.h"

enum { WIDTH = 560, MARGIN = 16, BAR_LEFT = 64, BAR_WIDTH = 420, BAR_HEIGHT = 18, ROW = 22, TEXT_LINE = 18 };
enum { LINE_CHARACTERS = 64, LINES_MAX = 8, BLOCKS_MAX = 48, MARKS_MAX = 6000 };
#define NARROW 3.0    /* units: a piece is drawn by itself from this width on */
#define LINE_SIZE 256 /* bytes of a line of the title, which may have characters of several bytes */
#define DIGIT 7.5     /* units: the largest width of a character at the size of labels */

/* A picture in the making. */
struct plot {
    const struct bl_plan_plot *what;
    struct bl_buffer out;
    char line[LINES_MAX][LINE_SIZE]; /* [lines] of the title */
    int lines;
    size_t shown;                            /* blocks that are drawn, the first ones of the plan */
    bool has_padding, has_narrow, has_parts; /* whether the shown blocks have such marks, which the legend explains */
    struct bl_row_reader row;                /* the row of the table that was read last */
    struct bl_buffer group;                  /* scratch: the group of a block */
};

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Adds a phrase to the title, after "; " in the last line if it has room, and in a new line otherwise. The first
 * line has one phrase. */
static void plot_add_phrase(struct plot *p, const char *phrase)
{
    char *line = p->lines > 1 ? p->line[p->lines - 1] : NULL;
    size_t size = line ? strlen(line) : 0;
    if (line && size + 2 + strlen(phrase) <= LINE_CHARACTERS)
        snprintf(line + size, LINE_SIZE - size, "; %s", phrase);
    else if (p->lines < LINES_MAX)
        snprintf(p->line[p->lines++], LINE_SIZE, "%s", phrase);
}

/* Adds "9 steps deleted", if there are any. */
static void plot_add_count(struct plot *p, int64_t count, const char *noun, const char *what)
{
    char number[BL_PLURAL_SIZE], phrase[BL_PLURAL_SIZE + 32];
    snprintf(phrase, sizeof phrase, "%s %s", bl_text_plural(number, count, noun), what);
    if (count)
        plot_add_phrase(p, phrase);
}

/* Makes the lines of the title. Only the first one is bold. */
static void plot_make_title(struct plot *p)
{
    const struct bl_plan *plan = p->what->plan;
    char phrase[2 * BL_PLURAL_SIZE + 32], a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    int64_t gap = (int64_t)plan->blocks - plan->lower_bound;
    snprintf(phrase, sizeof phrase, "%s of T = %s", bl_text_plural(a, (int64_t)plan->blocks, "block"),
             bl_text_plural(b, plan->T, "step"));
    plot_add_phrase(p, phrase);
    snprintf(phrase, sizeof phrase, "%s of %s", bl_text_plural(a, plan->sequences, "sequence"),
             bl_text_plural(b, plan->steps, "step"));
    plot_add_phrase(p, phrase);
    snprintf(phrase, sizeof phrase, "efficiency %.2f %%", 100 * bl_plan_efficiency(plan));
    plot_add_phrase(p, phrase);
    plot_add_count(p, plan->padding, "step", "of padding");
    plot_add_count(p, plan->deleted, "step", "deleted");
    plot_add_count(p, plan->cut, "sequence", "cut");
    plot_add_count(p, plan->repeated, "step", "repeated");
    plot_add_count(p, plan->dropped, "sequence", "dropped");
    snprintf(phrase, sizeof phrase, "lower bound %s, %s%s", bl_text_plural(a, plan->lower_bound, "block"),
             gap ? "gap " : "so the plan is optimal", gap ? bl_text_count(b, gap) : "");
    plot_add_phrase(p, phrase);
    const struct bl_plan_info *info = p->what->plan_info;
    snprintf(phrase, sizeof phrase, "strategy %s%s%s", info->strategy, *info->fill ? ", fill " : "", info->fill);
    plot_add_phrase(p, phrase);
    snprintf(phrase, sizeof phrase, "seed %" PRIu64, info->seed);
    plot_add_phrase(p, phrase);
    snprintf(phrase, sizeof phrase, "epoch %s of %s", bl_text_count(a, p->what->epoch),
             bl_text_count(b, p->what->epochs));
    if (p->what->epochs > 1)
        plot_add_phrase(p, phrase);
}

/* --- rows of the table -------------------------------------------------------------------------------------------- */

/* Reads the row of a sequence. *found: whether it can be read: files can be read again, pipes cannot, and lists of
 * lengths have no rows. */
static int plot_read_row(struct plot *p, size_t sequence, bool *found, struct bl_error *e)
{
    const struct bl_sequences *t = p->what->table;
    const struct bl_sequences_file *file = t->file + t->files - 1;
    while (file > t->file && file->first > sequence)
        file--;
    *found = t->offset && file->fd >= 0;
    return *found ? bl_row_reader_read(t, sequence, &p->row, e) : BL_OK;
}

/* Appends the group of a block to its title: "; COLUMN VALUE". All sequences of a block have the same value, so
 * that of the first one is read. */
static int plot_append_group(struct plot *p, size_t b, struct bl_error *e)
{
    const struct bl_plan *plan = p->what->plan;
    const char *column = p->what->group_by;
    bool found = false;
    if (!column || plan->block_ptr[b] == plan->block_ptr[b + 1])
        return BL_OK;
    BL_TRY(plot_read_row(p, plan->sequence[plan->block_ptr[b]], &found, e));
    if (!found)
        return BL_OK;
    bl_buffer_clear(&p->group);
    if (!bl_row_reader_value(&p->row, column, &p->group))
        return BL_OK;
    BL_TRY(bl_buffer_check(&p->group, e));
    bl_buffer_text(&p->out, "; ");
    bl_xml_append_name(&p->out, column);
    bl_buffer_text(&p->out, " ");
    bl_xml_append_name(&p->out, p->group.data ? p->group.data : "");
    return BL_OK;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

/* One piece, or several narrow ones that follow each other. */
struct plot_mark {
    size_t first, count; /* pieces */
    int64_t start, end;  /* steps of the block */
    int64_t steps;       /* of the pieces, without the steps that alignment leaves between them */
};

/* A position in a block: the next piece. */
struct plot_cursor {
    size_t piece, end; /* pieces of the plan; end is the first one of the next block */
    int64_t start;     /* step of the block at which the piece starts */
};

/* Returns a cursor at the first piece of a block. */
static struct plot_cursor plot_begin_block(const struct plot *p, size_t b)
{
    const int64_t *ptr = p->what->plan->block_ptr;
    return (struct plot_cursor){.piece = (size_t)ptr[b], .end = (size_t)ptr[b + 1]};
}

/* Returns the width of so many steps in units. */
static double plot_width(const struct plot *p, int64_t steps)
{
    return (double)steps * BAR_WIDTH / (double)p->what->plan->T;
}

/* Sets the next mark of a block, and moves the cursor behind it. A wide piece is a mark of its own; narrow ones are
 * joined until a wide piece or a wide gap follows. Returns false at the end of the block. */
static bool plot_next_mark(const struct plot *p, struct plot_cursor *c, struct plot_mark *mark)
{
    const struct bl_plan *plan = p->what->plan;
    bool is_narrow = true;
    *mark = (struct plot_mark){.first = c->piece, .start = c->start, .end = c->start};
    while (c->piece < c->end && is_narrow) {
        int64_t steps = bl_plan_piece_length(plan, p->what->table->length, c->piece);
        is_narrow = plot_width(p, steps) < NARROW;
        if (mark->count && (!is_narrow || plot_width(p, c->start - mark->end) >= NARROW))
            break;
        mark->count++;
        mark->steps += steps;
        mark->end = c->start + steps;
        c->start = bl_plan_next_start(plan, c->start, steps);
        c->piece++;
    }
    return mark->count > 0;
}

/* Finds how many blocks are shown, and what the legend has to explain. Blocks are dry-run with the same marks that
 * are drawn later. At least one block is shown, however many marks it has. */
static void plot_choose_blocks(struct plot *p)
{
    const struct bl_plan *plan = p->what->plan;
    for (int marks = 0; p->shown < plan->blocks && p->shown < BLOCKS_MAX; p->shown++) {
        struct plot_cursor c = plot_begin_block(p, p->shown);
        struct plot_mark mark;
        int64_t steps = 0;
        bool has_narrow = false, has_parts = false;
        while (plot_next_mark(p, &c, &mark)) {
            marks++;
            steps += mark.steps;
            has_narrow |= mark.count > 1;
            has_parts |= mark.count == 1 && mark.steps < p->what->table->length[plan->sequence[mark.first]];
        }
        if (marks > MARKS_MAX && p->shown) /* the block that exceeds the bound is not shown */
            break;
        p->has_narrow |= has_narrow;
        p->has_parts |= has_parts;
        p->has_padding |= steps < plan->T;
    }
}

/* Appends the start tag of a rectangle in a bar. The caller appends its title and </rect>. */
static void plot_append_bar(struct plot *p, const char *class, int64_t start, int64_t end, int y)
{
    bl_buffer_printf(&p->out, "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">", class,
                     BAR_LEFT + plot_width(p, start), y, plot_width(p, end - start), BAR_HEIGHT);
}

/* Appends the number of a sequence in its bar, if it has room, with "…" on the side where the sequence goes on in
 * other pieces, or has deleted steps. */
static void plot_append_label(struct plot *p, const struct plot_mark *mark, bool has_before, bool has_after, int y)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, p->what->plan->sequence[mark->first]);
    double width = plot_width(p, mark->end - mark->start);
    if (((double)strlen(number) + has_before + has_after) * DIGIT + 4 <= width)
        bl_buffer_printf(&p->out, "<text class=\"n\" x=\"%.2f\" y=\"%d\">%s%s%s</text>",
                         BAR_LEFT + plot_width(p, mark->start) + width / 2, y + BAR_HEIGHT - 5, has_before ? "…" : "",
                         number, has_after ? "…" : "");
}

/* Appends a piece with its title, which browsers show under the mouse: "sequence 5: swim.mp4; 12 steps, 0 to 11 of
 * 30". */
static int plot_append_piece(struct plot *p, const struct plot_mark *mark, int y, struct bl_error *e)
{
    const struct bl_plan *plan = p->what->plan;
    size_t sequence = plan->sequence[mark->first];
    int64_t from = plan->source_start ? plan->source_start[mark->first] : 0, all = p->what->table->length[sequence];
    char class[16], a[BL_PLURAL_SIZE];
    bool found;
    snprintf(class, sizeof class, "s c%d", (int)(sequence % BL_STYLE_COLOURS));
    plot_append_bar(p, class, mark->start, mark->end, y);
    bl_buffer_printf(&p->out, "<title>sequence %zu", sequence);
    BL_TRY(plot_read_row(p, sequence, &found, e));
    if (found) {
        bl_buffer_text(&p->out, ": ");
        bl_xml_append_name(&p->out, p->row.row.id);
    }
    bl_buffer_printf(&p->out, "; %s", bl_text_plural(a, mark->steps, "step"));
    if (mark->steps < all)
        bl_buffer_printf(&p->out, ", %" PRId64 " to %" PRId64 " of %" PRId64, from, from + mark->steps - 1, all);
    bl_buffer_text(&p->out, "</title></rect>");
    plot_append_label(p, mark, from > 0, from + mark->steps < all, y);
    return BL_OK;
}

/* Appends a block: its number, its bar with all marks, and how full it is. */
static int plot_append_block(struct plot *p, size_t b, int y, struct bl_error *e)
{
    const struct bl_plan *plan = p->what->plan;
    struct plot_cursor c = plot_begin_block(p, b);
    struct plot_mark mark;
    char a[BL_PLURAL_SIZE], used[BL_PLURAL_SIZE], T[32];
    int64_t steps = 0;
    int code = BL_OK;
    for (size_t i = c.piece; i < c.end; i++)
        steps += bl_plan_piece_length(plan, p->what->table->length, i);
    /* The title of the group is shown under the mouse where no piece has one of its own: in the padding. */
    bl_buffer_printf(&p->out, "<g><title>block %zu: %s, %s of %s steps", b,
                     bl_text_plural(a, (int64_t)(c.end - c.piece), "sequence"), bl_text_count(used, steps),
                     bl_text_count(T, plan->T));
    code = plot_append_group(p, b, e);
    bl_buffer_text(&p->out, "</title>");
    plot_append_bar(p, "p", 0, plan->T, y);
    bl_buffer_text(&p->out, "</rect>");
    while (!code && plot_next_mark(p, &c, &mark)) {
        if (mark.count == 1) {
            code = plot_append_piece(p, &mark, y, e);
            continue;
        }
        plot_append_bar(p, "s m", mark.start, mark.end, y);
        bl_buffer_printf(&p->out, "<title>%s; %s</title></rect>", bl_text_plural(a, (int64_t)mark.count, "sequence"),
                         bl_text_plural(used, mark.steps, "step"));
    }
    int64_t filled = steps * 1000 / plan->T; /* rounded down, so that 100 % is full */
    snprintf(a, sizeof a, filled < 1000 ? "%d.%d %%" : "%d %%", (int)(filled / 10), (int)(filled % 10));
    bl_buffer_printf(&p->out, "<text class=\"e\" x=\"%d\" y=\"%d\">%zu</text>", BAR_LEFT - 8, y + BAR_HEIGHT - 5, b);
    bl_buffer_printf(&p->out, "<text class=\"e\" x=\"%d\" y=\"%d\">%s</text></g>\n", WIDTH - MARGIN, y + BAR_HEIGHT - 5,
                     a);
    return code;
}

/* --- scale, legend and style -------------------------------------------------------------------------------------- */

/* Appends a number of the scale and its line. */
static void plot_append_tick(struct plot *p, int64_t step, int y, int end)
{
    char number[32];
    double x = BAR_LEFT + plot_width(p, step);
    bl_buffer_printf(&p->out, "<path class=\"g\" d=\"M%.2f %dV%d\"/><text class=\"t\" x=\"%.2f\" y=\"%d\">%s</text>\n",
                     x, y + 4, end, x, y, bl_text_count(number, step));
}

/* Appends the scale: its numbers are above the bars, from y on, and its lines go through the bars to `end`. The
 * steps between two numbers are 1, 2 or 5 times a power of ten, the smallest that leaves room for the numbers. */
static void plot_append_scale(struct plot *p, int y, int end)
{
    char number[32];
    int64_t T = p->what->plan->T, tick = 1;
    double room = (double)strlen(bl_text_count(number, T)) * DIGIT + 12;
    for (int i = 0; plot_width(p, tick) < room; i++)
        tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
    bl_buffer_printf(&p->out, "<text class=\"e\" x=\"%d\" y=\"%d\">block</text><text x=\"%d\" y=\"%d\">steps</text>",
                     BAR_LEFT - 8, y, BAR_LEFT, y);
    bl_buffer_printf(&p->out, "<text class=\"e\" x=\"%d\" y=\"%d\">filled</text>\n", WIDTH - MARGIN, y);
    /* The last number is T itself, and the number before keeps its distance. */
    for (int64_t at = 0; plot_width(p, T - at) >= room; at += tick)
        plot_append_tick(p, at, y + TEXT_LINE, end);
    plot_append_tick(p, T, y + TEXT_LINE, end);
}

/* Appends a line of the legend at *y, and moves *y below it. */
static void plot_append_words(struct plot *p, int x, int *y, const char *words)
{
    bl_buffer_printf(&p->out, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, *y + 10, words);
    *y += TEXT_LINE;
}

/* Appends the explanations of the marks that are there, and how many blocks are not shown. */
static void plot_append_legend(struct plot *p, int y)
{
    char more[BL_PLURAL_SIZE], words[BL_PLURAL_SIZE + 16];
    size_t hidden = p->what->plan->blocks - p->shown;
    const struct {
        bool is_there;
        const char *class, *words;
    } entry[] = {{p->has_padding, "p", "padding"},
                 {p->has_narrow, "s m", "several sequences, each too short to be shown"}};
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        if (!entry[i].is_there)
            continue;
        bl_buffer_printf(&p->out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"28\" height=\"12\"/>", entry[i].class,
                         BAR_LEFT, y);
        plot_append_words(p, BAR_LEFT + 36, &y, entry[i].words);
    }
    if (p->has_parts)
        plot_append_words(p, BAR_LEFT, &y, "…5, 5…: sequence 5 has more steps on that side");
    snprintf(words, sizeof words, "%s not shown", bl_text_plural(more, (int64_t)hidden, "more block"));
    if (hidden)
        plot_append_words(p, BAR_LEFT, &y, words);
}

/* Appends the colours, for light and dark pages, and the patterns of padding and narrow pieces. */
static void plot_append_style(struct plot *p)
{
    bl_buffer_text(
        &p->out,
        "<style>\n"
        "svg{font:12px sans-serif;max-width:100%;height:auto}\n"
        ".b{fill:" BL_STYLE_PAPER "}text{fill:" BL_STYLE_INK "}.h{font-size:15px;font-weight:bold}.w{font-size:13px}\n"
        ".e{text-anchor:end}.t,.n{text-anchor:middle}.n{font-size:11px;fill:#fff;pointer-events:none}\n"
        ".g{stroke:" BL_STYLE_LINE "}.p{fill:url(#padding);stroke:#8c959f}.s{stroke:#fff}.m{fill:url(#narrow)}\n"
        ".k{fill:" BL_STYLE_SHADE "}.l{stroke:#8c959f}.o{fill:#57606a}.q{stroke:#d0d7de}\n");
    for (int c = 0; c < BL_STYLE_COLOURS; c++)
        bl_buffer_printf(&p->out, ".c%d{fill:#%06" PRIx32 "}", c, bl_style_colour((uint64_t)c));
    bl_buffer_text(&p->out,
                   "\n@media (prefers-color-scheme:dark){.b{fill:" BL_STYLE_DARK_PAPER "}text{fill:" BL_STYLE_DARK_INK
                   "}.n{fill:#fff}\n"
                   ".g{stroke:" BL_STYLE_DARK_LINE "}.p{stroke:#6e7681}.s{stroke:" BL_STYLE_DARK_PAPER
                   "}.k{fill:" BL_STYLE_DARK_SHADE "}.l{stroke:#6e7681}}\n"
                   "</style>\n"
                   "<defs><pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                   "<rect class=\"k\" width=\"6\" height=\"6\"/><path class=\"l\" d=\"M-1 1l2 -2M0 6l6 -6M5 7l2 -2\"/>"
                   "</pattern>\n"
                   "<pattern id=\"narrow\" width=\"3\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                   "<rect class=\"o\" width=\"3\" height=\"6\"/><path class=\"q\" d=\"M.5 0v6\"/></pattern></defs>\n");
}

/* Appends the beginning: a title and a description for screen readers, the style, and the lines of the title. */
static void plot_append_head(struct plot *p, int height)
{
    bl_buffer_printf(&p->out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                     "role=\"img\" aria-labelledby=\"title description\">\n",
                     WIDTH, height, WIDTH, height);
    bl_buffer_printf(&p->out, "<title id=\"title\">Plan: %s</title>\n<desc id=\"description\">", p->line[0]);
    for (int i = 1; i < p->lines; i++)
        bl_buffer_printf(&p->out, "%s. ", p->line[i]);
    bl_buffer_printf(&p->out, "Each bar is a block, from step 0 to %" PRId64 ", and its parts are sequences. ",
                     p->what->plan->T);
    bl_buffer_printf(&p->out, "Shown: %zu of %zu blocks.</desc>\n", p->shown, p->what->plan->blocks);
    plot_append_style(p);
    bl_buffer_printf(&p->out, "<rect class=\"b\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
    for (int i = 0; i < p->lines; i++)
        bl_buffer_printf(&p->out, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", i ? "w" : "h", MARGIN,
                         MARGIN + 12 + i * (TEXT_LINE + 1), p->line[i]);
}

int bl_plan_plot_write(const struct bl_plan_plot *plot, const char *path, struct bl_error *e)
{
    struct plot p = {.what = plot};
    int code = BL_OK;
    plot_make_title(&p);
    plot_choose_blocks(&p);
    int scale = MARGIN + 12 + p.lines * (TEXT_LINE + 1) + 8, bars = scale + TEXT_LINE + 10;
    int legend = bars + (int)p.shown * ROW + 8;
    int entries = p.has_padding + p.has_narrow + p.has_parts + (p.shown < plot->plan->blocks);
    plot_append_head(&p, legend + entries * TEXT_LINE + 8);
    plot_append_scale(&p, scale, legend - 8);
    for (size_t b = 0; b < p.shown && !code; b++)
        code = plot_append_block(&p, b, bars + (int)b * ROW, e);
    plot_append_legend(&p, legend);
    bl_buffer_text(&p.out, "</svg>\n");
    if (!code)
        code = bl_buffer_check(&p.out, e);
    if (!code)
        code = bl_cmd_write(path, &p.out, e);
    bl_buffer_free(&p.out);
    bl_buffer_free(&p.group);
    bl_row_reader_free(&p.row);
    return code;
}
