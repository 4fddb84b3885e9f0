/* Reads the fields of tokens, with the mask that shades them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kind/element.h"
#include "show/sheet_parts.h"
#include "store/field_tokenizer.h"
#include "store/stored_sequence.h"

enum { CHUNK = 1 << 14 };    /* steps at a time */
#define LABEL_IGNORED (-100) /* of labels, as PyTorch's cross entropy has it */

/* One field of tokens that is being read. */
struct reading {
    struct bl_sheet *sheet;
    struct bl_passages *passages;
    struct bl_detokenizer *detokenizer;
    int mask;               /* the field; -1: none */
    bool is_labels;         /* the mask has labels: -100 is off */
    uint8_t *ids, *shading; /* [CHUNK] steps of each field */
    struct bl_stored_sequence stored_ids, stored_mask;
};

/* Finds the field that shades: the one that was named, or one of a name that says so. */
static int mask_find(const struct bl_sheet *s, int *found, struct bl_error *e)
{
    static const char *const usual[] = {"loss_mask", "mask", "labels"};
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    const char *named = s->subject.mask;
    *found = -1;
    for (size_t u = 0; u < (named ? 1 : sizeof usual / sizeof *usual) && *found < 0; u++) {
        for (int f = 0; f < fields->count; f++) {
            if (bl_element_is_integer(&fields->field[f]) &&
                strcmp(fields->field[f].name, named ? named : usual[u]) == 0)
                *found = f;
        }
    }
    if (named && *found < 0)
        return bl_error_set(e, BL_EUSAGE, "--mask %s: there is no such field of one integer a step", named);
    return BL_OK;
}

static bool step_is_shaded(const struct reading *r, int64_t value)
{
    return r->is_labels ? value != LABEL_IGNORED : value != 0;
}

static int reading_put(struct reading *r, int64_t steps, struct bl_error *e)
{
    const struct bl_field *field = r->sheet->view->manifest.format.fields.field;
    const struct bl_field *ids = &field[r->passages->field], *mask = r->mask >= 0 ? &field[r->mask] : NULL;
    int code = BL_OK;
    for (int64_t i = 0; i < steps && !code; i++) {
        int64_t id = bl_element_integer(ids->dtype, r->ids + (size_t)i * bl_field_step_bytes(ids));
        bool is_shaded =
            mask &&
            step_is_shaded(r, bl_element_integer(mask->dtype, r->shading + (size_t)i * bl_field_step_bytes(mask)));
        code = bl_passages_add(r->passages, r->detokenizer, id, is_shaded, e);
    }
    return code;
}

static int reading_add_piece(struct reading *r, const struct bl_sheet_piece *piece, struct bl_error *e)
{
    int64_t steps = 1, shades;
    int code = bl_sheet_begin_piece(r->sheet, piece, r->passages->field, &r->stored_ids, e);
    if (!code && r->mask >= 0)
        code = bl_sheet_begin_piece(r->sheet, piece, r->mask, &r->stored_mask, e);
    if (r->detokenizer)
        bl_detokenizer_restart(r->detokenizer);
    while (!code && steps) {
        code = bl_cancelled(r->sheet->subject.cancel)
                   ? BL_ECANCEL
                   : bl_stored_sequence_read(&r->stored_ids, CHUNK, r->ids, &steps, e);
        /* Both fields are stored in the same parts. */
        if (!code && steps && r->mask >= 0)
            code = bl_stored_sequence_read(&r->stored_mask, steps, r->shading, &shades, e);
        if (!code)
            code = reading_put(r, steps, e);
    }
    return code;
}

static int reading_add_all(struct reading *r, struct bl_error *e)
{
    struct bl_sheet *s = r->sheet;
    int code = BL_OK;
    for (size_t i = 0; i < s->pieces && !code; i++) {
        if (s->piece[i].failed)
            continue;
        code = reading_add_piece(r, &s->piece[i], e);
        r->passages->damaged[i] = bl_sheet_note_damage(s, code, e);
        if (r->passages->damaged[i]) {
            bl_passages_drop(r->passages);
            r->stored_ids = r->stored_mask = (struct bl_stored_sequence){0};
            code = BL_OK;
        } else if (!code) {
            code = bl_passages_end(r->passages, i, e);
        }
    }
    return code;
}

static int text_read(struct bl_sheet *s, int f, int mask, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    const struct bl_field *field = m->format.fields.field;
    struct bl_passages *passages = &s->passages[s->texts++];
    *passages = (struct bl_passages){.field = f};
    struct reading r = {.sheet = s, .passages = passages, .mask = mask};
    int code = BL_OK;
    passages->is_text = s->subject.tokenizer || bl_field_tokenizer_is_bytes(m, f);
    if (passages->is_text)
        code = bl_field_tokenizer_open(m, f, s->subject.tokenizer, &r.detokenizer, e);
    if (code)
        return code;
    r.is_labels = mask >= 0 && !strstr(field[mask].name, "mask");
    r.ids = malloc(CHUNK * bl_field_step_bytes(&field[f]));
    r.shading = malloc(CHUNK * (mask >= 0 ? bl_field_step_bytes(&field[mask]) : 1));
    passages->damaged = calloc(s->pieces + 1, sizeof *passages->damaged);
    code = r.ids && r.shading && passages->damaged ? reading_add_all(&r, e) : bl_error_memory(e);
    bl_detokenizer_close(r.detokenizer);
    free(r.ids);
    free(r.shading);
    return code;
}

int bl_sheet_read_texts(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    int mask;
    int code = mask_find(s, &mask, e);
    for (int f = 0; f < m->format.fields.count && !code; f++) {
        bool is_wanted = s->subject.field < 0 || s->subject.field == f;
        if (is_wanted && bl_element_is_integer(&m->format.fields.field[f]) && bl_field_tokenizer_has_ids(m, f))
            code = text_read(s, f, mask, e);
    }
    if (!code && s->subject.tokenizer && !s->texts)
        code = bl_error_set(e, BL_EUSAGE, "--tokenizer: %s has no field of tokens", s->view->dir);
    if (!code && s->subject.mask && !s->texts)
        code = bl_error_set(e, BL_EUSAGE, "--mask: %s has no field of tokens", s->view->dir);
    return code;
}
