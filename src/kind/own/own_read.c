/* Reads own fields: the piece of the sequence by the reader of the sources' kind, then all own steps of the sequence
 * into each own field of which the request wants them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kind/array/array.h"
#include "kind/input_stat.h"
#include "kind/own/own.h"
#include "kind/own/own_list.h"
#include "kind/own/own_text.h"

struct own_reader {
    struct bl_reader base;
    const struct bl_own *own;
    struct bl_reader *inner;
    struct bl_fields inner_fields;
    /* Of each own field: */
    struct own_field_reader {
        struct bl_reader *reader; /* NULL for arrays in a column */
        struct bl_fields fields;  /* the field alone */
        struct bl_file_check check;
    } field[BL_FIELDS_MAX];
    /* Used for all fields, because they are read one after the other. */
    struct bl_companion_row file;
    struct bl_buffer value, reason;
};

static void own_reader_close(struct bl_reader *reader)
{
    struct own_reader *r = (struct own_reader *)reader;
    if (r->inner)
        r->inner->close(r->inner);
    for (int f = 0; f < r->own->fields; f++) {
        if (r->field[f].reader)
            r->field[f].reader->close(r->field[f].reader);
        bl_file_check_free(&r->field[f].check);
    }
    bl_companion_row_free(&r->file);
    bl_buffer_free(&r->value);
    bl_buffer_free(&r->reason);
    free(r);
}

/* --- own fields --------------------------------------------------------------------------------------------------- */

/* Writes the elements of the list in r->value. */
static int list_read(const struct own_reader *r, int f, int64_t steps, uint8_t *out, struct bl_error *e)
{
    const struct bl_field *field = &r->field[f].fields.field[0];
    const struct bl_buffer *value = &r->value;
    struct bl_own_list list;
    BL_TRY(bl_own_list_read(&list, value->data, value->size, field->dtype, NULL, e));
    if (list.steps != steps)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " steps, there are %" PRId64, steps, list.steps);
    if (list.rank != field->rank || memcmp(list.shape, field->shape, (size_t)list.rank * sizeof *list.shape) != 0)
        return bl_error_set(e, BL_EDATA, "its steps have another shape than those of the first sequence");
    return bl_own_list_read(&list, value->data, value->size, field->dtype, out, e);
}

/* Reads the steps of field f out of its column. */
static int value_read(struct own_reader *r, int f, const struct bl_request *request, uint8_t *out, struct bl_note *note,
                      struct bl_error *e)
{
    struct own_field_reader *reader = &r->field[f];
    BL_TRY(bl_own_row_value(r->own, f, &request->row, &r->value, e));
    if (reader->reader)
        return bl_own_text_read_value(reader->reader, r->value.data, r->value.size, request->steps, out, note, e);
    return list_read(r, f, request->steps, out, e);
}

/* Reads the files that the column of field f names, one behind the other. */
static int files_read(struct own_reader *r, int f, const struct bl_request *request, uint8_t *out, struct bl_note *note,
                      struct bl_error *e)
{
    struct own_field_reader *reader = &r->field[f];
    struct bl_own_records records = {.source = bl_own_source(r->own, f), .row = &request->row};
    const size_t step = bl_field_step_bytes(&reader->fields.field[0]);
    const struct bl_kind *kind = bl_own_part(r->own, f)->kind;
    bool found = true;
    int64_t done = 0;
    int code = BL_OK;
    while (!code && found) {
        code = bl_own_records_next(&records, &found, e);
        if (code || !found)
            continue;
        if (records.file.length > request->steps - done) {
            code = bl_error_set(e, BL_EFAIL, "%s: the files in %s.files have more steps than its length: scan again",
                                request->row.id, r->own->field[f].name);
            continue;
        }
        uint8_t *at = out + (size_t)done * step;
        struct bl_request whole = {
            .row = records.file, .steps = records.file.length, .out = &at, .memory = request->memory};
        struct bl_note one = {0};
        code = bl_file_check_read(&reader->check, kind, reader->reader, &whole, &one, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", records.path);
        if (one.text[0])
            bl_row_append_reason(note->text, sizeof note->text, "%s: %s", records.path, one.text);
        done += records.file.length;
    }
    if (!code && done != request->steps)
        code = bl_error_set(e, BL_EFAIL, "%s: the files in %s.files have fewer steps than its length: scan again",
                            request->row.id, r->own->field[f].name);
    bl_own_records_free(&records);
    return code;
}

/* Reads all own steps of the sequence in field f. The message of a fault names the field and its file. */
static int field_read(struct own_reader *r, int f, const struct bl_request *request, uint8_t *out, struct bl_note *note,
                      struct bl_error *e)
{
    const char *name = r->own->field[f].name;
    struct bl_request whole = {.row = request->row, .steps = request->own[r->inner_fields.count + f], .out = &out};
    int64_t length;
    BL_TRY(bl_own_row_length(r->own, f, &request->row, &length, e));
    if (length != whole.steps)
        return bl_error_set(e, BL_EFAIL, "%s: the table has %" PRId64 " steps of %s, the plan %" PRId64 ": scan again",
                            request->row.id, length, name, whole.steps);
    if (!r->own->field[f].path) {
        whole.memory = request->memory;
        int code = r->own->field[f].has_files ? files_read(r, f, &whole, out, note, e)
                                              : value_read(r, f, &whole, out, note, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", name);
        return code;
    }
    BL_TRY(bl_companion_row_read(&r->own->files, f + 1, &request->row, &r->file, e));
    whole.row = r->file.row;
    whole.memory = request->memory;
    struct own_field_reader *reader = &r->field[f];
    int code = bl_file_check_read(&reader->check, bl_own_part(r->own, f)->kind, reader->reader, &whole, note, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s: %s", name, r->file.path);
    return code;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Appends the damage in the files of field f that the scan added to the row's reason. */
static int damage_append(struct own_reader *r, int f, const struct bl_row *row, struct bl_buffer *damage,
                         struct bl_error *e)
{
    const struct bl_composite_part *part = bl_own_part(r->own, f);
    struct bl_own_records records = {.source = bl_own_source(r->own, f), .row = row};
    bool found = r->own->field[f].has_files;
    int code = BL_OK;
    while (!code && found) {
        code = bl_own_records_next(&records, &found, e);
        if (!code && found && bl_own_has_damage(&records.file))
            bl_companion_append_damage(part, records.path, records.file.reason, damage);
    }
    bl_own_records_free(&records);
    if (code || !r->own->field[f].path)
        return code;
    BL_TRY(bl_companion_row_read(&r->own->files, f + 1, row, &r->file, e));
    if (bl_own_has_damage(&r->file.row))
        bl_companion_append_damage(part, r->file.path, r->file.row.reason, damage);
    return BL_OK;
}

/* Sets r->reason to the reason that the sources' kind gave the row: without the damage in own files at its end, which
 * bl_own_complete has added. */
static int inner_reason(struct own_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer damage = {0};
    int code = BL_OK;
    for (int f = 0; f < r->own->fields && *row->reason && !code; f++)
        code = damage_append(r, f, row, &damage, e);
    if (!code)
        code = bl_buffer_check(&damage, e);
    if (!code)
        code = bl_companion_cut_damage(row->reason, &damage, &r->reason, e);
    bl_buffer_free(&damage);
    return code;
}

static int own_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                            struct bl_error *e)
{
    struct own_reader *r = (struct own_reader *)reader;
    struct bl_request inner = *request;
    note->text[0] = '\0';
    BL_TRY(inner_reason(r, &request->row, e));
    inner.row.reason = r->reason.data;
    inner.own = NULL;
    BL_TRY(r->inner->piece(r->inner, &inner, note, e));
    for (int f = 0; f < r->own->fields; f++) {
        int place = r->inner_fields.count + f;
        struct bl_note one = {0};
        if (!request->own || request->own[place] < 1)
            continue;
        BL_TRY(field_read(r, f, request, request->out[place], &one, e));
        if (one.text[0])
            bl_row_append_reason(note->text, sizeof note->text, "%s: %s", r->own->field[f].name, one.text);
    }
    return BL_OK;
}

/* Opens the readers of the sources' kind and of the own fields. The own fields are the last ones. */
int bl_own_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_own *own = config;
    struct own_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){own_reader_piece, own_reader_close};
    r->own = own;
    r->inner_fields = *fields;
    r->inner_fields.count = fields->count - own->fields;
    int code = own->inner->read->open(own->inner_config, env, &r->inner_fields, &r->inner, e);
    for (int f = 0; f < own->fields && !code; f++) {
        const struct bl_composite_part *part = bl_own_part(own, f);
        struct own_field_reader *field = &r->field[f];
        field->fields.count = 1;
        field->fields.field[0] = fields->field[r->inner_fields.count + f];
        if (own->field[f].path || own->field[f].kind != &bl_kind_array)
            code = part->kind->read->open(part->config, env, &field->fields, &field->reader, e);
    }
    if (code) {
        own_reader_close(&r->base);
        return code;
    }
    *reader = &r->base;
    return BL_OK;
}
