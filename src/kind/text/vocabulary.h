/* The tokens of a model and their ids. The sections are arrays of ids, the vocabulary, the alphabet in which files
 * write the texts of tokens, and the names of special tokens.
 *
 * Where spaces become U+2581 in a text, bload turns U+2581 of the tokens into a space instead: no text is copied, and
 * words have fewer bytes. This is done only where no step of the tokenizer can notice it. */
#ifndef BL_VOCABULARY_H
#define BL_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Token ids: a growing array. */

/* How ids are stored in a file. */
struct bl_id_number {
    size_t size; /* bytes, at most 8 */
    bool is_signed, is_big_endian;
};

struct bl_ids {
    int32_t *id;
    size_t count, capacity;
    size_t limit; /* of ids; it does not grow with more than that; 0: none */
    bool is_over; /* it did not grow because of the limit */
};

/* Makes room for more ids. Start from {0}. BL_EFAIL: out of memory, or more ids than the limit. */
int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e);

/* Appends an id. BL_EFAIL: the same. */
static inline int bl_ids_add(struct bl_ids *ids, int32_t id, struct bl_error *e)
{
    int code = ids->count < ids->capacity ? BL_OK : bl_ids_reserve(ids, 1, e);
    if (code)
        return code;
    ids->id[ids->count++] = id;
    return BL_OK;
}

void bl_ids_free(struct bl_ids *ids);

/* --- document marks ----------------------------------------------------------------------------------------------- */

/* Marks: the ids that documents begin and end with, beside those of their text. */

#define BL_DOCUMENT_MARKS_MAX 16

struct bl_document_marks {
    int32_t id[BL_DOCUMENT_MARKS_MAX];
    int count;
};

/* --- vocabulary --------------------------------------------------------------------------------------------------- */

/* The tokens of a model: from bytes to a token, and from a token to its id.
 *
 * Tokens are numbered as they are added, from 0; ids are whatever the file says, each once. */

#define BL_VOCABULARY_MAX ((1 << 21) - 256) /* tokens: symbols of merging have 21 bits (bpe.h) */
#define BL_ID_MAX ((1 << 24) - 1)           /* largest id: a damaged file must not cause large allocations */

struct bl_token {
    uint32_t offset, size; /* of its bytes */
    int32_t id;
};

struct bl_vocabulary {
    struct bl_buffer bytes;
    struct bl_token *token;
    size_t count, capacity;
    struct bl_hash table; /* of the tokens, by their bytes */
};

/* Adds a token. *known: the token with these bytes that was added before and stays as it is, or -1. */
int bl_vocabulary_add(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, int64_t *known,
                      struct bl_error *e);

/* The token with these bytes, or -1. */
int64_t bl_vocabulary_find(const struct bl_vocabulary *v, const void *bytes, size_t size);

/* Appends a token without looking whether its bytes are known, which is faster for many tokens. bl_vocabulary_find
 * finds it, slowly, before bl_vocabulary_index, and the other functions only afterwards. BL_EFAIL: there are too many.
 */
int bl_vocabulary_append(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, struct bl_error *e);
/* Makes room for so many tokens and bytes in all. */
int bl_vocabulary_reserve(struct bl_vocabulary *v, size_t count, size_t bytes, struct bl_error *e);
/* Makes appended tokens known to all functions. *twice: the first token whose bytes an earlier one has, or -1. */
int bl_vocabulary_index(struct bl_vocabulary *v, int64_t *twice, struct bl_error *e);

/* Many look-ups are faster where all tokens are prefetched by their hashes before the first one is looked up. */
static inline uint64_t bl_vocabulary_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

int64_t bl_vocabulary_find_hash(const struct bl_vocabulary *v, const void *bytes, size_t size, uint64_t hash);

static inline const uint8_t *bl_vocabulary_bytes(const struct bl_vocabulary *v, size_t token)
{
    return (const uint8_t *)v->bytes.data + v->token[token].offset;
}

void bl_vocabulary_free(struct bl_vocabulary *v);

/* --- alphabets ---------------------------------------------------------------------------------------------------- */

/* How a tokenizer's file writes the text of its tokens, and which bytes of a word it means. */

enum bl_alphabet_kind {
    BL_ALPHABET_TEXT,  /* as it is */
    BL_ALPHABET_BYTES, /* byte-level: a character for each byte. 21-7E, A1-AC and AE-FF are written as the characters of
                          these numbers, the other bytes, in order, as U+0100 onwards */
    BL_ALPHABET_SPACES /* U+2581 for a space, which no token has */
};

/* The byte that ends a word, where its last token is written with a suffix ("</w>"): UTF-8 does not have it. */
#define BL_WORD_END 0xff

#define BL_SUFFIX_MAX 15 /* bytes */

struct bl_alphabet {
    enum bl_alphabet_kind kind;
    char suffix[BL_SUFFIX_MAX + 1]; /* of the last token of a word; "": none */
};

#define BL_METASPACE "\xe2\x96\x81" /* U+2581 */

/* Replaces the contents of out with the bytes of a token. False: its text is not in the alphabet, so that it never
 * occurs in a word. */
bool bl_alphabet_decode(const struct bl_alphabet *alphabet, const char *text, size_t size, struct bl_buffer *out);

/* Appends each byte of a text as the character of the byte-level alphabet. */
void bl_alphabet_append_bytes(const char *text, size_t size, struct bl_buffer *out);

/* --- names of special tokens -------------------------------------------------------------------------------------- */

/* The names of a model's special tokens, which tokenizer_config.json and special_tokens_map.json have beside the
 * tokenizer: "eos_token": "</s>", or an object with its "content". */

/* Sets name to the token that the key ("eos_token") names in these files, beside the file at path. *found false: there
 * are no such files, or they do not name it. BL_EFAIL: one cannot be read, or is not JSON. */
int bl_special_name_find(const char *path, const char *key, struct bl_buffer *name, bool *found, struct bl_error *e);

#endif
