#include "kind/text/word_cache.h"

#include <stdlib.h>
#include <xxhash.h>

#include "kind/text/huge_pages.h"

#define FIRST_LOG2 9  /* 48 KiB: a short text does not pay for pages that it does not use */
#define LEAST_LOG2 15 /* the least limit: 2 MiB of short words, 1 MiB of long ones */

_Static_assert(((2 * sizeof(struct bl_word) + sizeof(struct bl_long_word) / 4) << LEAST_LOG2) == BL_WORD_CACHE_MIN,
               "the size that the header states");
_Static_assert((LEAST_LOG2 - FIRST_LOG2) % 2 == 0, "the cache grows by a factor of four");

static size_t words_long_count(const struct bl_word_cache *words)
{
    return (size_t)1 << (words->lines_log2 - 2);
}

static int words_alloc(struct bl_word_cache *words, struct bl_error *e)
{
    size_t bytes = ((size_t)2 << words->lines_log2) * sizeof *words->word;
    size_t long_bytes = words_long_count(words) * sizeof *words->long_word;
    words->word = bl_huge_pages_alloc(bytes);
    words->long_word = bl_huge_pages_alloc(long_bytes);
    if (!words->word || !words->long_word)
        return bl_error_memory(e);
    memset(words->word, 0, bytes);
    memset(words->long_word, 0, long_bytes);
    return BL_OK;
}

int bl_word_cache_open(struct bl_word_cache *words, struct bl_error *e)
{
    words->lines_log2 = FIRST_LOG2;
    bl_word_cache_limit(words, BL_WORD_CACHE_MAX);
    return words_alloc(words, e);
}

void bl_word_cache_limit(struct bl_word_cache *words, int64_t bytes)
{
    words->max_log2 = LEAST_LOG2;
    for (size_t size = 4 * BL_WORD_CACHE_MIN; size <= BL_WORD_CACHE_MAX && (int64_t)size <= bytes; size *= 4)
        words->max_log2 += 2;
}

/* What was in a line is in one of four now, in the same order. */
int bl_word_cache_enlarge(struct bl_word_cache *words, struct bl_error *e)
{
    struct bl_word_cache old = *words;
    words->lines_log2 += 2;
    words->replaced = 0;
    int code = words_alloc(words, e);
    if (code)
        goto out;
    for (size_t line = 0; line < (size_t)1 << old.lines_log2; line++) {
        for (int i = 1; i >= 0; i--) {
            const struct bl_word *word = &old.word[2 * line + (size_t)i];
            struct bl_word *to = bl_word_cache_line(words, word->key);
            if (!word->key.high)
                continue;
            to[1] = to[0];
            to[0] = *word;
        }
    }
    for (size_t i = 0; i < words_long_count(&old); i++) {
        const struct bl_long_word *word = &old.long_word[i];
        if (word->count)
            *bl_word_cache_long(words, word->bytes, word->size) = *word;
    }
out:
    bl_word_cache_close(&old);
    return code;
}

struct bl_long_word *bl_word_cache_long(const struct bl_word_cache *words, const uint8_t *bytes, size_t size)
{
    return &words->long_word[XXH3_64bits(bytes, size) >> (64 - (words->lines_log2 - 2))];
}

void bl_word_cache_close(struct bl_word_cache *words)
{
    free(words->word);
    free(words->long_word);
    *words = (struct bl_word_cache){0};
}
