/* One line of JSON: checked wholly, and the values of some keys found in it, without building a tree. */
#ifndef BL_JSON_H
#define BL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_JSON_KEYS_MAX 32
#define BL_JSON_PARTS_MAX 8
#define BL_JSON_DEPTH_MAX 512 /* values within values; deeper ones are refused */

/* Where a value is: "meta.source" is the member "source" of the member "meta". */
struct bl_json_key {
    int parts;
    const char *part[BL_JSON_PARTS_MAX]; /* not ended by a zero byte */
    size_t size[BL_JSON_PARTS_MAX];
};

/* Splits text, which must last, at its dots. False when a part is empty or there are too many. */
bool bl_json_key_parse(struct bl_json_key *key, const char *text, size_t size);

enum bl_json_type { BL_JSON_NONE, BL_JSON_STRING, BL_JSON_NUMBER, BL_JSON_WORD, BL_JSON_ARRAY, BL_JSON_OBJECT };

struct bl_json_value {
    enum bl_json_type type; /* NONE: there is no such key */
    bool escaped;           /* a string with backslashes in it */
    const char *text;       /* in the line; of a string what is between the quotes */
    size_t size;
};

struct bl_json_fault {
    size_t at;        /* byte of the line */
    const char *what; /* "expected a value" */
};

/* Checks that the line is one object, and sets value[i] for key[i]; where a key comes twice the last one counts. False,
 * with the fault, for anything else. */
bool bl_json_scan(const char *line, size_t size, const struct bl_json_key *key, int keys, struct bl_json_value *value,
                  struct bl_json_fault *fault);

/* Appends the keys of the object that the line is to out, for messages: "text", "id", and ... behind the first max of
 * them. Nothing for a line that bl_json_scan refuses at once. */
void bl_json_append_keys(const char *line, size_t size, int max, struct bl_buffer *out);

/* Appends the text of a string: escapes undone, each half of a surrogate pair that stands alone as U+FFFD. *lone: its
 * place in value->text, the first one's, or SIZE_MAX. */
void bl_json_unescape(const struct bl_json_value *value, struct bl_buffer *out, size_t *lone);

/* The next value of an array from *at on, which moves behind it: 1, 0 at the end, -1 for what is none. */
int bl_json_next(const struct bl_json_value *array, size_t *at, struct bl_json_value *value);

/* The next whole number of an array's text from *at on, which moves behind it: 1, 0 at the end, -1 for what is none
 * that fits. */
int bl_json_next_int(const struct bl_json_value *array, size_t *at, int64_t *number);
/* The same for any number. */
int bl_json_next_double(const struct bl_json_value *array, size_t *at, double *number);

const char *bl_json_type_name(enum bl_json_type type); /* "a string", "an array" */

#endif
