/* The cache from words to ids, one per encoder: a short word that was met before is not merged again.
 *
 * It decides only how long encoding takes. An entry is half a cache line, and a word has the two places of a line. */
#ifndef BL_WORDS_H
#define BL_WORDS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

#define BL_WORD_BYTES 15 /* a word of up to so many bytes fits into a key */
#define BL_WORD_IDS 4

struct bl_word_key {
    uint64_t low, high; /* the bytes, then zeros; the last byte is how many. All zeros: no word */
};

struct bl_word {
    struct bl_word_key key;
    int32_t id[BL_WORD_IDS]; /* then -1 */
};

struct bl_words {
    struct bl_word *word; /* aligned to lines */
    unsigned shift;
};

int bl_words_open(struct bl_words *words, struct bl_error *e);
void bl_words_close(struct bl_words *words);

/* The key of a word of 1 to BL_WORD_BYTES bytes, of which 16 can be read. */
static inline struct bl_word_key bl_word_key(const uint8_t *bytes, size_t size)
{
    uint64_t low, high;
    memcpy(&low, bytes, 8);
    memcpy(&high, bytes + 8, 8);
    low = le64toh(low);
    high = le64toh(high);
    unsigned bits = (unsigned)size * 8;
    uint64_t mask = ((uint64_t)1 << (bits & 63)) - 1;
    low &= size < 8 ? mask : UINT64_MAX;
    high &= size < 8 ? 0 : mask;
    return (struct bl_word_key){low, high | (uint64_t)size << 56};
}

/* The line of a key. */
static inline struct bl_word *bl_words_line(const struct bl_words *words, struct bl_word_key key)
{
    __uint128_t product = (__uint128_t)(key.low ^ 0x9e3779b97f4a7c15u) * (key.high ^ 0xd1b54a32d192ed03u);
    uint64_t hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    return words->word + 2 * (size_t)(hash >> words->shift);
}

static inline bool bl_word_is(const struct bl_word *word, struct bl_word_key key)
{
    return word->key.low == key.low && word->key.high == key.high;
}

/* Puts a word into its line, where the older one goes. */
static inline void bl_words_put(struct bl_word *line, struct bl_word_key key, const int32_t *id, size_t count)
{
    line[1] = line[0];
    line[0].key = key;
    for (size_t i = 0; i < BL_WORD_IDS; i++)
        line[0].id[i] = i < count ? id[i] : -1;
}

#endif
