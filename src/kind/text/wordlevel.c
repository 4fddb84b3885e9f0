#include "kind/text/wordlevel.h"

#define SHOWN 80 /* bytes of a word in a message */

int bl_wordlevel_encode(const struct bl_vocabulary *v, int32_t unknown, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e)
{
    int64_t token = bl_vocabulary_find(v, word, size);
    int32_t id = token < 0 ? unknown : v->token[token].id;
    if (id < 0)
        return bl_error_set(e, BL_EDATA, "the word \"%.*s\" has no token, and the tokenizer has none for unknown words",
                            (int)(size < SHOWN ? size : SHOWN), (const char *)word);
    return bl_ids_add(ids, id, e);
}
