/* Members of the objects in a tokenizer.json. */
#ifndef BL_JSON_MEMBERS_H
#define BL_JSON_MEMBERS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"

/* Refuses an object with members other than names, a list ended by NULL: their meaning would be lost. what names the
 * object in messages. BL_EFAIL. */
int bl_json_members_check(const json_t *object, const char *what, const char *const *names, struct bl_error *e);

/* Reads a member that is true or false; missing is its value where it is not there. BL_EFAIL. */
int bl_json_members_flag(const json_t *object, const char *what, const char *name, bool missing, bool *value,
                         struct bl_error *e);

#endif
