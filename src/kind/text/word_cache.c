#include "kind/text/word_cache.h"

#include <stdlib.h>
#include <xxhash.h>

#include "kind/text/huge_pages.h"

#define LONG_LOG2 15 /* of 128 bytes: 4 MiB */

int bl_word_cache_open(struct bl_word_cache *words, struct bl_error *e)
{
    size_t bytes = ((size_t)2 << BL_WORD_CACHE_LOG2) * sizeof *words->word;
    size_t long_bytes = ((size_t)1 << LONG_LOG2) * sizeof *words->long_word;
    words->word = bl_huge_pages_alloc(bytes);
    words->long_word = bl_huge_pages_alloc(long_bytes);
    if (!words->word || !words->long_word)
        return bl_error_memory(e);
    memset(words->word, 0, bytes);
    memset(words->long_word, 0, long_bytes);
    return BL_OK;
}

struct bl_long_word *bl_word_cache_long(const struct bl_word_cache *words, const uint8_t *bytes, size_t size)
{
    return &words->long_word[XXH3_64bits(bytes, size) >> (64 - LONG_LOG2)];
}

void bl_word_cache_close(struct bl_word_cache *words)
{
    free(words->word);
    free(words->long_word);
    *words = (struct bl_word_cache){0};
}
