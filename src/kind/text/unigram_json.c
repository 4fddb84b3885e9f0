/* The model Unigram of a tokenizer.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/text/json_tokenizer.h"

/* The double that is nearest to a power of ten. */
static double power_of_ten(int exponent)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", exponent);
    return strtod(text, NULL);
}

double bl_json_serde_number(const char *text, size_t size)
{
    const char *end = text + size;
    bool negative = text < end && *text == '-', full = false;
    uint64_t digits = 0;
    int exponent = 0;
    text += negative;
    for (bool point = false; text < end && *text != 'e' && *text != 'E'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text == '.') {
            point = true;
        } else if (full || digits > (UINT64_MAX - digit) / 10) {
            full = true;
            exponent += !point;
        } else {
            digits = digits * 10 + digit;
            exponent -= point;
        }
    }
    if (text < end) {
        long given = strtol(text + 1, NULL, 10);
        exponent += given > 1000 ? 1000 : given < -1000 ? -1000 : (int)given;
    }
    double number = (double)digits;
    for (; exponent < -308 && number != 0; exponent += 308)
        number /= 1e308;
    number = exponent < 0 ? number / power_of_ten(-exponent) : number * power_of_ten(exponent);
    return negative ? -number : number;
}

/* The pieces that were read so far; their bytes are in the vocabulary's, which is as large as it will be. */
struct pieces {
    struct bl_unigram_piece *piece;
    size_t count, capacity;
    struct bl_buffer plain, decoded;
};

static int piece_read(struct bl_json_tokenizer *t, struct pieces *p, const struct bl_json_value *item,
                      struct bl_buffer *bytes, struct bl_error *e)
{
    struct bl_json_value side[2], text, more;
    size_t at = 0;
    if (item->type != BL_JSON_ARRAY || !bl_json_next(item, &at, &side[0]) || !bl_json_next(item, &at, &side[1]) ||
        bl_json_next(item, &at, &more) || !bl_json_text(&side[0], &p->plain, &text) || side[1].type != BL_JSON_NUMBER)
        return bl_error_set(e, BL_EFAIL, "\"model.vocab\", entry %zu, is not [piece, score]", p->count);
    if (p->count == BL_VOCABULARY_MAX)
        return bl_error_set(e, BL_EFAIL, "\"model.vocab\" has more than %d pieces", BL_VOCABULARY_MAX);
    int code = BL_ARRAY_RESERVE(p->piece, p->capacity, p->count + 1, e);
    if (code)
        return code;
    bool there = bl_alphabet_decode(&t->tokenizer->alphabet, text.text, text.size, &p->decoded);
    p->piece[p->count++] = (struct bl_unigram_piece){.bytes = (uint8_t *)bytes->data + bytes->size,
                                                     .size = there ? p->decoded.size : 0,
                                                     .score = bl_json_serde_number(side[1].text, side[1].size)};
    bl_buffer_append(bytes, p->decoded.data, there ? p->decoded.size : 0);
    return bl_buffer_check(&p->decoded, e);
}

static int pieces_read(struct bl_json_tokenizer *t, struct pieces *p, struct bl_error *e)
{
    const struct bl_json_value *list = &t->lists->vocab;
    struct bl_buffer *bytes = &t->tokenizer->vocabulary.bytes;
    struct bl_json_value item;
    int code = BL_OK;
    /* No piece is longer than its text. */
    if (!bl_buffer_reserve(bytes, list->size + 1))
        return bl_error_memory(e);
    for (size_t at = 0; !code && bl_json_next(list, &at, &item);)
        code = piece_read(t, p, &item, bytes, e);
    if (!code && !p->count)
        code = bl_error_set(e, BL_EFAIL, "\"model.vocab\" is empty");
    return code;
}

int bl_json_read_unigram(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const char *const known[] = {"type", "unk_id", "byte_fallback", "vocab", NULL};
    const json_t *unknown = json_object_get(t->model, "unk_id");
    bool fallback = false;
    const struct bl_json_flag flags[] = {{"byte_fallback", &fallback}, {NULL, NULL}};
    struct pieces p = {0};
    int64_t id = json_is_integer(unknown) ? json_integer_value(unknown) : -1;
    int code = bl_json_members_check(t->model, "the model Unigram", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(t->model, "the model Unigram", flags, e);
    if (!code && t->lists->vocab.type != BL_JSON_ARRAY)
        code = bl_error_set(e, BL_EFAIL, "\"model.vocab\" is not a list of pieces");
    if (!code)
        code = pieces_read(t, &p, e);
    if (!code && ((unknown && !json_is_null(unknown) && id < 0) || id >= (int64_t)p.count))
        code = bl_error_set(e, BL_EFAIL, "\"model.unk_id\" is not the number of a piece");
    if (!code)
        code = bl_unigram_build(&t->tokenizer->unigram, p.piece, p.count, (int32_t)id, fallback, e);
    t->tokenizer->model = BL_MODEL_UNIGRAM;
    t->tokenizer->size = (int64_t)p.count;
    t->pieces = p.count;
    free(p.piece);
    bl_buffer_free(&p.plain);
    bl_buffer_free(&p.decoded);
    return code;
}
