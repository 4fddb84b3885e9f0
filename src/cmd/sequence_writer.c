#include "cmd/sequence_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/publish.h"
#include "export/webdataset.h"
#include "kind/audio/audio.h"
#include "kind/field.h"
#include "kind/frames/frames.h"
#include "store/field_tokenizer.h"

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
    int code = bl_wave_header_format(&h, header, &size, e);
    return code ? code : bl_output_write(&w->out, header, size, e);
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
    int code = bl_buffer_check(&w->text, e);
    return code ? code : bl_output_write(&w->out, w->text.data, w->text.size, e);
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

enum bl_sequence_form bl_sequence_form_of(const struct bl_manifest *manifest, int f)
{
    const struct bl_field *field = &manifest->format.fields.field[f];
    bool is_sound = field->dtype == BL_I16 || field->dtype == BL_F32;
    if (is_sound && bl_manifest_sample_rate(manifest, f))
        return BL_FORM_WAV;
    if (bl_field_tokenizer_is_bytes(manifest, f))
        return BL_FORM_TEXT;
    return strcmp(field->kind, "text") == 0 && bl_element_is_integer(field) ? BL_FORM_IDS : BL_FORM_NPY;
}

bool bl_sequence_form_is_text(enum bl_sequence_form form)
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

int bl_sequence_write(const struct bl_sequence_job *job, struct bl_error *e)
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
