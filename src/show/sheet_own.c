/* Reads the passages of fields with steps of their own.
 *
 * Own steps do not lie on the axis of a sheet, so that no lane has them. Each sequence has a passage instead: the text
 * of its tokens, or the first values. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "kind/row.h"
#include "show/sheet.h"
#include "store/field_tokenizer.h"

/* Tokens at a time, and of a brief sheet at most; steps and values of one step that are shown as numbers. */
enum { CHUNK = 1 << 12, BRIEF = 200, ROWS = 3, ROW_VALUES = 8, VALUES = 24 };

/* One own field that is being read. */
struct own_reading {
    struct bl_sheet *sheet;
    struct bl_passages *passages;
    const struct bl_field *field;
    struct bl_detokenizer *detokenizer; /* NULL: the passages have numbers */
    bool is_tokens;
    int64_t most, chunk; /* steps that are shown of a piece, and that are read at a time */
    uint8_t *data;       /* [chunk] steps */
    struct bl_stored_sequence stored;
};

/* Appends an element: all digits of an integer, four of another number. */
static void value_append(enum bl_dtype dtype, const uint8_t *element, struct bl_buffer *out)
{
    if (dtype == BL_U64)
        bl_buffer_printf(out, "%" PRIu64, (uint64_t)bl_element_integer(dtype, element));
    else if (bl_element_is_integer(&(struct bl_field){.dtype = dtype}))
        bl_buffer_int(out, bl_element_integer(dtype, element));
    else
        bl_buffer_printf(out, "%.4g", bl_element_number(dtype, element));
}

/* Appends the first values of a step: single values with spaces between them, others in a line. */
static void step_append(const struct own_reading *r, const uint8_t *step, struct bl_buffer *out)
{
    const size_t size = bl_dtype_size(r->field->dtype), values = bl_field_step_bytes(r->field) / size;
    if (out->size)
        bl_buffer_byte(out, r->field->rank ? '\n' : ' ');
    for (size_t i = 0; i < values && i < ROW_VALUES; i++) {
        bl_buffer_text(out, i ? " " : "");
        value_append(r->field->dtype, step + i * size, out);
    }
    bl_buffer_text(out, values > ROW_VALUES ? " ..." : "");
}

/* Adds the text or the values of some steps to the passage. */
static int own_add_steps(struct own_reading *r, int64_t steps, struct bl_error *e)
{
    const size_t size = bl_field_step_bytes(r->field);
    int code = BL_OK;
    for (int64_t i = 0; i < steps && !code; i++) {
        const uint8_t *step = r->data + (size_t)i * size;
        if (r->is_tokens)
            code = bl_passages_add(r->passages, r->detokenizer, bl_element_integer(r->field->dtype, step), false, e);
        else
            step_append(r, step, &r->passages->bytes);
    }
    return code;
}

/* Reads the first own steps of a piece, which has some. */
static int own_add_piece(struct own_reading *r, size_t piece, struct bl_error *e)
{
    const int64_t own = r->passages->own[piece], shown = own < r->most ? own : r->most;
    const struct bl_step_range range = {.end = shown, .is_given = true};
    int64_t steps = 1;
    int code = bl_sheet_begin_steps(r->sheet, &r->sheet->piece[piece], r->passages->field, &range, &r->stored, e);
    if (r->detokenizer)
        bl_detokenizer_restart(r->detokenizer);
    while (!code && steps) {
        code = bl_cancelled(r->sheet->subject.cancel)
                   ? BL_ECANCEL
                   : bl_stored_sequence_read(&r->stored, r->chunk, r->data, &steps, e);
        if (!code)
            code = own_add_steps(r, steps, e);
    }
    if (!code && shown < own)
        bl_buffer_text(&r->passages->bytes, r->field->rank ? "\n..." : " ...");
    return code ? code : bl_passages_end(r->passages, piece, e);
}

/* Reads the own steps of all pieces. A damaged piece has no passage. */
static int own_add_all(struct own_reading *r, struct bl_error *e)
{
    struct bl_sheet *s = r->sheet;
    struct bl_passages *p = r->passages;
    const int table = bl_index_own_length(bl_fields_own_number(&s->view->manifest.format.fields, p->field));
    const size_t shown = bl_sheet_passages_pieces(s, p);
    int code = BL_OK;
    for (size_t i = 0; i < s->pieces && !code; i++) {
        code = bl_index_read(&s->view->index, table, s->piece[i].number, 1, &p->own[i], e);
        if (code)
            break;
        p->own_steps += p->own[i];
        if (!p->own[i] || s->piece[i].failed || i >= shown)
            continue;
        code = own_add_piece(r, i, e);
        p->damaged[i] = bl_sheet_note_damage(s, code, e);
        if (!p->damaged[i])
            continue;
        bl_passages_drop(p);
        r->stored = (struct bl_stored_sequence){0};
        code = BL_OK;
    }
    return code;
}

/* Reads the passages of own field f. The sheet frees them, also after errors. */
static int own_read(struct bl_sheet *s, int f, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    struct bl_passages *p = &s->passages[s->texts++];
    struct own_reading r = {.sheet = s, .passages = p, .field = &m->format.fields.field[f], .chunk = 1};
    *p = (struct bl_passages){.field = f};
    r.is_tokens = bl_element_is_integer(r.field) && bl_field_tokenizer_has_ids(m, f);
    r.most = r.is_tokens ? s->subject.is_brief ? BRIEF : INT32_MAX : r.field->rank ? ROWS : VALUES;
    r.chunk = r.is_tokens ? CHUNK : 1;
    if (r.is_tokens)
        BL_TRY(bl_sheet_open_tokenizer(s, f, &r.detokenizer, e));
    p->is_ids = r.is_tokens && !r.detokenizer;
    p->damaged = calloc(s->pieces + 1, sizeof *p->damaged);
    p->own = calloc(s->pieces + 1, sizeof *p->own);
    r.data = malloc((size_t)r.chunk * bl_field_step_bytes(r.field));
    int code = p->damaged && p->own && r.data ? own_add_all(&r, e) : bl_error_memory(e);
    bl_detokenizer_close(r.detokenizer);
    free(r.data);
    return code;
}

int bl_sheet_read_own(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    int code = BL_OK;
    for (int f = 0; f < fields->count && !code; f++) {
        if (fields->field[f].own && (s->subject.field < 0 || s->subject.field == f))
            code = own_read(s, f, e);
    }
    return code;
}
