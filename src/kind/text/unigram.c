#include "kind/text/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/text/tokenizer_json.h"

/* --- model -------------------------------------------------------------------------------------------------------- */

#define PENALTY 10.0 /* of an unknown character */

/* Of equal entries the last id counts: a higher value comes later. */
static int entry_compare(const void *a, const void *b)
{
    const struct bl_trie_entry *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    if (order || x->size != y->size)
        return order ? order : (x->size > y->size) - (x->size < y->size);
    return (x->value < y->value) - (x->value > y->value);
}

static size_t entries_remove_equal(struct bl_trie_entry *entry, size_t count)
{
    size_t kept = 0;
    qsort(entry, count, sizeof *entry, entry_compare);
    for (size_t i = 0; i < count; i++) {
        bool equal = kept && entry[kept - 1].size == entry[i].size &&
                     !memcmp(entry[kept - 1].bytes, entry[i].bytes, entry[i].size);
        if (!equal)
            entry[kept++] = entry[i];
    }
    return kept;
}

/* Finds the pieces of bytes; without all of them there are none. */
static int unigram_find_bytes(struct bl_unigram *model, struct bl_error *e)
{
    char text[8];
    model->byte = malloc(256 * sizeof *model->byte);
    if (!model->byte)
        return bl_error_memory(e);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(text, sizeof text, "<0x%02X>", i);
        uint32_t id = bl_trie_find(&model->trie, text, 6);
        model->byte[i] = id == BL_TRIE_NONE ? -1 : (int32_t)id;
    }
    return BL_OK;
}

int bl_unigram_build(struct bl_unigram *model, const struct bl_unigram_piece *pieces, size_t count, int32_t unknown,
                     bool fallback, struct bl_error *e)
{
    *model = (struct bl_unigram){.count = count, .lowest = INFINITY, .unknown = unknown};
    struct bl_trie_entry *entry = malloc((count + 1) * sizeof *entry);
    size_t used = 0;
    model->score = malloc((count + 1) * sizeof *model->score);
    int code = entry && model->score ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < count && !code; i++) {
        if (pieces[i].size > UINT32_MAX)
            code = bl_error_set(e, BL_EFAIL, "the piece %zu is too long", i);
        model->score[i] = pieces[i].score;
        model->lowest = pieces[i].score < model->lowest ? pieces[i].score : model->lowest;
        if (pieces[i].size)
            entry[used++] = (struct bl_trie_entry){
                .bytes = pieces[i].bytes, .size = (uint32_t)pieces[i].size, .value = (uint32_t)i};
    }
    if (!code)
        code = bl_trie_build(&model->trie, entry, entries_remove_equal(entry, used), e);
    free(entry);
    return code || !fallback ? code : unigram_find_bytes(model, e);
}

void bl_unigram_free(struct bl_unigram *model)
{
    bl_trie_free(&model->trie);
    free(model->score);
    free(model->byte);
    *model = (struct bl_unigram){0};
}

/* Takes a piece from begin to end, if that is better. In 32 bits the sum is rounded when it is kept, not before. */
static inline bool node_improve(const struct bl_unigram *model, struct bl_unigram_node *node, size_t begin, size_t end,
                                double score, int32_t id)
{
    double sum = score + node[begin].score;
    if (node[end].begin != SIZE_MAX && !(sum > node[end].score))
        return false;
    node[end] = (struct bl_unigram_node){model->single ? (double)(float)sum : sum, begin, id};
    return true;
}

/* The same for an unknown character, whose sum is of 32 bits from the beginning. */
static bool node_improve_unknown(const struct bl_unigram *model, struct bl_unigram_node *node, size_t begin, size_t end)
{
    double score = model->lowest - PENALTY;
    if (model->single)
        score = (float)((float)score + (float)node[begin].score) - node[begin].score;
    return node_improve(model, node, begin, end, score, model->unknown);
}

/* Finds the best way to every byte where a character ends. */
static int nodes_find(const struct bl_unigram *model, struct bl_unigram_node *node, const uint8_t *word, size_t size,
                      struct bl_error *e)
{
    const struct bl_trie_node *trie = model->trie.node;
    for (size_t begin = 0, bytes; begin < size; begin += bytes) {
        uint32_t point, at = 0;
        bool single = false;
        bytes = bl_utf8_decode((const char *)word + begin, &point);
        for (size_t i = begin; i < size;) {
            uint32_t next = trie[at].base ^ word[i++];
            if (trie[next].parent != at)
                break;
            at = next;
            if (trie[at].value == BL_TRIE_NONE)
                continue;
            node_improve(model, node, begin, i, model->score[trie[at].value], (int32_t)trie[at].value);
            single = single || i == begin + bytes;
        }
        if (!single && node_improve_unknown(model, node, begin, begin + bytes) && model->unknown < 0)
            return bl_error_set(e, BL_EDATA, "U+%04X is not in the tokenizer's vocabulary, which has no unknown token",
                                (unsigned)point);
    }
    return BL_OK;
}

/* Appends the ids of unknown text, the last one first. */
static int unknown_put(const struct bl_unigram *model, const uint8_t *text, size_t size, struct bl_ids *reversed,
                       struct bl_error *e)
{
    uint32_t piece = model->single ? BL_TRIE_NONE : bl_trie_find(&model->trie, text, size);
    if (piece != BL_TRIE_NONE)
        return bl_ids_add(reversed, (int32_t)piece, e);
    bool known = model->byte != NULL;
    for (size_t i = 0; i < size && known; i++)
        known = model->byte[text[i]] >= 0;
    if (!known)
        return bl_ids_add(reversed, model->unknown, e);
    int code = bl_ids_reserve(reversed, size, e);
    while (size && !code)
        reversed->id[reversed->count++] = model->byte[text[--size]];
    return code;
}

int bl_unigram_encode(const struct bl_unigram *model, struct bl_unigram_scratch *scratch, const uint8_t *word,
                      size_t size, struct bl_ids *ids, struct bl_error *e)
{
    struct bl_ids *reversed = &scratch->reversed;
    int code = BL_ARRAY_RESERVE(scratch->node, scratch->capacity, size + 1, e);
    if (code)
        return code;
    struct bl_unigram_node *node = scratch->node;
    node[0] = (struct bl_unigram_node){0, 0, -1};
    for (size_t i = 1; i <= size; i++)
        node[i].begin = SIZE_MAX;
    code = nodes_find(model, node, word, size, e);
    reversed->count = 0;
    for (size_t end = size, begin; end && !code; end = begin) {
        begin = node[end].begin;
        if (node[end].id != model->unknown) {
            code = bl_ids_add(reversed, node[end].id, e);
            continue;
        }
        while (begin && node[begin].id == model->unknown)
            begin = node[begin].begin;
        code = unknown_put(model, word + begin, end - begin, reversed, e);
    }
    if (!code)
        code = bl_ids_reserve(ids, reversed->count, e);
    for (size_t i = reversed->count; i && !code; i--)
        ids->id[ids->count++] = reversed->id[i - 1];
    return code;
}

void bl_unigram_scratch_free(struct bl_unigram_scratch *scratch)
{
    free(scratch->node);
    bl_ids_free(&scratch->reversed);
    *scratch = (struct bl_unigram_scratch){0};
}

/* --- Unigram in tokenizer.json ------------------------------------------------------------------------------------ */

/* The model Unigram of a tokenizer.json. */

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
