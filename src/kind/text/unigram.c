/* Unigram: the search for the segmentation of a word whose scores have the largest sum (Viterbi's algorithm).
 *
 * A node for each byte of the word holds the best segmentation of the bytes before it. The search goes from left to
 * right: from each character at which a segmentation ends, it follows the trie and improves the node behind every piece
 * that it finds. For "ab" with the pieces a (-1), b (-1), ab (-1.5), the node behind "b" gets -1.5 by "ab" first, and
 * -2 by "a", "b" does not improve it. The time is the length of the word times the length of the longest piece. Going
 * back from the last node gives the pieces in reverse. */
#include "kind/text/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

/* --- model -------------------------------------------------------------------------------------------------------- */

/* The score of an unknown character is below the lowest one of all pieces by this: the value in `tokenizers` and
 * SentencePiece (kUnkPenalty). */
#define PENALTY 10.0

/* Compares entries by their bytes, since a trie is built in that order. If the bytes are equal, the higher value comes
 * first: bl_unigram_build keeps the first entry, and thus the last id. */
static int unigram_compare_entries(const void *a, const void *b)
{
    const struct bl_trie_entry *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    if (order || x->size != y->size)
        return order ? order : (x->size > y->size) - (x->size < y->size);
    return (x->value < y->value) - (x->value > y->value);
}

/* Ids of empty pieces stay without an entry: they never occur in a text. */
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
    if (!code) {
        size_t kept = 0;
        qsort(entry, used, sizeof *entry, unigram_compare_entries);
        for (size_t i = 0; i < used; i++) {
            bool equal = kept && entry[kept - 1].size == entry[i].size &&
                         !memcmp(entry[kept - 1].bytes, entry[i].bytes, entry[i].size);
            if (!equal)
                entry[kept++] = entry[i];
        }
        code = bl_trie_build(&model->trie, entry, kept, e);
    }
    free(entry);
    if (code || !fallback)
        return code;
    /* The ids of the pieces "<0x00>" to "<0xFF>"; -1: there is no such piece. Unknown text becomes bytes only where all
     * bytes of it have pieces. */
    model->byte = malloc(256 * sizeof *model->byte);
    if (!model->byte)
        return bl_error_memory(e);
    for (unsigned i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", i);
        uint32_t id = bl_trie_find(&model->trie, text, 6);
        model->byte[i] = id == BL_TRIE_NONE ? -1 : (int32_t)id;
    }
    return BL_OK;
}

void bl_unigram_free(struct bl_unigram *model)
{
    bl_trie_free(&model->trie);
    free(model->score);
    free(model->byte);
    *model = (struct bl_unigram){0};
}

/* Ends the best segmentation of the bytes before `end` with the piece from begin to end, if that has a larger sum, and
 * returns whether it has. Equal sums keep the segmentation that was found first. Sums of 32 bits, which SentencePiece
 * uses, are rounded when they are stored, not when they are compared. */
static inline bool node_improve(const struct bl_unigram *model, struct bl_unigram_node *node, size_t begin, size_t end,
                                double score, int32_t id)
{
    double sum = score + node[begin].score;
    if (node[end].begin != SIZE_MAX && !(sum > node[end].score))
        return false;
    node[end] = (struct bl_unigram_node){model->single ? (double)(float)sum : sum, begin, id};
    return true;
}

/* Finds the best segmentation of the bytes before each byte where a character ends. BL_EDATA: a character is unknown,
 * and the model has no unknown token. */
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
        if (single)
            continue;
        /* An unknown character. In SentencePiece the sum is of 32 bits before the comparison; the difference that is
         * given to node_improve gives the same sum again. */
        double score = model->lowest - PENALTY;
        if (model->single)
            score = (float)((float)score + (float)node[begin].score) - node[begin].score;
        if (node_improve(model, node, begin, begin + bytes, score, model->unknown) && model->unknown < 0)
            return bl_error_set(e, BL_EDATA, "U+%04X is not in the tokenizer's vocabulary, which has no unknown token",
                                (unsigned)point);
    }
    return BL_OK;
}

/* Appends the ids of unknown text, the last one first: those of its bytes, if all have one, or one id of the unknown
 * token. `tokenizers` joins unknown characters first and may find the whole text among the pieces. */
static int unknown_put(const struct bl_unigram *model, const uint8_t *text, size_t size, struct bl_ids *reversed,
                       struct bl_error *e)
{
    uint32_t piece = model->single ? BL_TRIE_NONE : bl_trie_find(&model->trie, text, size);
    if (piece != BL_TRIE_NONE)
        return bl_ids_add(reversed, (int32_t)piece, e);
    /* All bytes or none: ids of some bytes alone would lose the others. */
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

/* The nodes give the pieces from the last to the first, so they go to a list that is copied in reverse. */
int bl_unigram_encode(const struct bl_unigram *model, struct bl_unigram_scratch *scratch, const uint8_t *word,
                      size_t size, struct bl_ids *ids, struct bl_error *e)
{
    struct bl_ids *reversed = &scratch->reversed;
    BL_TRY(BL_ARRAY_RESERVE(scratch->node, scratch->capacity, size + 1, e));
    struct bl_unigram_node *node = scratch->node;
    node[0] = (struct bl_unigram_node){0, 0, -1};
    for (size_t i = 1; i <= size; i++)
        /* Bytes within a character keep this: no segmentation ends there. */
        node[i].begin = SIZE_MAX;
    int code = nodes_find(model, node, word, size, e);
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
