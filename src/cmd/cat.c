/* bload cat: one sequence of a dataset or view, for other programs. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/extra_field.h"
#include "cmd/sequence_writer.h"
#include "run/signals.h"
#include "store/field_tokenizer.h"
#include "store/find.h"

struct cat {
    const char *field, *steps, *output, *tokenizer;
    int as;       /* enum bl_sequence_form */
    int64_t step; /* the only one */
    bool has_step;
};

static const struct bl_option table[] = {
    BL_OPTION_STRING("field", struct cat, field, BL_AFFECTS_NOTHING,
                     "which one; required where the dataset has several", .placeholder = "NAME",
                     .command_line_only = true),
    BL_OPTION_CHOICE("as", struct cat, as, bl_sequence_form_names, BL_AFFECTS_NOTHING,
                     "the form; auto: wav for sound, text for tokens if their tokenizer is bytes or given, else ids, "
                     "one a line; npy for "
                     "all else",
                     .command_line_only = true),
    BL_OPTION_STRING("tokenizer", struct cat, tokenizer, BL_AFFECTS_NOTHING,
                     "that which made the tokens, to decode them to text", .placeholder = "FILE",
                     .command_line_only = true),
    BL_OPTION_STRING("steps", struct cat, steps, BL_AFFECTS_NOTHING,
                     "only steps A to B - 1, from 0; either may be left out", .placeholder = "A..B",
                     .command_line_only = true),
    BL_OPTION_INT("step", struct cat, step, BL_AFFECTS_NOTHING, "only this one, as a single picture with --as png",
                  .command_line_only = true),
    BL_OPTION_STRING("output", struct cat, output, BL_AFFECTS_NOTHING,
                     "the file to write, or the directory of pictures [standard output]", .letter = 'o',
                     .placeholder = "FILE", .command_line_only = true),
    {0},
};

/* "10..20", "10..", "..20" */
static int range_parse(const char *text, struct bl_step_range *range, struct bl_error *e)
{
    const char *dots = text ? strstr(text, "..") : NULL;
    *range = (struct bl_step_range){.end = -1, .is_given = text != NULL};
    if (!text)
        return BL_OK;
    bool is_good = dots && (dots != text || dots[2]);
    if (is_good && dots != text)
        is_good = bl_text_to_int(text, (size_t)(dots - text), 0, INT64_MAX - 1, &range->first);
    if (is_good && dots[2])
        is_good = bl_text_to_int(dots + 2, strlen(dots + 2), 1, INT64_MAX, &range->end) && range->first < range->end;
    if (is_good)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "--steps %s: expects A..B, steps A to B - 1 from 0, as 0..100, 100.. or ..100",
                        text);
}

static int range_set(const struct cat *c, struct bl_step_range *range, struct bl_error *e)
{
    if (!c->has_step)
        return range_parse(c->steps, range, e);
    *range = (struct bl_step_range){.first = c->step, .end = c->step + 1, .is_given = true};
    return c->steps ? bl_error_set(e, BL_EUSAGE, "--step and --steps exclude each other") : BL_OK;
}

/* Where the output goes must suit its form. */
static int output_check(const struct cat *c, const struct bl_sequence_job *job, struct bl_error *e)
{
    if (job->form == BL_FORM_PNG && !c->has_step && (!c->output || strcmp(c->output, "-") == 0))
        return bl_error_set(e, BL_EUSAGE, "--as png: --step N writes one picture, -o DIR all of them into a directory");
    if (c->tokenizer && job->form != BL_FORM_TEXT)
        return bl_error_set(e, BL_EUSAGE, "--tokenizer is for --as text");
    if (!c->output && !bl_sequence_form_is_text(job->form) && isatty(STDOUT_FILENO))
        return bl_error_set(e, BL_EUSAGE, "standard output is a terminal, and %s is not for people: use -o FILE",
                            bl_sequence_form_names[job->form]);
    return job->is_folder ? BL_OK : bl_cmd_check_file(c->output, "", e);
}

static enum bl_sequence_form form_choose(const struct cat *c, const struct bl_view *view, int field)
{
    if (c->as)
        return (enum bl_sequence_form)c->as;
    return c->tokenizer ? BL_FORM_TEXT : bl_sequence_form_of(&view->manifest, field);
}

static int cat_write(struct bl_cmd *cmd, const struct cat *c, struct bl_view *view)
{
    struct bl_error *e = &cmd->error;
    struct bl_stored_sequence sequence;
    struct bl_step_range range;
    int64_t row;
    int field;
    int code = bl_field_choose(&view->manifest.format.fields, c->field, &field, e);
    if (code)
        return code;
    struct bl_sequence_job job = {
        .sequence = &sequence, .form = form_choose(c, view, field), .path = c->output, .cancel = &cmd->cancel};
    job.is_folder = job.form == BL_FORM_PNG && !c->has_step;
    code = output_check(c, &job, e);
    if (!code)
        code = range_set(c, &range, e);
    if (!code)
        code = bl_sequence_id_find(view, cmd->options.operand[1], &cmd->cancel, &row, e);
    if (!code)
        code = bl_stored_sequence_begin(&sequence, view, row, field, &range, e);
    if (!code && job.form == BL_FORM_TEXT)
        code = bl_field_tokenizer_open(&view->manifest, field, c->tokenizer, &job.detokenizer, e);
    if (!code)
        code = bl_sequence_write(&job, e);
    bl_detokenizer_close(job.detokenizer);
    return code;
}

static int cat_run(struct bl_cmd *cmd, struct cat *c)
{
    struct bl_view view;
    if (cmd->options.operands != 2)
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "expects a dataset directory and the id of a sequence (see bload cat --help)");
    int code = bl_io_check_path(cmd->options.operand[0], &cmd->error);
    if (code)
        return code;
    c->has_step = bl_options_origin(&cmd->options, "step") != BL_ORIGIN_DEFAULT;
    if (c->output) /* else there is nothing to clean up, and a filter ends with its reader */
        bl_signals_install(&cmd->cancel);
    code = bl_view_open(&view, cmd->options.operand[0], &cmd->error);
    if (code)
        return code;
    code = cat_write(cmd, c, &view);
    bl_view_close(&view);
    return code;
}

int bl_cmd_cat(int argc, char **argv)
{
    struct cat c = {0};
    struct bl_cmd cmd = {.name = "cat",
                         .usage = "[options] DIR|VIEW ID\n"
                                  "\n"
                                  "Writes one sequence of a finished dataset, or of a view, to standard output.\n"
                                  "ID is as in sequences.tsv.",
                         .usual = "field as tokenizer steps step output",
                         .examples = "dataset swim.mp4 --steps 0..16 -o start.npy\n"
                                     "dataset swim.mp4 --as png -o pictures",
                         .operands = "directories"};
    const struct bl_option_group groups[] = {{"Cat", table, &c}, {"General", bl_common_table, &cmd.common}, {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = cat_run(&cmd, &c);
    return bl_cmd_end(&cmd, code, false);
}
