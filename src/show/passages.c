#include "show/passages.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "base/utf8.h"

/* Says why appending to a buffer failed, if it did. */
static int passages_check(const struct bl_buffer *buffer, int code, struct bl_error *fault, struct bl_error *e)
{
    char most[32];
    if (buffer->is_over)
        return bl_error_set(e, BL_EUSAGE, "there is more text to show than %s: bload cat writes that of one sequence",
                            bl_text_size(most, (int64_t)buffer->limit));
    return code ? bl_error_set(e, code, "%s", fault->text) : bl_buffer_check(buffer, e);
}

int bl_passages_add(struct bl_passages *p, struct bl_detokenizer *detokenizer, int64_t id, bool is_shaded,
                    struct bl_error *e)
{
    if (is_shaded != p->is_shaded) {
        int code = BL_ARRAY_RESERVE(p->mark, p->marks_capacity, p->marks + 1, e);
        if (code)
            return code;
        p->mark[p->marks++] = p->bytes.size;
        p->is_shaded = is_shaded;
    }
    p->bytes.limit = BL_PASSAGES_MAX;
    if (detokenizer) {
        struct bl_error fault = {0};
        int code = bl_detokenizer_append(detokenizer, id, &p->bytes, &fault);
        return code ? passages_check(&p->bytes, code, &fault, e) : BL_OK;
    }
    if (p->bytes.size)
        bl_buffer_byte(&p->bytes, ' ');
    bl_buffer_int(&p->bytes, id);
    return passages_check(&p->bytes, BL_OK, NULL, e);
}

/* Appends a run of the bytes, as people can read it. */
static int passages_append_run(struct bl_passages *p, size_t piece, size_t begin, size_t end, bool is_shaded,
                               struct bl_error *e)
{
    int64_t replaced = 0;
    if (begin == end)
        return BL_OK;
    int code = BL_ARRAY_RESERVE(p->run, p->capacity, p->runs + 1, e);
    if (code)
        return code;
    const size_t from = p->text.size;
    p->text.limit = BL_PASSAGES_MAX;
    code = bl_text_replace_invalid(p->bytes.data + begin, end - begin, &p->text, &replaced);
    if (code)
        return passages_check(&p->text, BL_OK, NULL, e);
    p->text.size = from + bl_utf8_mask(p->text.data + from, p->text.size - from, "\n\t");
    p->run[p->runs++] = (struct bl_passage_run){.piece = piece, .end = p->text.size, .is_shaded = is_shaded};
    return BL_OK;
}

int bl_passages_end(struct bl_passages *p, size_t piece, struct bl_error *e)
{
    size_t begin = 0;
    bool is_shaded = false;
    int code = BL_OK;
    for (size_t m = 0; m <= p->marks && !code; m++) {
        size_t end = m < p->marks ? p->mark[m] : p->bytes.size;
        /* A character whose bytes are of two tokens belongs to the first. */
        while (end > begin && end < p->bytes.size && (p->bytes.data[end] & 0xc0) == 0x80)
            end++;
        end = end > begin ? end : begin;
        code = passages_append_run(p, piece, begin, end, is_shaded, e);
        begin = end;
        is_shaded = !is_shaded;
    }
    bl_passages_drop(p);
    return code;
}

void bl_passages_drop(struct bl_passages *p)
{
    bl_buffer_clear(&p->bytes);
    p->marks = 0;
    p->is_shaded = false;
}

void bl_passages_free(struct bl_passages *p)
{
    bl_buffer_free(&p->text);
    bl_buffer_free(&p->bytes);
    free(p->damaged);
    free(p->mark);
    free(p->run);
    *p = (struct bl_passages){0};
}
