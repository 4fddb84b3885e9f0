/* From a word to what is merged: its end, its unknown characters, and the parts that no merge joins. */
#include <string.h>

#include "base/utf8.h"
#include "kind/text/alphabet.h"
#include "kind/text/bpe.h"

static inline bool points_have(const uint64_t *points, uint32_t point)
{
    return points[point / 64] >> point % 64 & 1;
}

/* Merges the known characters that were collected, and forgets them. */
static int known_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, struct bl_ids *ids, struct bl_error *e)
{
    if (bl_buffer_check(&scratch->word, e))
        return BL_EFAIL;
    struct bl_buffer *known = &scratch->word;
    int code = known->size ? bl_bpe_merge(bpe, scratch, (const uint8_t *)known->data, known->size, ids, e) : BL_OK;
    bl_buffer_clear(known);
    return code;
}

/* Encodes a word with unknown characters: each has the unknown id, or a run of them has it once. Without such an id
 * they are left out, and those around them may merge. */
static int unknown_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const char *word, size_t size,
                          struct bl_ids *ids, struct bl_error *e)
{
    bool before = false; /* the character before is unknown */
    int code = BL_OK;
    bl_buffer_clear(&scratch->word);
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(word + at, &point);
        bool last = bpe->suffixed && at + bytes == size;
        if (points_have(last ? bpe->known_last : bpe->known, point)) {
            bl_buffer_append(&scratch->word, word + at, bytes);
            if (last)
                bl_buffer_byte(&scratch->word, (char)BL_WORD_END);
            before = false;
        } else if (bpe->unknown >= 0) {
            code = known_merge(bpe, scratch, ids, e);
            if (!code && !(before && bpe->fused))
                code = bl_ids_add(ids, bpe->unknown, e);
            before = true;
        }
    }
    return code ? code : known_merge(bpe, scratch, ids, e);
}

int bl_bpe_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                  struct bl_ids *ids, struct bl_error *e)
{
    int64_t stray = bpe->strays.count ? bl_vocabulary_find(&bpe->strays, word, size) : -1;
    if (stray >= 0)
        return bl_ids_add(ids, bpe->strays.token[stray].id, e);
    if (bpe->known)
        return unknown_encode(bpe, scratch, (const char *)word, size, ids, e);
    if (!bpe->suffixed)
        return bl_bpe_merge(bpe, scratch, word, size, ids, e);
    bl_buffer_clear(&scratch->word);
    bl_buffer_append(&scratch->word, word, size);
    bl_buffer_byte(&scratch->word, (char)BL_WORD_END);
    return known_merge(bpe, scratch, ids, e);
}

bool bl_bpe_can_split(const struct bl_bpe *bpe)
{
    return !bpe->strays.count && !bpe->suffixed && !(bpe->known && (bpe->fused || bpe->unknown < 0));
}

size_t bl_bpe_split(const struct bl_bpe *bpe, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max)
{
    size_t n = 0, i = *at + 1;
    for (; i < size && n < max; i++) {
        if (!(bpe->joined[text[i - 1] * 4U + text[i] / 64U] >> text[i] % 64 & 1))
            end[n++] = i;
    }
    if (i >= size && n < max)
        end[n++] = size;
    *at = end[n - 1];
    return n;
}
