/* Encodings: what is known of the published .tiktoken files, which hold the ranks alone. The pattern and the special
 * tokens are those of tiktoken 0.14 (r50k to o200k), openai-whisper, llama-models (Llama 3 and 4) and Qwen. */
#ifndef BL_ENCODINGS_H
#define BL_ENCODINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "kind/text/grammar.h"
#include "kind/text/vocabulary.h"

/* Special tokens with ids that follow each other: begin, a number from first on, end. */
struct bl_specials {
    const char *begin, *end; /* end NULL: one token, the text begin */
    int32_t id;
    int32_t count, first;
};

struct bl_encoding {
    const char *name; /* of --pattern */
    enum bl_grammar grammar;
    bool nfc;        /* its package normalises text first */
    uint64_t digest; /* of its ranks */
    const struct bl_specials *specials;
};

/* XXH3 of the tokens and their ranks, in the order of the file. BL_EFAIL: out of memory. */
int bl_encoding_digest(const struct bl_vocabulary *ranks, uint64_t *digest, struct bl_error *e);

/* The encoding of this name, or NULL. */
const struct bl_encoding *bl_encoding_by_name(const char *name);

/* The first one with these ranks, or NULL. */
const struct bl_encoding *bl_encoding_by_digest(uint64_t digest);

/* Appends all names: "r50k, p50k ... or qwen". */
void bl_encoding_list_names(struct bl_buffer *out);

#endif
