/* The names of a vocabulary: its tokens as a JSON file writes them, with their ids. */
#ifndef BL_NAMES_H
#define BL_NAMES_H

#include "base/json.h"
#include "kind/text/vocabulary.h"

/* Reads an object of names and ids. BL_EFAIL: a name is there twice or is not UTF-8, an id is none, or is there twice.
 */
int bl_names_read(struct bl_vocabulary *names, const struct bl_json_value *object, struct bl_error *e);

/* The id of a name, or -1. */
static inline int64_t bl_names_find(const struct bl_vocabulary *names, const char *text, size_t size)
{
    int64_t name = bl_vocabulary_find(names, text, size);
    return name < 0 ? -1 : names->token[name].id;
}

#endif
