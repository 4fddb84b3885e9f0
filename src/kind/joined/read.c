#include "kind/joined/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/joined/partner.h"
#include "kind/look.h"

/* A part's reader, and the fields that it fills: those of the dataset from `first` on. */
struct sub {
    struct bl_reader *reader;
    struct bl_fields fields;
    int first;
    struct bl_look look;
};

struct bl_reader {
    const struct bl_joined *joined;
    struct sub sub[BL_FIELDS_MAX];
    struct bl_partner_row partner;
    struct bl_buffer reason; /* of the primary alone */
    struct bl_buffer beyond; /* a step that is read for its file's end alone */
    bool timed;              /* some part follows, and must know when steps begin */
    double *times;           /* [capacity] of a piece's steps, as in struct bl_request */
    int64_t capacity;
};

/* The fields of the part, which stand together. */
static void choose(struct sub *sub, int part, const struct bl_fields *all)
{
    for (int f = 0; f < all->count; f++) {
        if (all->field[f].part != part)
            continue;
        if (!sub->fields.count)
            sub->first = f;
        sub->fields.field[sub->fields.count++] = all->field[f];
    }
}

int bl_joined_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                   struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_joined *joined = config;
    struct bl_reader *r = calloc(1, sizeof *r);
    int code = r ? BL_OK : bl_error_memory(e);
    if (code)
        return code;
    r->joined = joined;
    for (int p = 0; p < joined->parts && !code; p++) {
        struct sub *sub = &r->sub[p];
        const struct bl_kind *kind = joined->part[p].kind;
        r->timed |= bl_joined_is_told(joined, p);
        choose(sub, p, fields);
        code = kind->open(joined->part[p].config, env, &sub->fields, &sub->reader, e);
    }
    if (code)
        bl_joined_close(r);
    else
        *reader = r;
    return code;
}

void bl_joined_close(struct bl_reader *r)
{
    for (int p = 0; p < r->joined->parts; p++) {
        if (r->sub[p].reader)
            r->joined->part[p].kind->close(r->sub[p].reader);
        bl_look_free(&r->sub[p].look);
    }
    bl_partner_row_free(&r->partner);
    bl_buffer_free(&r->reason);
    bl_buffer_free(&r->beyond);
    free(r->times);
    free(r);
}

/* Steps from `have` to `steps` repeat the one before them. */
static void repeat_last(const struct bl_fields *fields, uint8_t *const *out, int64_t have, int64_t steps)
{
    for (int f = 0; f < fields->count; f++) {
        size_t size = bl_field_step_bytes(&fields->field[f]);
        for (uint8_t *at = out[f] + (size_t)have * size, *end = out[f] + (size_t)steps * size; at < end; at += size)
            memcpy(at, at - size, size);
    }
}

/* So that whatever type the next field has can begin there. */
static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* The last step of a partner that has more than the sequence: only a piece that ends its file is compared by its kind
 * with what the scan found. */
static int read_end(struct bl_reader *r, const struct bl_kind *kind, struct sub *sub, struct bl_note *note,
                    struct bl_error *e)
{
    uint8_t *out[BL_FIELDS_MAX];
    struct bl_note end = {0};
    size_t bytes = 0, at = 0;
    struct bl_request request = {
        .row = r->partner.row, .source_start = r->partner.row.length - 1, .steps = 1, .out = out};
    for (int f = 0; f < sub->fields.count; f++)
        bytes += aligned(bl_field_step_bytes(&sub->fields.field[f]));
    bl_buffer_clear(&r->beyond);
    if (!bl_buffer_reserve(&r->beyond, bytes))
        return bl_error_memory(e);
    for (int f = 0; f < sub->fields.count; f++) {
        out[f] = (uint8_t *)r->beyond.data + at;
        at += aligned(bl_field_step_bytes(&sub->fields.field[f]));
    }
    int code = bl_look_read(&sub->look, kind, sub->reader, &request, &end, e);
    if (code)
        return code;
    if (!note->text[0])
        *note = end;
    return BL_OK;
}

/* A partner may have fewer steps than are wanted: then its last one stands for those that it lacks. */
static int read_partner(struct bl_reader *r, int p, const struct bl_request *request, struct bl_note *note,
                        struct bl_error *e)
{
    struct sub *sub = &r->sub[p];
    const struct bl_kind *kind = r->joined->part[p].kind;
    int code = bl_partner_row(r->joined, p, &request->row, &r->partner, e);
    if (code)
        return code;
    if (r->partner.row.length < 1)
        return bl_error_set(e, BL_EUSAGE, "%s: the table has no length of field %s", request->row.id,
                            r->joined->part[p].name);
    int64_t length = r->partner.row.length, start = request->source_start, steps = request->steps;
    struct bl_request own = {.row = r->partner.row,
                             .source_start = start,
                             .steps = steps,
                             .out = request->out + sub->first,
                             .times = bl_joined_is_told(r->joined, p) ? r->times : NULL,
                             .followed = request->row.length};
    if (kind->follows)
        return bl_look_read(&sub->look, kind, sub->reader, &own, note, e);
    if (start >= length)
        own.source_start = length - 1;
    own.steps = length - own.source_start < steps ? length - own.source_start : steps;
    code = bl_look_read(&sub->look, kind, sub->reader, &own, note, e);
    if (code)
        return code;
    repeat_last(&sub->fields, own.out, own.steps, steps);
    if (start + steps == request->row.length && start + steps < length)
        code = read_end(r, kind, sub, note, e);
    return code;
}

/* Room for the times of the piece's steps. Where the primary has a rate, they are known already. */
static int make_times(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    const struct bl_rational *rate = &r->joined->rate;
    if (request->steps > r->capacity) {
        double *times = realloc(r->times, (size_t)request->steps * sizeof *times);
        if (!times)
            return bl_error_memory(e);
        r->times = times;
        r->capacity = request->steps;
    }
    for (int64_t i = 0; i < request->steps && rate->den; i++)
        r->times[i] = bl_kind_begin(rate, NULL, request->source_start, i);
    return BL_OK;
}

/* What the scan found wrong with the primary's file: the row's reason without what it says of the partners' files. */
static int own_reason(struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer damage = {0};
    int code = BL_OK;
    bl_buffer_clear(&r->reason);
    bl_buffer_text(&r->reason, row->reason);
    for (int p = 1; p < r->joined->parts && !code && *row->reason; p++) {
        code = bl_partner_row(r->joined, p, row, &r->partner, e);
        if (!code && r->partner.path)
            bl_partner_damage(&r->joined->part[p], r->partner.path, r->partner.row.reason, &damage);
    }
    size_t all = r->reason.size, size = damage.size;
    if (!code && !damage.failed && size && size <= all && strcmp(r->reason.data + all - size, damage.data) == 0) {
        r->reason.size = all - size > 2 ? all - size - 2 : 0; /* "; " stands between them */
        r->reason.data[r->reason.size] = '\0';
    }
    code = code ? code : damage.failed ? bl_error_memory(e) : bl_buffer_check(&r->reason, e);
    bl_buffer_free(&damage);
    return code;
}

static int read_primary(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    struct bl_request own = *request;
    int code = own_reason(r, &request->row, e);
    own.row.reason = r->reason.data;
    own.out = request->out + r->sub[0].first;
    own.times = r->timed ? r->times : NULL;
    return code ? code : r->joined->part[0].kind->read(r->sub[0].reader, &own, note, e);
}

/* Adds a part's note to those of the parts before it. */
static void add_note(struct bl_note *all, const struct bl_note *one, const char *name)
{
    size_t size = strlen(all->text);
    if (one->text[0])
        snprintf(all->text + size, sizeof all->text - size, "%s%s%s%s", size ? "; " : "", name ? name : "",
                 name ? ": " : "", one->text);
}

int bl_joined_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    const struct bl_joined *joined = r->joined;
    note->text[0] = '\0';
    int code = r->timed ? make_times(r, request, e) : BL_OK;
    for (int p = 0; p < joined->parts && !code; p++) {
        struct bl_note one = {0};
        code = p ? read_partner(r, p, request, &one, e) : read_primary(r, request, &one, e);
        if (code == BL_EDATA && p)
            bl_error_prefix(e, r->partner.path ? "%s: %s" : "%s", joined->part[p].name, r->partner.path);
        if (!code)
            add_note(note, &one, joined->part[p].name);
    }
    return code;
}
