/* Members of the objects of a JSON file, in the tree that jansson makes of it. */
#ifndef BL_JSON_MEMBERS_H
#define BL_JSON_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* What a file uses and is not supported. All of it is named, so reading goes on behind it: start from {0}. */
struct bl_unsupported {
    struct bl_buffer list;
};

/* Adds to the list. */
void bl_unsupported_add(struct bl_unsupported *unsupported, const char *format, ...) BL_PRINTF(2, 3);
/* BL_EFAIL, with the list, if there is anything in it. */
int bl_unsupported_check(const struct bl_unsupported *unsupported, struct bl_error *e);
void bl_unsupported_free(struct bl_unsupported *unsupported);

/* Lists as unsupported the members of an object other than names, a list ended by NULL: their meaning would be lost.
 * what names the object in messages. BL_EFAIL: it is not an object. */
int bl_json_members_check(const json_t *object, const char *what, const char *const *names,
                          struct bl_unsupported *unsupported, struct bl_error *e);

/* A member that is true or false, and its value: the default, which stays if there is no such member. nullable: or if
 * it is null. */
struct bl_json_flag {
    const char *name;
    bool *value;
    bool nullable;
};

/* Reads flags, a list ended by a name of NULL. BL_EFAIL: one is neither true nor false. */
int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e);

/* The steps that an object stands for: itself, or those of a Sequence in its member list, and of Sequences therein. */
struct bl_json_steps {
    const json_t **step;
    size_t count, capacity;
};

/* Appends the steps of an object, which may be NULL or null. what: "normalizer". BL_EFAIL: one is not an object. */
int bl_json_steps_add(struct bl_json_steps *steps, const json_t *object, const char *list, const char *what,
                      struct bl_unsupported *unsupported, struct bl_error *e);
void bl_json_steps_free(struct bl_json_steps *steps);

/* Checks the members of a step by bl_json_members_check. named: it is one of several with its members, so that messages
 * name it by its type. */
int bl_json_step_check(const json_t *object, const char *what, bool named, const char *const *names,
                       struct bl_unsupported *unsupported, struct bl_error *e);

/* The type of an object, or "". */
const char *bl_json_type(const json_t *object);

/* The text of {"String": text} or {"Regex": text} in the member "pattern", or NULL. */
const json_t *bl_json_pattern(const json_t *object, bool *literal);

#endif
