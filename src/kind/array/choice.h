/* The choice of one array among those of a file, and the messages about it, for every format that holds several. */
#ifndef BL_CHOICE_H
#define BL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Set the first four members; free with bl_array_choice_free. */
struct bl_array_choice {
    const char *name;       /* of the array, or a pattern (is_pattern); NULL: the only one */
    bool is_pattern;        /* * and ? in the name match any characters */
    const char *one, *file; /* for messages: "an archive", "the archive" */

    int64_t arrays, matches; /* arrays that were offered; those that are meant */
    struct bl_buffer names;  /* the first names, for a message */
};

/* Returns whether --array is a pattern: it has one of * ? [. */
bool bl_array_name_is_pattern(const char *name);

/* Returns whether a pattern matches the name of an array. * matches slashes, too. */
bool bl_array_pattern_matches(const char *pattern, const char *name);

/* Offers the next array of the file; matches: whether its name is the one that is meant, which the format decides. */
void bl_array_choice_add(struct bl_array_choice *choice, const char *name, size_t size, bool matches);

/* Does the same for a format whose names are compared as they are. Returns whether the array is meant. */
bool bl_array_choice_offer(struct bl_array_choice *choice, const char *name, size_t size);

/* After the last array: exactly one must be meant. BL_EDATA, with the names that there are. */
int bl_array_choice_check(const struct bl_array_choice *choice, struct bl_error *e);
void bl_array_choice_free(struct bl_array_choice *choice);

#endif
