#include "kind/text/words.h"

#include <stdlib.h>

#include "kind/text/pages.h"

#define LINES_LOG2 15 /* of 64 bytes: 2 MiB */

int bl_words_open(struct bl_words *words, struct bl_error *e)
{
    size_t bytes = ((size_t)2 << LINES_LOG2) * sizeof *words->word;
    words->shift = 64 - LINES_LOG2;
    words->word = bl_pages_alloc(bytes);
    if (!words->word)
        return bl_error_memory(e);
    memset(words->word, 0, bytes);
    return BL_OK;
}

void bl_words_close(struct bl_words *words)
{
    free(words->word);
    *words = (struct bl_words){0};
}
