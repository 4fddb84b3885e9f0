/* Encoding documents as token ids, in one thread: the encoder, and its cache of the words that it has seen. */
#ifndef BL_ENCODER_H
#define BL_ENCODER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/text/tokenizer.h"
#include "kind/text/vocabulary.h"

/* --- word cache --------------------------------------------------------------------------------------------------- */

/* The cache from words to ids, one for each encoder: a word that was seen before is not merged again.
 *
 * It only affects the time of encoding. Most words are short and have few tokens: their entries are half a cache line,
 * and a word may be in both entries of its line. Longer words and those with more tokens are in a table of larger
 * entries; a short word in that table has a stub in the first one. Neither is a table of base/buffer.h, which forgets
 * nothing: a new word replaces an older one, so that memory is bounded. Both begin small, as few texts need more, and
 * grow where many words are replaced. */

#define BL_WORD_BYTES 15 /* words up to this size fit into a key */
#define BL_WORD_IDS 4
#define BL_LONG_WORD_BYTES 62
#define BL_LONG_WORD_IDS 16

struct bl_word_key {
    uint64_t low, high; /* the bytes, then zeros; the last byte is their number. All zeros: no word */
};

struct bl_word {
    struct bl_word_key key;
    int32_t id[BL_WORD_IDS]; /* then -1; a stub has none */
};

struct bl_long_word {
    uint8_t size, count; /* of bytes, of ids; a free one: 0 */
    uint8_t bytes[BL_LONG_WORD_BYTES];
    int32_t id[BL_LONG_WORD_IDS];
};

struct bl_word_cache {
    struct bl_word *word; /* aligned to lines */
    struct bl_long_word *long_word;
    unsigned lines_log2, max_log2; /* lines of two words; there is a long word for every four of them */
    size_t replaced;               /* words since the last growth */
};

#define BL_WORD_CACHE_MIN ((size_t)3 << 20) /* bytes */
#define BL_WORD_CACHE_MAX (BL_WORD_CACHE_MIN << 4)

/* Limits the size of the cache in bytes. The limit is at least BL_WORD_CACHE_MIN and at most BL_WORD_CACHE_MAX. */
void bl_word_cache_limit(struct bl_word_cache *words, int64_t bytes);

/* Without a limit: up to BL_WORD_CACHE_MAX. */
int bl_word_cache_open(struct bl_word_cache *words, struct bl_error *e);
void bl_word_cache_close(struct bl_word_cache *words);

int bl_word_cache_enlarge(struct bl_word_cache *words, struct bl_error *e);

/* Makes the cache four times as large if a sixteenth as many words were replaced as it holds. Pointers to entries are
 * no longer valid then. */
static inline int bl_word_cache_make_room(struct bl_word_cache *words, struct bl_error *e)
{
    bool is_full = words->replaced >> (words->lines_log2 - 3) && words->lines_log2 < words->max_log2;
    return is_full ? bl_word_cache_enlarge(words, e) : BL_OK;
}

/* Returns the key of a word of 1 to BL_WORD_BYTES bytes. 16 bytes must be readable at the word, whatever its size. */
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

static inline uint64_t bl_word_cache_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The line of a key. */
static inline struct bl_word *bl_word_cache_line(const struct bl_word_cache *words, struct bl_word_key key)
{
    return words->word + 2 * (size_t)(bl_word_cache_mix(key.low, key.high) >> (64 - words->lines_log2));
}

static inline bool bl_word_is(const struct bl_word *word, struct bl_word_key key)
{
    return word->key.low == key.low && word->key.high == key.high;
}

/* Puts a word first in its line: the first entry moves to the second place, whose word is dropped. A word with more ids
 * than an entry holds becomes a stub, an entry without ids. */
static inline void bl_word_cache_put(struct bl_word_cache *words, struct bl_word *line, struct bl_word_key key,
                                     const int32_t *id, size_t count)
{
    words->replaced += line[1].key.high != 0;
    line[1] = line[0];
    line[0].key = key;
    for (size_t i = 0; i < BL_WORD_IDS; i++)
        line[0].id[i] = i < count && count <= BL_WORD_IDS ? id[i] : -1;
}

/* The entry of a word of up to BL_LONG_WORD_BYTES bytes, if it is cached. */
struct bl_long_word *bl_word_cache_long(const struct bl_word_cache *words, const uint8_t *bytes, size_t size);

static inline bool bl_long_word_is(const struct bl_long_word *word, const uint8_t *bytes, size_t size)
{
    return word->size == size && !memcmp(word->bytes, bytes, size);
}

static inline void bl_long_word_put(struct bl_long_word *word, const uint8_t *bytes, size_t size, const int32_t *id,
                                    size_t count)
{
    word->size = (uint8_t)size;
    word->count = (uint8_t)count;
    memcpy(word->bytes, bytes, size);
    memcpy(word->id, id, count * sizeof *id);
}

/* --- encoder ------------------------------------------------------------------------------------------------------ */

/* An encoder: from documents to token ids, for one thread. It holds the cache and the buffers of encoding. The ids
 * depend on the tokenizer and the text alone. */

struct bl_encoder;

/* The tokenizer outlives its encoders. */
int bl_encoder_open(struct bl_encoder **encoder, const struct bl_tokenizer *tokenizer, struct bl_error *e);
void bl_encoder_close(struct bl_encoder *encoder);

/* Makes encoding stop between two words with BL_ECANCEL once cancel is raised. */
void bl_encoder_set_stop(struct bl_encoder *encoder, const struct bl_cancel *cancel);

/* Limits the word cache to this many bytes. The default is 48 MiB. */
void bl_encoder_limit_cache(struct bl_encoder *encoder, int64_t bytes);

/* Returns an upper bound of the memory in bytes, ids included, that encoding a document of this size needs. */
int64_t bl_encoder_memory(const struct bl_encoder *encoder, size_t size);

/* Limits later documents: no step of the tokenizer may produce more bytes, and a document may not have more ids, than
 * this number. 0 means no limit. */
void bl_encoder_limit(struct bl_encoder *encoder, size_t bytes);
/* Call it after encoding failed. Returns the limit that the document needs, or some larger limit to try if that is not
 * known, or 0 if encoding failed for another reason. */
size_t bl_encoder_wanted(const struct bl_encoder *encoder);
/* Frees the buffers that have room for more than this many bytes. */
void bl_encoder_shrink(struct bl_encoder *encoder, size_t bytes);

/* Appends the ids of a document, which must be valid UTF-8, without tokens of begin and end. BL_EFAIL: out of memory,
 * or the limit; BL_EDATA: the document is too large for the tokenizer's library. */
int bl_encoder_encode(struct bl_encoder *encoder, const char *text, size_t size, struct bl_ids *ids,
                      struct bl_error *e);

#endif
