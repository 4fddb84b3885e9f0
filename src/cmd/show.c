/* bload show draws a block, or a sequence, on a terminal or as a picture.
 *
 * A sheet (show/sheet.h) is the picture before it has a format: panels with one axis. This file chooses the block, the
 * format by the ending of -o, and, for a terminal, what the terminal can do: its width, its colours, and whether it
 * shows characters beyond ASCII. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/extra_field.h"
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "show/sheet.h"
#include "store/find.h"

enum show_form { FORM_TERMINAL, FORM_HTML, FORM_SVG, FORM_PNG };
enum show_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
static const char *const color_names[] = {"auto", "always", "never", NULL};

#define COLUMNS_MAX 240 /* columns of a sheet at most; the rest of a wider terminal stays empty */

struct show {
    const char *sequence, *field, *tokenizer, *mask, *output; /* options; NULL: not given */
    int64_t block, epoch;                                     /* options */
    bool has_block;
    int color;                   /* enum show_color */
    enum show_form form;         /* by the ending of output; FORM_TERMINAL without it */
    struct bl_cmd_remote remote; /* options of URLs */
};

static const struct bl_option table[] = {
    BL_OPTION_INT("block", struct show, block, BL_AFFECTS_NOTHING,
                  "the block, from 0 [the first with two or more sequences]"),
    BL_OPTION_STRING("sequence", struct show, sequence, BL_AFFECTS_NOTHING,
                     "draw this sequence instead of a block; its id as in sequences.tsv", .placeholder = "ID"),
    BL_OPTION_INT("epoch", struct show, epoch, BL_AFFECTS_NOTHING, "use the plan of this epoch"),
    BL_OPTION_STRING("field", struct show, field, BL_AFFECTS_NOTHING, "draw only this field", .placeholder = "NAME"),
    BL_OPTION_STRING("tokenizer", struct show, tokenizer, BL_AFFECTS_NOTHING,
                     "the tokenizer that made the tokens, to show their text", .placeholder = "FILE"),
    BL_OPTION_STRING("mask", struct show, mask, BL_AFFECTS_NOTHING,
                     "the field that says which tokens are shaded [loss_mask, mask or labels]", .placeholder = "NAME"),
    BL_OPTION_STRING("output", struct show, output, BL_AFFECTS_NOTHING,
                     "the picture to write, .html, .svg or .png [the terminal]", .letter = 'o', .placeholder = "FILE"),
    BL_OPTION_CHOICE("color", struct show, color, color_names, BL_AFFECTS_NOTHING,
                     "colours without -o; auto: if standard output is a terminal that has them"),
    {0},
};

/* --- terminal ----------------------------------------------------------------------------------------------------- */

/* Returns whether the locale's encoding is UTF-8, by the variables and the order of setlocale(3). */
static bool locale_has_utf8(void)
{
    static const char *const name[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const char *value = getenv(name[i]);
        if (value && *value) /* the first that is set decides */
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* Returns how many colours to use. Variables decide as in other tools: NO_COLOR (no-color.org), TERM=dumb, and
 * COLORTERM=truecolor. */
static enum bl_terminal_colours colours_choose(const struct show *s)
{
    const char *terminal = getenv("TERM"), *depth = getenv("COLORTERM"), *none = getenv("NO_COLOR");
    bool is_able = isatty(STDOUT_FILENO) == 1 && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    if (s->color == COLOR_NEVER || (s->color == COLOR_AUTO && (!is_able || (none && *none))))
        return BL_COLOURS_NONE;
    bool has_all = depth && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    return has_all ? BL_COLOURS_ALL : BL_COLOURS_256;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Appends the sheet as a PNG file. */
static int picture_append(const struct bl_sheet *sheet, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_canvas canvas = {0};
    int code = bl_sheet_rasterize(sheet, &canvas, e);
    if (!code)
        code = bl_canvas_append_png(&canvas, (struct bl_area){0, 0, canvas.width, canvas.height}, false, out, e);
    bl_canvas_free(&canvas);
    return code;
}

/* Makes the file, or the text for the terminal, and writes it. Drawing cannot be interrupted, but after a signal
 * nothing is written. */
static int show_write(const struct bl_cmd *cmd, const struct show *s, const struct bl_sheet *sheet,
                      const struct bl_terminal *terminal, const char *dir, struct bl_error *e)
{
    struct bl_buffer out = {0};
    int code = s->form == FORM_HTML  ? bl_sheet_append_page(sheet, dir, &out, e)
               : s->form == FORM_SVG ? bl_sheet_append_svg(sheet, &out, e)
               : s->form == FORM_PNG ? picture_append(sheet, &out, e)
                                     : bl_sheet_append_terminal(sheet, terminal, &out, e);
    if (!code && bl_cancelled(&cmd->cancel))
        code = bl_error_set(e, BL_ECANCEL, "interrupted");
    if (!code)
        code = bl_cmd_write(s->output, &out, e);
    bl_buffer_free(&out);
    return code;
}

/* Makes the sheet of the block or sequence, and writes it. Damage is drawn as hatched areas, and is a failure after
 * the sheet is written. */
static int show_make(struct bl_cmd *cmd, const struct show *s, struct bl_view *view, const char *dir)
{
    static const struct bl_sheet_look picture = {
        .width = 960, .cell = 80, .pictures = 96, .lines = 4, .curve = 64, .map = 96, .strip = 16, .is_page = true};
    struct bl_error *e = &cmd->error;
    struct winsize size;
    /* The terminal's own size comes first; COLUMNS is for output to a pipe or file. */
    const char *variable = getenv("COLUMNS");
    int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                  : variable                                                  ? atoi(variable)
                                                                              : 80;
    columns = columns < 1 ? 80 : columns < 8 ? 8 : columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
    const struct bl_terminal terminal = {
        .columns = columns, .colours = colours_choose(s), .has_utf8 = locale_has_utf8()};
    const struct bl_sheet_look look = s->form ? picture : bl_sheet_terminal_look(&terminal);
    struct bl_sheet_subject subject = {.block = s->sequence    ? -1
                                                : s->has_block ? s->block
                                                               : BL_SHEET_ANY_BLOCK,
                                       .field = -1,
                                       .epoch = s->epoch,
                                       .mask = s->mask,
                                       .tokenizer = s->tokenizer,
                                       .cancel = &cmd->cancel};
    struct bl_sheet sheet = {0};
    if (s->field)
        BL_TRY(bl_field_choose(&view->manifest.format.fields, s->field, &subject.field, e));
    if (s->sequence)
        BL_TRY(bl_sequence_id_find(view, s->sequence, &cmd->cancel, &subject.row, e));
    int code = bl_sheet_make(&sheet, view, &subject, &look, e);
    if (!code)
        code = show_write(cmd, s, &sheet, &terminal, dir, e);
    if (!code && sheet.damage.code)
        code = bl_error_pass(e, BL_EFAIL, &sheet.damage);
    bl_sheet_free(&sheet);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Sets the format by the ending of -o. BL_EUSAGE. */
static int show_choose_form(struct show *s, struct bl_error *e)
{
    static const char *const ending[] = {[FORM_HTML] = ".html", [FORM_SVG] = ".svg", [FORM_PNG] = ".png"};
    s->form = FORM_TERMINAL;
    if (!s->output)
        return BL_OK;
    const char *dot = strrchr(s->output, '.');
    for (int form = FORM_HTML; dot && form <= FORM_PNG; form++) {
        if (strcasecmp(dot, ending[form]) == 0)
            s->form = (enum show_form)form;
    }
    if (s->form)
        return bl_cmd_check_file(s->output, "", e);
    return bl_error_set(e, BL_EUSAGE, "-o %s: the name must end in .html, .svg or .png", s->output);
}

/* Checks the options, opens the dataset, and draws. */
static int show_run(struct bl_cmd *cmd, struct show *s)
{
    struct bl_view view;
    const char *dir;
    BL_TRY(bl_cmd_remote_directory(&s->remote, cmd, &dir));
    s->has_block = bl_options_origin(&cmd->options, "block") != BL_ORIGIN_DEFAULT;
    if (s->has_block && s->sequence)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--block and --sequence exclude each other");
    BL_TRY(show_choose_form(s, &cmd->error));
    if (s->form && s->color != COLOR_AUTO)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--color is for the terminal, without -o");
    bl_signals_install(&cmd->cancel);
    BL_TRY(bl_view_open(&view, dir, &cmd->error));
    int code = show_make(cmd, s, &view, dir);
    bl_view_close(&view);
    return code;
}

int bl_cmd_show(int argc, char **argv)
{
    struct show s = {0};
    struct bl_cmd cmd = {
        .name = "show",
        .usage = "[options] DIR|VIEW\n"
                 "\n"
                 "Draws a block of a finished dataset, or of a view: pictures as a contact sheet, sound as waveform\n"
                 "and spectrum, tokens as text, arrays as maps, on one axis with the boundaries of the sequences.",
        .usual = "block sequence field tokenizer output h help",
        .examples = "dataset\n"
                    "dataset --sequence swim.mp4 -o swim.html",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Show", table, &s},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &s.remote},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = show_run(&cmd, &s);
    bl_cmd_remote_close(&s.remote);
    return bl_cmd_end(&cmd, code, false);
}
