#include "kind/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* "bytes": a token is a byte. */
struct bl_tokenizer {
    uint64_t digest;
};

struct bl_encoder {
    const struct bl_tokenizer *tokenizer;
};

int bl_tokenizer_open(struct bl_tokenizer **tokenizer, const struct bl_tokenizer_options *options, struct bl_error *e)
{
    if (strcmp(options->path, "bytes") != 0)
        return bl_error_set(e, BL_EUSAGE, "%s: no tokenizer of that name", options->path);
    struct bl_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return bl_error_memory(e);
    t->digest = XXH3_64bits("bytes", 5);
    *tokenizer = t;
    return BL_OK;
}

void bl_tokenizer_close(struct bl_tokenizer *tokenizer)
{
    free(tokenizer);
}

int64_t bl_tokenizer_size(const struct bl_tokenizer *tokenizer)
{
    (void)tokenizer;
    return 256;
}

int32_t bl_tokenizer_find(const struct bl_tokenizer *tokenizer, const char *text)
{
    (void)tokenizer;
    return text[0] && !text[1] ? (unsigned char)text[0] : -1;
}

uint64_t bl_tokenizer_digest(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->digest;
}

const char *bl_tokenizer_warning(const struct bl_tokenizer *tokenizer)
{
    (void)tokenizer;
    return NULL;
}

int bl_encoder_open(struct bl_encoder **encoder, const struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    *encoder = calloc(1, sizeof **encoder);
    if (!*encoder)
        return bl_error_memory(e);
    (*encoder)->tokenizer = tokenizer;
    return BL_OK;
}

void bl_encoder_close(struct bl_encoder *encoder)
{
    free(encoder);
}

int bl_encoder_encode(struct bl_encoder *encoder, const char *text, size_t size, struct bl_ids *ids,
                      struct bl_error *e)
{
    (void)encoder;
    int code = bl_ids_reserve(ids, size, e);
    if (code)
        return code;
    for (size_t i = 0; i < size; i++)
        ids->id[ids->count + i] = (unsigned char)text[i];
    ids->count += size;
    return BL_OK;
}
