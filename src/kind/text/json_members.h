/* Reads members of the objects of a JSON file, in the tree that jansson makes of it. The tree and its texts belong to
 * the caller. */
#ifndef BL_JSON_MEMBERS_H
#define BL_JSON_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Features that a file uses and bload does not support. Reading goes on after such a feature, so that the list names
 * all of them. Start from {0}. */
struct bl_unsupported {
    struct bl_buffer list; /* names with ", " between them */
};

/* Adds a name to the list. */
void bl_unsupported_add(struct bl_unsupported *unsupported, const char *format, ...) BL_PRINTF(2, 3);
/* Returns BL_EFAIL with the list in the message if the list is not empty, or if memory ran out. */
int bl_unsupported_check(const struct bl_unsupported *unsupported, struct bl_error *e);
void bl_unsupported_free(struct bl_unsupported *unsupported);

/* Lists the members of an object that are not in names as unsupported, since their meaning would be lost. names ends
 * with NULL. what names the object in messages, such as "the model BPE". BL_EFAIL: it is not an object. */
int bl_json_members_check(const json_t *object, const char *what, const char *const *names,
                          struct bl_unsupported *unsupported, struct bl_error *e);

/* A member that is true or false. value holds the default, which stays if the member is missing, or if the member is
 * null and nullable is set. */
struct bl_json_flag {
    const char *name;
    bool *value;
    bool nullable;
};

/* Sets the values of flags, a list that ends with a name of NULL. BL_EFAIL: a member is neither true nor false. */
int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e);

/* The steps of an object: the object itself, or if it is a Sequence the steps in its member list, and those of
 * Sequences within it. */
struct bl_json_steps {
    const json_t **step; /* objects of the tree, which must outlive the list */
    size_t count, capacity;
};

/* Appends the steps of an object, which may be NULL or null. list: the member of a Sequence, such as "normalizers".
 * what: the word for a step in messages, such as "normalizer". BL_EFAIL: a step is not an object, or Sequences are too
 * deep. */
int bl_json_steps_add(struct bl_json_steps *steps, const json_t *object, const char *list, const char *what,
                      struct bl_unsupported *unsupported, struct bl_error *e);
void bl_json_steps_free(struct bl_json_steps *steps);

/* Checks the members of a step by bl_json_members_check. named: several types have the members in names, so messages
 * name the step by its type. */
int bl_json_step_check(const json_t *object, const char *what, bool named, const char *const *names,
                       struct bl_unsupported *unsupported, struct bl_error *e);

/* Returns the text of the member "type" of an object, or "". */
const char *bl_json_type(const json_t *object);

/* Returns the text of {"String": text} or {"Regex": text} in the member "pattern", or NULL. *literal: it is "String".
 */
const json_t *bl_json_pattern(const json_t *object, bool *literal);

#endif
