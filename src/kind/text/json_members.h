/* Members of the objects in a tokenizer.json. */
#ifndef BL_JSON_MEMBERS_H
#define BL_JSON_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"

/* Refuses an object with members other than names, a list ended by NULL: their meaning would be lost. what names the
 * object in messages. BL_EFAIL. */
int bl_json_members_check(const json_t *object, const char *what, const char *const *names, struct bl_error *e);

/* A member that is true or false, and its value: the default, which stays if there is no such member. */
struct bl_json_flag {
    const char *name;
    bool *value;
};

/* Reads flags, a list ended by a name of NULL. BL_EFAIL: one is neither true nor false. */
int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e);

#endif
