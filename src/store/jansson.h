/* JSON by jansson, which only the store's .c files and this header include. */
#ifndef BL_JANSSON_H
#define BL_JANSSON_H

#include <stdint.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"

/* Add value to *list, or as a member to *object. Both take ownership of value. If value is NULL or memory runs out, the
 * list or object is freed and becomes NULL, and stays NULL: only the finished one needs a check. */
void bl_jansson_push(json_t **list, json_t *value);
void bl_jansson_set(json_t **object, const char *name, json_t *value);

/* Appends an object as compact text, or as indented text and a newline, and frees it. NULL: BL_EFAIL, out of memory. */
int bl_jansson_append_compact(json_t *object, struct bl_buffer *out, struct bl_error *e);
int bl_jansson_append(json_t *object, struct bl_buffer *out, struct bl_error *e);

/* A string value. JSON holds UTF-8 only: other bytes become \xHH, as in tables. NULL gives "". NULL is returned when
 * out of memory. */
json_t *bl_jansson_escaped(const char *text);

/* Undoes bl_jansson_escaped for a string; an invalid text is taken as it is. Frees what *out was; free(*out). */
int bl_jansson_unescaped(const json_t *value, char **out, struct bl_error *e);

/* Reads an integer member. BL_EDATA: missing, not an integer, or not from min to max. */
int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e);

/* Reads a string member, valid as long as object. BL_EDATA: missing, or not a string. */
int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e);

/* Reads a checksum of 16 digits. BL_EDATA: missing or invalid. */
int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e);

#endif
