/* bload cat writes one sequence of a dataset or view in a format that other programs read.
 *
 * The steps go through a buffer of one MiB, so that a long recording needs no memory of its length. Each format is two
 * functions in a table: `begin` writes a header or checks that the field suits the format, `put` writes some steps. A
 * new format is a line in the table and a name for --as. For example, `bload cat dataset swim.mp4 --steps 0..16 -o
 * start.npy` calls npy_begin once, and raw_put once for 16 small frames. */
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
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "store/blocks.h"
#include "store/field_tokenizer.h"
#include "store/find.h"

enum sequence_form { FORM_AUTO, FORM_NPY, FORM_WAV, FORM_IDS, FORM_PNG, FORM_TEXT };

/* The values of --as, in the order of the enum. */
static const char *const form_names[] = {"auto", "npy", "wav", "ids", "png", "text", NULL};

#define CHUNK ((size_t)1 << 20) /* bytes of steps at a time; at least one step */

/* The sequence, its output, and the state of its format. */
struct writer {
    struct bl_stored_sequence *sequence; /* begun; the steps still to be read are `next` to `end` - 1 */
    const struct bl_manifest *manifest;
    const struct bl_field *field;
    const struct bl_cancel *cancel;
    int64_t steps;                      /* steps to write in all; npy and wav have the number in their headers */
    bool is_folder;                     /* png without --step: the output is a folder with a file for each step */
    struct bl_output out;               /* the file or standard output; unused with is_folder */
    struct bl_new_folder folder;        /* gets its name when it is complete; used with is_folder */
    struct bl_buffer text;              /* lines or decoded text that the next write takes */
    struct bl_png *png;                 /* png: the encoder */
    struct bl_detokenizer *detokenizer; /* text: owned by the caller */
};

typedef int writer_begin(struct writer *w, struct bl_error *e);
typedef int writer_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e);

/* --- npy ---------------------------------------------------------------------------------------------------------- */

/* The shape is that of all steps; a later error removes the file, so that no header has a wrong number. */
static int npy_begin(struct writer *w, struct bl_error *e)
{
    char header[BL_NPY_HEADER_MAX];
    struct bl_export_array array = {.dtype = w->field->dtype, .rank = 1 + w->field->rank, .shape = {w->steps}};
    memcpy(array.shape + 1, w->field->shape, (size_t)w->field->rank * sizeof *array.shape);
    return bl_output_write(&w->out, header, bl_npy_header(header, &array), e);
}

/* The elements as they are stored: npy and wav have them in the same order and byte order as a dataset. */
static int raw_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    return bl_output_write(&w->out, data, (size_t)steps * bl_field_step_bytes(w->field), e);
}

/* --- wav ---------------------------------------------------------------------------------------------------------- */

/* Refuses a field without a sample rate: its steps are not sound. */
static int wav_begin(struct writer *w, struct bl_error *e)
{
    char header[BL_WAVE_HEADER_MAX];
    size_t size;
    const struct bl_wave_header h = {.dtype = w->field->dtype,
                                     .rate = bl_manifest_sample_rate(w->manifest, w->sequence->field),
                                     .channels = w->field->rank ? w->field->shape[0] : 1,
                                     .samples = w->steps};
    if (!h.rate)
        return bl_error_set(e, BL_EUSAGE, "--as wav: the steps of %s are not samples of sound (%s): use --as npy",
                            w->field->name, w->manifest->made[w->sequence->field]);
    BL_TRY(bl_wave_header_format(&h, header, &size, e));
    return bl_output_write(&w->out, header, size, e);
}

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Refuses a field whose steps are not one integer each. */
static int ids_begin(struct writer *w, struct bl_error *e)
{
    if (bl_element_is_integer(w->field))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "--as ids: %s does not have one integer a step: use --as npy", w->field->name);
}

/* One number a line. The element functions return int64_t, which holds the bits of a uint64_t, too. */
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

/* --- text --------------------------------------------------------------------------------------------------------- */

static int decoded_begin(struct writer *w, struct bl_error *e)
{
    (void)w, (void)e;
    return BL_OK;
}

/* Writes whenever a MiB has come together: a token may stand for many bytes, so the text of a chunk of steps has no
 * useful bound. */
static int decoded_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    size_t size = bl_field_step_bytes(w->field);
    int code = BL_OK;
    bl_buffer_clear(&w->text);
    for (int64_t i = 0; i < steps && !code; i++, data += size) {
        code = bl_detokenizer_append(w->detokenizer, bl_element_integer(w->field->dtype, data), &w->text, e);
        if (code || w->text.size < CHUNK)
            continue;
        code = bl_output_write(&w->out, w->text.data, w->text.size, e);
        bl_buffer_clear(&w->text);
    }
    return code ? code : bl_output_write(&w->out, w->text.data, w->text.size, e);
}

/* --- png ---------------------------------------------------------------------------------------------------------- */

static int pictures_begin(struct writer *w, struct bl_error *e)
{
    return bl_png_open(&w->png, w->field, e);
}

/* Names each picture by the number of its step in the sequence: 000000.png, also if --steps begins later. */
static int pictures_put(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    int64_t number = w->sequence->next - steps; /* the read has advanced `next` past these steps */
    int code = BL_OK;
    for (int64_t i = 0; i < steps && !code; i++, data += bl_field_step_bytes(w->field)) {
        char name[32];
        const uint8_t *file;
        size_t size;
        snprintf(name, sizeof name, "%06" PRId64 ".png", number + i);
        code = bl_cancelled(w->cancel) ? BL_ECANCEL : bl_png_encode(w->png, data, &file, &size, e);
        if (!code)
            code = w->is_folder ? bl_new_folder_add(&w->folder, name, file, size, e)
                                : bl_output_write(&w->out, file, size, e);
    }
    return code;
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

/* The functions of each format, by enum sequence_form. AUTO has none: form_choose replaces it. */
static const struct {
    int (*begin)(struct writer *w, struct bl_error *e);
    int (*put)(struct writer *w, const uint8_t *data, int64_t steps, struct bl_error *e);
    bool is_text; /* people can read it on a terminal */
} forms[] = {[FORM_NPY] = {npy_begin, raw_put, false},
             [FORM_WAV] = {wav_begin, raw_put, false},
             [FORM_IDS] = {ids_begin, ids_put, true},
             [FORM_PNG] = {pictures_begin, pictures_put, false},
             [FORM_TEXT] = {decoded_begin, decoded_put, true}};

/* Writes the sequence to `path` in the format. BL_EUSAGE: the field does not suit the format, or the folder is not
 * empty. BL_EDATA: steps are damaged. After an error, the file or folder does not get its name. */
static int sequence_write(struct writer *w, enum sequence_form form, const char *path, struct bl_error *e)
{
    size_t step = bl_field_step_bytes(w->field);
    int64_t most = step < CHUNK ? (int64_t)(CHUNK / step) : 1, steps = 1;
    uint8_t *data = NULL; /* `most` steps */
    int code = w->is_folder ? bl_new_folder_open(&w->folder, path, e) : bl_output_open(&w->out, path, e);
    if (!code)
        code = forms[form].begin(w, e);
    if (!code && !(data = malloc((size_t)most * step)))
        code = bl_error_memory(e);
    while (!code && steps) {
        code = bl_cancelled(w->cancel) ? BL_ECANCEL : bl_stored_sequence_read(w->sequence, most, data, &steps, e);
        if (!code && steps)
            code = forms[form].put(w, data, steps, e);
    }
    free(data);
    if (!code)
        code = w->is_folder ? bl_new_folder_commit(&w->folder, e) : bl_output_commit(&w->out, e);
    bl_new_folder_abort(&w->folder);
    bl_png_close(w->png);
    bl_output_abort(&w->out);
    bl_buffer_free(&w->text);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

struct cat {
    const char *field, *steps, *output, *tokenizer; /* options; NULL: not given */
    int as;                                         /* enum sequence_form */
    int64_t step;                                   /* the only step to write, if has_step */
    bool has_step;
    struct bl_cmd_remote remote; /* options of URLs */
};

static const struct bl_option table[] = {
    BL_OPTION_STRING("field", struct cat, field, BL_AFFECTS_NOTHING, "the field; required if the dataset has several",
                     .placeholder = "NAME"),
    BL_OPTION_CHOICE("as", struct cat, as, form_names, BL_AFFECTS_NOTHING,
                     "the form; auto: wav for sound, text for tokens if their tokenizer is bytes or given, ids (one a "
                     "line) for other tokens, npy for all else"),
    BL_OPTION_STRING("tokenizer", struct cat, tokenizer, BL_AFFECTS_NOTHING,
                     "the tokenizer that made the tokens, to decode them", .placeholder = "FILE"),
    BL_OPTION_STRING("steps", struct cat, steps, BL_AFFECTS_NOTHING,
                     "only steps A to B - 1, counted from 0; A or B may be left out", .placeholder = "A..B"),
    BL_OPTION_INT("step", struct cat, step, BL_AFFECTS_NOTHING, "only this step; with --as png, one picture"),
    BL_OPTION_STRING("output", struct cat, output, BL_AFFECTS_NOTHING,
                     "the file to write, or the directory of pictures [standard output]", .letter = 'o',
                     .placeholder = "FILE"),
    {0},
};

/* Sets *range by --step, or by --steps: "10..20", "10.." or "..20". Without both it is the entire sequence. */
static int range_set(const struct cat *c, struct bl_step_range *range, struct bl_error *e)
{
    const char *text = c->steps;
    *range = (struct bl_step_range){.end = -1, .is_given = text != NULL};
    if (c->has_step) {
        *range = (struct bl_step_range){.first = c->step, .end = c->step + 1, .is_given = true};
        return text ? bl_error_set(e, BL_EUSAGE, "--step and --steps exclude each other") : BL_OK;
    }
    if (!text)
        return BL_OK;
    const char *dots = strstr(text, "..");
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

/* Checks that the output suits the format: no binary data to a terminal, no row of pictures into one file. */
static int output_check(const struct cat *c, enum sequence_form form, struct bl_error *e)
{
    bool is_folder = form == FORM_PNG && !c->has_step;
    if (is_folder && (!c->output || strcmp(c->output, "-") == 0))
        return bl_error_set(e, BL_EUSAGE, "--as png: --step N writes one picture, -o DIR all of them into a directory");
    if (c->tokenizer && form != FORM_TEXT)
        return bl_error_set(e, BL_EUSAGE, "--tokenizer is for --as text");
    if (!c->output && !forms[form].is_text && isatty(STDOUT_FILENO))
        return bl_error_set(e, BL_EUSAGE, "standard output is a terminal, which cannot show %s: use -o FILE",
                            form_names[form]);
    return is_folder ? BL_OK : bl_cmd_check_file(c->output, "", e);
}

/* Returns the format of --as auto: one that people can use directly, if the field has one. */
static enum sequence_form form_choose(const struct cat *c, const struct bl_manifest *manifest, int f)
{
    const struct bl_field *field = &manifest->format.fields.field[f];
    if (c->as)
        return (enum sequence_form)c->as;
    if (c->tokenizer)
        return FORM_TEXT;
    if ((field->dtype == BL_I16 || field->dtype == BL_F32) && bl_manifest_sample_rate(manifest, f))
        return FORM_WAV;
    if (bl_field_tokenizer_is_bytes(manifest, f))
        return FORM_TEXT;
    return strcmp(field->kind, "text") == 0 && bl_element_is_integer(field) ? FORM_IDS : FORM_NPY;
}

/* Chooses the field, the format and the steps, checks them, and writes the sequence. */
static int cat_write(struct bl_cmd *cmd, const struct cat *c, struct bl_view *view)
{
    struct bl_error *e = &cmd->error;
    struct bl_stored_sequence sequence;
    struct bl_step_range range;
    int64_t row;
    int field;
    BL_TRY(bl_field_choose(&view->manifest.format.fields, c->field, &field, e));
    enum sequence_form form = form_choose(c, &view->manifest, field);
    BL_TRY(output_check(c, form, e));
    BL_TRY(range_set(c, &range, e));
    BL_TRY(bl_sequence_id_find(view, cmd->options.operand[1], &cmd->cancel, &row, e));
    BL_TRY(bl_stored_sequence_begin(&sequence, view, row, field, &range, e));
    struct writer w = {.sequence = &sequence,
                       .manifest = &view->manifest,
                       .field = &view->manifest.format.fields.field[field],
                       .cancel = &cmd->cancel,
                       .steps = sequence.end - sequence.next,
                       .is_folder = form == FORM_PNG && !c->has_step};
    int code = BL_OK;
    if (form == FORM_TEXT)
        code = bl_field_tokenizer_open(&view->manifest, field, c->tokenizer, &w.detokenizer, e);
    if (!code)
        code = sequence_write(&w, form, c->output, e);
    bl_detokenizer_close(w.detokenizer);
    return code;
}

/* Checks the operands and opens the dataset. */
static int cat_run(struct bl_cmd *cmd, struct cat *c)
{
    struct bl_view view;
    const char *dir;
    if (cmd->options.operands != 2)
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "expects a dataset directory and the id of a sequence (see bload cat --help)");
    BL_TRY(bl_cmd_remote_dataset(&c->remote, cmd, &dir));
    c->has_step = bl_options_origin(&cmd->options, "step") != BL_ORIGIN_DEFAULT;
    /* A signal must remove an unfinished file. Without -o there is nothing to remove, and a filter ends as usual when
     * its reader does: by SIGPIPE. */
    if (c->output)
        bl_signals_install(&cmd->cancel);
    BL_TRY(bl_view_open(&view, dir, &cmd->error));
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
    const struct bl_option_group groups[] = {{"Cat", table, &c},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &c.remote},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = cat_run(&cmd, &c);
    bl_cmd_remote_close(&c.remote);
    return bl_cmd_end(&cmd, code, false);
}
