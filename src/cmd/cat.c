/* bload cat: one sequence of a dataset or view, for other programs. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/extra_field.h"
#include "export/webdataset.h"
#include "kind/audio/audio.h"
#include "kind/frames/frames.h"
#include "kind/row.h"
#include "kind/text/detokenizer.h"
#include "cmd/signals.h"
#include "store/blocks.h"
#include "store/field_tokenizer.h"
#include "store/find.h"

enum bl_sequence_form { BL_FORM_AUTO, BL_FORM_NPY, BL_FORM_WAV, BL_FORM_IDS, BL_FORM_PNG, BL_FORM_TEXT };

/* Their names, by number, ended by NULL. */
extern const char *const bl_sequence_form_names[];

struct bl_sequence_job {
    struct bl_stored_sequence *sequence; /* begun */
    enum bl_sequence_form form;          /* not BL_FORM_AUTO */
    const char *path;                    /* NULL: standard output */
    bool is_folder;                      /* path is one, with a file for each step, 000000.png and so on: of png */
    struct bl_detokenizer *detokenizer;  /* of text */
    const struct bl_cancel *cancel;
};

/* --- writing a sequence ------------------------------------------------------------------------------------------- */

/* Writes one sequence in a form that other programs read, a MiB of steps at a time. */

#define CHUNK ((size_t)1 << 20) /* bytes of steps at a time; at least one step */

const char *const bl_sequence_form_names[] = {"auto", "npy", "wav", "ids", "png", "text", NULL};

/* What is being written. */
struct writer {
    const struct bl_sequence_job *job;
    const struct bl_manifest *manifest;
    const struct bl_field *field;
    const char *made;
    int64_t steps; /* in all */
    struct bl_output out;
    struct bl_new_folder folder; /* in its place, if the job has one */
    struct bl_buffer text;
    struct bl_png *png;
};

typedef int writer_begin(struct writer *w, struct bl_error *e);
typedef int writer_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e);

/* --- npy -------------------------------------------------------------------------------------------------------- */

static int npy_begin(struct writer *w, struct bl_error *e)
{
    char header[BL_NPY_HEADER_MAX];
    struct bl_export_array array = {.dtype = w->field->dtype, .rank = 1 + w->field->rank, .shape = {w->steps}};
    memcpy(array.shape + 1, w->field->shape, (size_t)w->field->rank * sizeof *array.shape);
    return bl_output_write(&w->out, header, bl_npy_header(header, &array), e);
}

static int raw_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    return bl_output_write(&w->out, data, (size_t)steps * bl_field_step_bytes(w->field), e);
}

/* --- wav -------------------------------------------------------------------------------------------------------- */

static int wav_begin(struct writer *w, struct bl_error *e)
{
    char header[BL_WAVE_HEADER_MAX];
    size_t size;
    const struct bl_wave_header h = {.dtype = w->field->dtype,
                                     .rate = bl_manifest_sample_rate(w->manifest, w->job->sequence->field),
                                     .channels = w->field->rank ? w->field->shape[0] : 1,
                                     .samples = w->steps};
    if (!h.rate)
        return bl_error_set(e, BL_EUSAGE, "--as wav: the steps of %s are not samples of sound (%s): use --as npy",
                            w->field->name, w->made);
    BL_TRY(bl_wave_header_format(&h, header, &size, e));
    return bl_output_write(&w->out, header, size, e);
}

/* --- ids -------------------------------------------------------------------------------------------------------- */

static int ids_begin(struct writer *w, struct bl_error *e)
{
    if (bl_element_is_integer(w->field))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "--as ids: %s does not have one integer a step: use --as npy", w->field->name);
}

static int ids_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    size_t size = bl_field_step_bytes(w->field);
    bl_buffer_clear(&w->text);
    for (int64_t i = 0; i < steps; i++, data += size) {
        int64_t id = bl_element_integer(w->field->dtype, data);
        if (w->field->dtype == BL_U64)
            bl_buffer_printf(&w->text, "%" PRIu64, (uint64_t)id);
        else
            bl_buffer_int(&w->text, id);
        bl_buffer_byte(&w->text, '\n');
    }
    BL_TRY(bl_buffer_check(&w->text, e));
    return bl_output_write(&w->out, w->text.data, w->text.size, e);
}

/* --- text ------------------------------------------------------------------------------------------------------- */

static int decoded_begin(struct writer *w, struct bl_error *e)
{
    (void)w, (void)e;
    return BL_OK;
}

static int decoded_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    size_t size = bl_field_step_bytes(w->field);
    int code = BL_OK;
    bl_buffer_clear(&w->text);
    for (int64_t i = 0; i < steps && !code; i++, data += size) {
        code = bl_detokenizer_append(w->job->detokenizer, bl_element_integer(w->field->dtype, data), &w->text, e);
        if (code || w->text.size < CHUNK)
            continue;
        code = bl_output_write(&w->out, w->text.data, w->text.size, e);
        bl_buffer_clear(&w->text);
    }
    return code ? code : bl_output_write(&w->out, w->text.data, w->text.size, e);
}

/* --- png -------------------------------------------------------------------------------------------------------- */

static int pictures_begin(struct writer *w, struct bl_error *e)
{
    return bl_png_open(&w->png, w->field, e);
}

static int pictures_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    int64_t number = w->job->sequence->next - steps;
    char name[32];
    int code = BL_OK;
    for (int64_t i = 0; i < steps && !code; i++, data += bl_field_step_bytes(w->field)) {
        const uint8_t *file;
        size_t size;
        snprintf(name, sizeof name, "%06" PRId64 ".png", number + i);
        code = bl_cancelled(w->job->cancel) ? BL_ECANCEL : bl_png_encode(w->png, data, &file, &size, e);
        if (!code)
            code = w->job->is_folder ? bl_new_folder_add(&w->folder, name, file, size, e)
                                     : bl_output_write(&w->out, file, size, e);
    }
    return code;
}

/* --- all -------------------------------------------------------------------------------------------------------- */

static const struct {
    writer_begin *begin;
    writer_put *put;
    bool is_text;
} forms[] = {[BL_FORM_NPY] = {npy_begin, raw_put, false},
             [BL_FORM_WAV] = {wav_begin, raw_put, false},
             [BL_FORM_IDS] = {ids_begin, ids_put, true},
             [BL_FORM_PNG] = {pictures_begin, pictures_put, false},
             [BL_FORM_TEXT] = {decoded_begin, decoded_put, true}};

/* The form that suits a field if none is asked for, and no tokenizer is given. */
static enum bl_sequence_form sequence_form_of(const struct bl_manifest *manifest, int f)
{
    const struct bl_field *field = &manifest->format.fields.field[f];
    bool is_sound = field->dtype == BL_I16 || field->dtype == BL_F32;
    if (is_sound && bl_manifest_sample_rate(manifest, f))
        return BL_FORM_WAV;
    if (bl_field_tokenizer_is_bytes(manifest, f))
        return BL_FORM_TEXT;
    return strcmp(field->kind, "text") == 0 && bl_element_is_integer(field) ? BL_FORM_IDS : BL_FORM_NPY;
}

/* Whether people can read it. */
static bool sequence_form_is_text(enum bl_sequence_form form)
{
    return forms[form].is_text;
}

static int writer_put_all(struct writer *w, struct bl_error *e)
{
    size_t step = bl_field_step_bytes(w->field);
    int64_t most = step < CHUNK ? (int64_t)(CHUNK / step) : 1, steps = 1;
    uint8_t *data = malloc((size_t)most * step);
    int code = data ? BL_OK : bl_error_memory(e);
    while (!code && steps) {
        code = bl_cancelled(w->job->cancel) ? BL_ECANCEL
                                            : bl_stored_sequence_read(w->job->sequence, most, data, &steps, e);
        if (!code && steps)
            code = forms[w->job->form].put(w, data, steps, e);
    }
    free(data);
    return code;
}

/* BL_EUSAGE: the field has no such form, or the folder is not empty. BL_EDATA: steps are damaged; a file or folder does
 * not get its name then. */
static int sequence_write(const struct bl_sequence_job *job, struct bl_error *e)
{
    const struct bl_stored_sequence *s = job->sequence;
    const struct bl_manifest *m = &s->view->manifest;
    struct writer w = {.job = job,
                       .manifest = m,
                       .field = &m->format.fields.field[s->field],
                       .made = m->made[s->field],
                       .steps = s->end - s->next};
    int code = job->is_folder ? bl_new_folder_open(&w.folder, job->path, e) : bl_output_open(&w.out, job->path, e);
    if (!code)
        code = forms[job->form].begin(&w, e);
    if (!code)
        code = writer_put_all(&w, e);
    if (!code)
        code = job->is_folder ? bl_new_folder_commit(&w.folder, e) : bl_output_commit(&w.out, e);
    bl_new_folder_abort(&w.folder);
    bl_png_close(w.png);
    bl_output_abort(&w.out);
    bl_buffer_free(&w.text);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

struct cat {
    const char *field, *steps, *output, *tokenizer;
    int as;       /* enum bl_sequence_form */
    int64_t step; /* the only one */
    bool has_step;
};

static const struct bl_option table[] = {
    BL_OPTION_STRING("field", struct cat, field, BL_AFFECTS_NOTHING,
                     "which one; required where the dataset has several", .placeholder = "NAME"),
    BL_OPTION_CHOICE("as", struct cat, as, bl_sequence_form_names, BL_AFFECTS_NOTHING,
                     "the form; auto: wav for sound, text for tokens if their tokenizer is bytes or given, else ids, "
                     "one a line; npy for "
                     "all else"),
    BL_OPTION_STRING("tokenizer", struct cat, tokenizer, BL_AFFECTS_NOTHING,
                     "that which made the tokens, to decode them to text", .placeholder = "FILE"),
    BL_OPTION_STRING("steps", struct cat, steps, BL_AFFECTS_NOTHING,
                     "only steps A to B - 1, from 0; either may be left out", .placeholder = "A..B"),
    BL_OPTION_INT("step", struct cat, step, BL_AFFECTS_NOTHING, "only this one, as a single picture with --as png"),
    BL_OPTION_STRING("output", struct cat, output, BL_AFFECTS_NOTHING,
                     "the file to write, or the directory of pictures [standard output]", .letter = 'o',
                     .placeholder = "FILE"),
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
    if (!c->output && !sequence_form_is_text(job->form) && isatty(STDOUT_FILENO))
        return bl_error_set(e, BL_EUSAGE, "standard output is a terminal, and %s is not for people: use -o FILE",
                            bl_sequence_form_names[job->form]);
    return job->is_folder ? BL_OK : bl_cmd_check_file(c->output, "", e);
}

static enum bl_sequence_form form_choose(const struct cat *c, const struct bl_view *view, int field)
{
    if (c->as)
        return (enum bl_sequence_form)c->as;
    return c->tokenizer ? BL_FORM_TEXT : sequence_form_of(&view->manifest, field);
}

static int cat_write(struct bl_cmd *cmd, const struct cat *c, struct bl_view *view)
{
    struct bl_error *e = &cmd->error;
    struct bl_stored_sequence sequence;
    struct bl_step_range range;
    int64_t row;
    int field;
    BL_TRY(bl_field_choose(&view->manifest.format.fields, c->field, &field, e));
    struct bl_sequence_job job = {
        .sequence = &sequence, .form = form_choose(c, view, field), .path = c->output, .cancel = &cmd->cancel};
    job.is_folder = job.form == BL_FORM_PNG && !c->has_step;
    int code = output_check(c, &job, e);
    if (!code)
        code = range_set(c, &range, e);
    if (!code)
        code = bl_sequence_id_find(view, cmd->options.operand[1], &cmd->cancel, &row, e);
    if (!code)
        code = bl_stored_sequence_begin(&sequence, view, row, field, &range, e);
    if (!code && job.form == BL_FORM_TEXT)
        code = bl_field_tokenizer_open(&view->manifest, field, c->tokenizer, &job.detokenizer, e);
    if (!code)
        code = sequence_write(&job, e);
    bl_detokenizer_close(job.detokenizer);
    return code;
}

static int cat_run(struct bl_cmd *cmd, struct cat *c)
{
    struct bl_view view;
    if (cmd->options.operands != 2)
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "expects a dataset directory and the id of a sequence (see bload cat --help)");
    BL_TRY(bl_io_check_path(cmd->options.operand[0], &cmd->error));
    c->has_step = bl_options_origin(&cmd->options, "step") != BL_ORIGIN_DEFAULT;
    if (c->output) /* else there is nothing to clean up, and a filter ends with its reader */
        bl_signals_install(&cmd->cancel);
    BL_TRY(bl_view_open(&view, cmd->options.operand[0], &cmd->error));
    int code = cat_write(cmd, c, &view);
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
