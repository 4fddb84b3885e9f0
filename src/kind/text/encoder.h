/* Encodes documents as token ids, in one thread. The sections are the cache of words and the encoder, which holds
 * it.
 *
 * The encoder applies the steps of a tokenizer in the order of `tokenizers`: added tokens, normalizers, added tokens
 * of normalised text, the steps that split, the model. Each thread has its own encoder, so encoding takes no locks. */
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

/* The cache maps words to ids, so that a word that was seen before is not merged again. It changes the time of
 * encoding, never the ids.
 *
 * There are two tables. Most words are short and have few ids: their entries have 32 bytes, two to a line of the
 * processor's cache, and a word may be in both entries of its line. The second table has entries of 128 bytes for
 * longer words and for words with more ids. A short word with more ids is in the second table and has a stub in the
 * first, an entry without ids.
 *
 * A new word replaces an older one, so memory is bounded; the tables of base/buffer.h only grow. Both tables begin
 * small, as few texts need more, and grow where many words are replaced. */

#define BL_WORD_BYTES 15      /* a key has 16 bytes, the last of which is the size */
#define BL_WORD_IDS 4         /* key and ids are half a line of 64 bytes */
#define BL_LONG_WORD_BYTES 62 /* with two sizes before them, a line */
#define BL_LONG_WORD_IDS 16   /* a line */

/* A short word as two numbers, which are compared faster than bytes. All zeros is no word. */
struct bl_word_key {
    uint64_t low, high; /* little-endian: the bytes, zeros, and the size in the last byte */
};

struct bl_word {
    struct bl_word_key key;
    int32_t id[BL_WORD_IDS]; /* then -1; a stub has none */
};

struct bl_long_word {
    uint8_t size, count; /* numbers of bytes and of ids; both 0 in a free entry */
    uint8_t bytes[BL_LONG_WORD_BYTES];
    int32_t id[BL_LONG_WORD_IDS];
};

struct bl_word_cache {
    struct bl_word *word; /* owned; aligned to lines */
    struct bl_long_word *long_word;
    unsigned lines_log2, max_log2; /* lines of two words; there is a long word for every four lines */
    size_t replaced;               /* words that were replaced since the last growth */
};

#define BL_WORD_CACHE_MIN ((size_t)3 << 20)        /* bytes; the least limit: 2^15 lines and their long words */
#define BL_WORD_CACHE_MAX (BL_WORD_CACHE_MIN << 4) /* 48 MiB: two growths by four */

/* Limits the size of the cache in bytes, rounded down to a size that it can have, but at least BL_WORD_CACHE_MIN and
 * at most BL_WORD_CACHE_MAX. */
void bl_word_cache_limit(struct bl_word_cache *words, int64_t bytes);

/* Makes an empty cache that grows up to BL_WORD_CACHE_MAX. bl_word_cache_close frees it, also after an error.
 * BL_EFAIL: out of memory. */
int bl_word_cache_open(struct bl_word_cache *words, struct bl_error *e);
void bl_word_cache_close(struct bl_word_cache *words);

/* Makes the cache four times as large; see bl_word_cache_make_room. After BL_EFAIL the cache is only good for
 * closing. */
int bl_word_cache_enlarge(struct bl_word_cache *words, struct bl_error *e);

/* Makes the cache four times as large if the words that were replaced are a sixteenth of those that it holds, up to
 * the limit. Pointers to entries are then invalid. BL_EFAIL: out of memory. */
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

/* Hashes two numbers: both halves of a product of 128 bits, combined by XOR, as in wyhash. */
static inline uint64_t bl_word_cache_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns the line of a key: its first entry, which the second follows. */
static inline struct bl_word *bl_word_cache_line(const struct bl_word_cache *words, struct bl_word_key key)
{
    return words->word + 2 * (size_t)(bl_word_cache_mix(key.low, key.high) >> (64 - words->lines_log2));
}

/* Returns true if the entry is that of the key. */
static inline bool bl_word_is(const struct bl_word *word, struct bl_word_key key)
{
    return word->key.low == key.low && word->key.high == key.high;
}

/* Puts a word first in its line: the first entry moves to the second place, whose word is dropped. A word with more
 * ids than an entry holds becomes a stub, an entry without ids. */
static inline void bl_word_cache_put(struct bl_word_cache *words, struct bl_word *line, struct bl_word_key key,
                                     const int32_t *id, size_t count)
{
    words->replaced += line[1].key.high != 0;
    line[1] = line[0];
    line[0].key = key;
    for (size_t i = 0; i < BL_WORD_IDS; i++)
        line[0].id[i] = i < count && count <= BL_WORD_IDS ? id[i] : -1;
}

/* Returns the only entry of the second table that may hold this word of up to BL_LONG_WORD_BYTES bytes;
 * bl_long_word_is says if it does. */
struct bl_long_word *bl_word_cache_long(const struct bl_word_cache *words, const uint8_t *bytes, size_t size);

/* Returns true if the entry holds this word. */
static inline bool bl_long_word_is(const struct bl_long_word *word, const uint8_t *bytes, size_t size)
{
    return word->size == size && !memcmp(word->bytes, bytes, size);
}

/* Replaces the entry: size is at most BL_LONG_WORD_BYTES, count at most BL_LONG_WORD_IDS. */
static inline void bl_long_word_put(struct bl_long_word *word, const uint8_t *bytes, size_t size, const int32_t *id,
                                    size_t count)
{
    word->size = (uint8_t)size;
    word->count = (uint8_t)count;
    memcpy(word->bytes, bytes, size);
    memcpy(word->id, id, count * sizeof *id);
}

/* --- encoder ------------------------------------------------------------------------------------------------------ */

/* An encoder holds the cache and the buffers of encoding for one thread. The ids depend on the tokenizer and the
 * text alone. */

struct bl_encoder;

/* Makes an encoder, which the caller closes. The tokenizer must outlive the encoder. BL_EFAIL: out of memory. */
int bl_encoder_open(struct bl_encoder **encoder, const struct bl_tokenizer *tokenizer, struct bl_error *e);
void bl_encoder_close(struct bl_encoder *encoder);

/* Makes encoding stop between two words with BL_ECANCEL once cancel is requested. cancel must outlive the encoder. */
void bl_encoder_set_stop(struct bl_encoder *encoder, const struct bl_cancel *cancel);

/* Limits the word cache to this many bytes. The default is 48 MiB. */
void bl_encoder_limit_cache(struct bl_encoder *encoder, int64_t bytes);

/* Returns an upper bound of the memory in bytes, ids included, that encoding a document of this size needs. */
int64_t bl_encoder_memory(const struct bl_encoder *encoder, size_t size);

/* Limits later documents: no step of the tokenizer may make more bytes than this number, and no document may have
 * more ids. 0 is no limit. */
void bl_encoder_limit(struct bl_encoder *encoder, size_t bytes);
/* Returns, after encoding failed, the limit that the document needs, or a larger limit to try where the need is not
 * known. Returns 0 if encoding failed for another reason. */
size_t bl_encoder_wanted(const struct bl_encoder *encoder);
/* Frees the buffers with room for more than this many bytes. */
void bl_encoder_shrink(struct bl_encoder *encoder, size_t bytes);

/* Appends the ids of a document, which must be valid UTF-8, without the marks of its begin and end. BL_EFAIL: out of
 * memory, or the limit; BL_EDATA: the document is too large for the tokenizer's library; BL_ECANCEL: see
 * bl_encoder_set_stop. */
int bl_encoder_encode(struct bl_encoder *encoder, const char *text, size_t size, struct bl_ids *ids,
                      struct bl_error *e);

#endif
