#include "kind/composite/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "kind/composite/composite.h"
#include "kind/input_stat.h"

/* A part's reader, and the fields that it writes: those of the dataset from `first` on. */
struct sub {
    struct bl_reader *reader;
    struct bl_fields fields;
    int first;
    struct bl_file_check check;
};

struct bl_reader {
    const struct bl_composite *composite;
    struct sub sub[BL_FIELDS_MAX];
    struct bl_companion_row companion;
    struct bl_buffer reason; /* of the primary alone */
    struct bl_buffer beyond; /* a step that is read only to check the end of its file */
    bool timed;              /* some part needs the times of steps */
    double *times;           /* of a piece's steps, as in struct bl_request */
    size_t capacity;         /* of times */
};

/* Chooses the fields of the part, which are consecutive. */
static void sub_choose_fields(struct sub *sub, int part, const struct bl_fields *all)
{
    for (int f = 0; f < all->count; f++) {
        if (all->field[f].part != part)
            continue;
        if (!sub->fields.count)
            sub->first = f;
        sub->fields.field[sub->fields.count++] = all->field[f];
    }
}

int bl_composite_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                      struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_composite *composite = config;
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    int code = BL_OK;
    r->composite = composite;
    for (int p = 0; p < composite->parts && !code; p++) {
        struct sub *sub = &r->sub[p];
        const struct bl_kind *kind = composite->part[p].kind;
        r->timed |= bl_composite_needs_times(composite, p);
        sub_choose_fields(sub, p, fields);
        code = kind->read->open(composite->part[p].config, env, &sub->fields, &sub->reader, e);
    }
    if (code) {
        bl_composite_close(r);
        return code;
    }
    *reader = r;
    return BL_OK;
}

void bl_composite_close(struct bl_reader *r)
{
    for (int p = 0; p < r->composite->parts; p++) {
        if (r->sub[p].reader)
            r->composite->part[p].kind->read->close(r->sub[p].reader);
        bl_file_check_free(&r->sub[p].check);
    }
    bl_companion_row_free(&r->companion);
    bl_buffer_free(&r->reason);
    bl_buffer_free(&r->beyond);
    free(r->times);
    free(r);
}

/* Copies the step before `have` to those from `have` to `steps`. */
static void fields_repeat_last(const struct bl_fields *fields, uint8_t *const *out, int64_t have, int64_t steps)
{
    for (int f = 0; f < fields->count; f++) {
        size_t size = bl_field_step_bytes(&fields->field[f]);
        for (uint8_t *at = out[f] + (size_t)have * size, *end = out[f] + (size_t)steps * size; at < end; at += size)
            memcpy(at, at - size, size);
    }
}

/* So that a field of any type can begin there. */
static size_t bytes_align(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* Reads the last step of a companion with more steps than the sequence: kinds compare a file with the scan only when a
 * piece reaches its end. */
static int companion_read_end(struct bl_reader *r, const struct bl_kind *kind, struct sub *sub, struct bl_note *note,
                              struct bl_error *e)
{
    uint8_t *out[BL_FIELDS_MAX];
    struct bl_note end = {0};
    size_t bytes = 0, at = 0;
    struct bl_request request = {
        .row = r->companion.row, .source_start = r->companion.row.length - 1, .steps = 1, .out = out};
    for (int f = 0; f < sub->fields.count; f++)
        bytes += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    bl_buffer_clear(&r->beyond);
    if (!bl_buffer_reserve(&r->beyond, bytes))
        return bl_error_memory(e);
    for (int f = 0; f < sub->fields.count; f++) {
        out[f] = (uint8_t *)r->beyond.data + at;
        at += bytes_align(bl_field_step_bytes(&sub->fields.field[f]));
    }
    int code = bl_file_check_read(&sub->check, kind, sub->reader, &request, &end, e);
    if (code)
        return code;
    if (!note->text[0])
        *note = end;
    return BL_OK;
}

/* Reads a companion's steps. Where it has fewer than the sequence, its last step is repeated. */
static int companion_read(struct bl_reader *r, int p, const struct bl_request *request, struct bl_note *note,
                          struct bl_error *e)
{
    struct sub *sub = &r->sub[p];
    const struct bl_kind *kind = r->composite->part[p].kind;
    int code = bl_companion_row_read(r->composite, p, &request->row, &r->companion, e);
    if (code)
        return code;
    if (r->companion.row.length < 1)
        return bl_error_set(e, BL_EUSAGE, "%s: the table has no length of field %s", request->row.id,
                            r->composite->part[p].name);
    int64_t length = r->companion.row.length, start = request->source_start, steps = request->steps;
    struct bl_request own = {.row = r->companion.row,
                             .source_start = start,
                             .steps = steps,
                             .out = request->out + sub->first,
                             .times = bl_composite_needs_times(r->composite, p) ? r->times : NULL,
                             .memory = request->memory,
                             .followed = request->row.length};
    if (kind->follow)
        return bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e);
    if (start >= length)
        own.source_start = length - 1;
    if (own.steps > length - own.source_start)
        own.steps = length - own.source_start;
    code = bl_file_check_read(&sub->check, kind, sub->reader, &own, note, e);
    if (code)
        return code;
    fields_repeat_last(&sub->fields, own.out, own.steps, steps);
    if (start + steps == request->row.length && start + steps < length)
        code = companion_read_end(r, kind, sub, note, e);
    return code;
}

/* Makes room for the times of the piece's steps, and sets them if the primary has a rate. */
static int composite_make_times(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    const struct bl_rational *rate = &r->composite->rate;
    int code = BL_ARRAY_RESERVE(r->times, r->capacity, (size_t)request->steps, e);
    if (code)
        return code;
    for (int64_t i = 0; i < request->steps && rate->den; i++)
        r->times[i] = bl_kind_step_time(rate, NULL, request->source_start, i);
    return BL_OK;
}

/* Sets r->reason to the primary's own: the row's reason without the part about companions' files, which is its end. */
static int primary_reason(struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer damage = {0};
    bl_buffer_clear(&r->reason);
    bl_buffer_text(&r->reason, row->reason);
    int code = bl_buffer_check(&r->reason, e);
    for (int p = 1; p < r->composite->parts && !code && *row->reason; p++) {
        code = bl_companion_row_read(r->composite, p, row, &r->companion, e);
        if (!code && r->companion.path)
            bl_companion_append_damage(&r->composite->part[p], r->companion.path, r->companion.row.reason, &damage);
    }
    if (!code)
        code = bl_buffer_check(&damage, e);
    if (code)
        goto out;
    size_t all = r->reason.size, size = damage.size;
    if (size && size <= all && strcmp(r->reason.data + all - size, damage.data) == 0) {
        r->reason.size = all - size > 2 ? all - size - 2 : 0; /* without "; " between them */
        r->reason.data[r->reason.size] = '\0';
    }
out:
    bl_buffer_free(&damage);
    return code;
}

static int primary_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    struct bl_request own = *request;
    int code = primary_reason(r, &request->row, e);
    if (code)
        return code;
    own.row.reason = r->reason.data;
    own.out = request->out + r->sub[0].first;
    own.times = r->timed ? r->times : NULL;
    return r->composite->part[0].kind->read->piece(r->sub[0].reader, &own, note, e);
}

int bl_composite_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    const struct bl_composite *composite = r->composite;
    note->text[0] = '\0';
    int code = r->timed ? composite_make_times(r, request, e) : BL_OK;
    for (int p = 0; p < composite->parts && !code; p++) {
        struct bl_note one = {0};
        code = p ? companion_read(r, p, request, &one, e) : primary_read(r, request, &one, e);
        if (code == BL_EDATA && p)
            bl_error_prefix(e, r->companion.path ? "%s: %s" : "%s", composite->part[p].name, r->companion.path);
        const char *name = composite->part[p].name;
        if (!code && one.text[0])
            bl_row_append_reason(note->text, sizeof note->text, "%s%s%s", name ? name : "", name ? ": " : "", one.text);
    }
    return code;
}
