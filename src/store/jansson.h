/* JSON as the store reads and writes it: jansson stays behind this header, and behind the store. */
#ifndef BL_JANSSON_H
#define BL_JANSSON_H

#include <stdint.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends value as text without spaces. */
int bl_jansson_append_compact(const json_t *value, struct bl_buffer *out, struct bl_error *e);

/* Appends value as indented text with a newline at the end. */
int bl_jansson_append(const json_t *value, struct bl_buffer *out, struct bl_error *e);

/* A text value. JSON holds UTF-8 only: paths and the like are written as in tables, other bytes as \xHH. NULL is "". */
json_t *bl_jansson_escaped(const char *text);

/* Reads an integer member. BL_EDATA: it is missing, no integer, or not between min and max. */
int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e);

/* Reads a text member: valid as long as object. BL_EDATA: it is missing or no text. */
int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e);

/* Reads a checksum: 16 digits. */
int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e);

#endif
