#include "kind/isolated/messages.h"

#include <string.h>

#include "base/buffer.h"

#define STEP_BYTES_MAX (INT64_C(1) << 40) /* as in kind/field.h */

void bl_isolated_put_row(struct bl_buffer *out, const struct bl_row *row)
{
    const char *text[] = {row->id,    row->kind,     row->path,    row->reason, row->sampling, row->form,
                          row->start, row->duration, row->channel, row->extra,  row->columns,  row->clip_seek};
    const int64_t number[] = {row->length, row->bytes,  (int64_t)row->content, row->status,
                              row->stream, row->offset, row->clip_begin,       row->clip_end};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        bl_message_put_text(out, text[i]);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        bl_message_put_int(out, number[i]);
    bl_message_put_double(out, row->origin);
    bl_message_put_bytes(out, row->times, row->times ? (size_t)row->length * sizeof *row->times : 0);
}

void bl_isolated_get_row(struct bl_message *m, struct bl_row *row)
{
    const char **text[] = {&row->id,    &row->kind,     &row->path,    &row->reason, &row->sampling, &row->form,
                           &row->start, &row->duration, &row->channel, &row->extra,  &row->columns,  &row->clip_seek};
    size_t times;
    *row = (struct bl_row){0};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = bl_message_get_text(m);
    row->length = bl_message_get_int(m);
    row->bytes = bl_message_get_int(m);
    row->content = (uint64_t)bl_message_get_int(m);
    row->status = (enum bl_row_status)bl_message_get_int(m);
    row->stream = (int)bl_message_get_int(m);
    row->offset = bl_message_get_int(m);
    row->clip_begin = bl_message_get_int(m);
    row->clip_end = bl_message_get_int(m);
    row->origin = bl_message_get_double(m);
    row->times = bl_message_get_bytes(m, &times);
    m->damaged |= row->length < 0 || row->status > BL_ROW_FAILED;
    m->damaged |= times % sizeof *row->times != 0 || (times && times / sizeof *row->times != (size_t)row->length);
}

static void chunk_put_input(struct bl_buffer *out, const struct bl_input *input)
{
    bl_message_put_text(out, input->path);
    bl_message_put_text(out, input->name);
    bl_message_put_text(out, input->id);
    bl_message_put_int(out, input->bytes);
    bl_message_put_int(out, input->modified);
    bl_message_put_int(out, (int64_t)input->content);
}

static void chunk_put_line(struct bl_buffer *out, const struct bl_line *line)
{
    bl_message_put_int(out, line->number);
    bl_message_put_int(out, line->unusable);
    bl_message_put_bytes(out, line->text, line->size);
}

void bl_isolated_put_chunk(struct bl_buffer *out, const struct bl_chunk *chunk, int first, int count)
{
    bl_message_put_text(out, chunk->base);
    bl_message_put_int(out, chunk->begin);
    bl_message_put_int(out, chunk->end);
    bl_message_put_int(out, chunk->times);
    bl_message_put_int(out, chunk->followed != NULL);
    if (chunk->followed)
        bl_isolated_put_row(out, chunk->followed);
    bl_message_put_int(out, chunk->list);
    bl_message_put_int(out, chunk->clips);
    bl_message_put_text(out, count ? NULL : chunk->fault);
    bl_message_put_int(out, count);
    if (chunk->list)
        chunk_put_input(out, chunk->input);
    for (int i = first; i < first + count; i++) {
        if (chunk->list)
            chunk_put_line(out, &chunk->line[i]);
        else
            chunk_put_input(out, &chunk->input[i]);
    }
}

static void chunk_get_input(struct bl_message *m, struct bl_input *input)
{
    *input = (struct bl_input){.path = bl_message_get_text(m)};
    input->name = bl_message_get_text(m);
    input->id = bl_message_get_text(m);
    input->bytes = bl_message_get_int(m);
    input->modified = bl_message_get_int(m);
    input->content = (uint64_t)bl_message_get_int(m);
    m->damaged |= !input->path;
}

static int chunk_get_lines(struct bl_message *m, struct bl_isolated_chunk *out, int64_t lines, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(out->line, out->capacity, (size_t)lines + 1, e);
    if (code)
        return code;
    for (int64_t i = 0; i < lines && !m->damaged; i++) {
        struct bl_line *line = &out->line[i];
        line->number = bl_message_get_int(m);
        line->unusable = bl_message_get_int(m) != 0;
        const char *text = bl_message_get_bytes(m, &line->size);
        line->text = text ? text : "";
    }
    out->chunk.line = out->line;
    out->chunk.lines = (int)lines;
    return BL_OK;
}

int bl_isolated_get_chunk(struct bl_message *m, struct bl_isolated_chunk *out, struct bl_error *e)
{
    struct bl_chunk *chunk = &out->chunk;
    *chunk = (struct bl_chunk){.input = out->input, .inputs = 1, .base = bl_message_get_text(m)};
    chunk->begin = bl_message_get_int(m);
    chunk->end = bl_message_get_int(m);
    chunk->times = bl_message_get_int(m) != 0;
    if (bl_message_get_int(m)) {
        bl_isolated_get_row(m, &out->followed);
        chunk->followed = &out->followed;
    }
    chunk->list = bl_message_get_int(m) != 0;
    chunk->clips = bl_message_get_int(m) != 0;
    chunk->fault = bl_message_get_text(m);
    int64_t count = bl_message_get_int(m);
    m->damaged |= count < !chunk->list || count > (chunk->list ? INT32_MAX : BL_ISOLATED_FILES);
    if (m->damaged)
        return BL_OK;
    chunk->inputs = chunk->list ? 1 : (int)count;
    for (int i = 0; i < chunk->inputs; i++)
        chunk_get_input(m, &out->input[i]);
    return chunk->list && !m->damaged ? chunk_get_lines(m, out, count, e) : BL_OK;
}

void bl_isolated_put_fields(struct bl_buffer *out, const struct bl_fields *fields)
{
    bl_message_put_bytes(out, fields, sizeof *fields);
}

/* Whether a step has a size that can be computed. */
static bool field_has_size(const struct bl_field *field)
{
    int64_t bytes = (int64_t)bl_dtype_size(field->dtype);
    for (int i = 0; i < field->rank; i++) {
        if (field->shape[i] < 1 || field->shape[i] > STEP_BYTES_MAX / bytes)
            return false;
        bytes *= field->shape[i];
    }
    return true;
}

void bl_isolated_get_fields(struct bl_message *m, struct bl_fields *fields)
{
    size_t size;
    const void *bytes = bl_message_get_bytes(m, &size);
    m->damaged |= size != sizeof *fields;
    *fields = (struct bl_fields){0};
    if (m->damaged)
        return;
    memcpy(fields, bytes, sizeof *fields);
    m->damaged |= fields->count < 0 || fields->count > BL_FIELDS_MAX;
    for (int f = 0; f < fields->count && !m->damaged; f++) {
        struct bl_field *field = &fields->field[f];
        m->damaged |= field->rank < 0 || field->rank > BL_FIELD_RANK_MAX || field->dtype > BL_F64;
        m->damaged |= !m->damaged && !field_has_size(field);
        field->name[sizeof field->name - 1] = field->kind[sizeof field->kind - 1] = '\0';
    }
}
