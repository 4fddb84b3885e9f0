/* JSON by jansson, which only the store's .c files and this header include. */
#ifndef BL_JANSSON_H
#define BL_JANSSON_H

#include <stdint.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends value as compact text. */
int bl_jansson_append_compact(const json_t *value, struct bl_buffer *out, struct bl_error *e);

/* Appends value as indented text and a newline. */
int bl_jansson_append(const json_t *value, struct bl_buffer *out, struct bl_error *e);

/* A string value. JSON holds UTF-8 only: other bytes become \xHH, as in tables. NULL gives "". NULL is returned when
 * out of memory. */
json_t *bl_jansson_escaped(const char *text);

/* Reads an integer member. BL_EDATA: missing, not an integer, or not from min to max. */
int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e);

/* Reads a string member, valid as long as object. BL_EDATA: missing, or not a string. */
int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e);

/* Reads a checksum of 16 digits. BL_EDATA: missing or invalid. */
int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e);

#endif
