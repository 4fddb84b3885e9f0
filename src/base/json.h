/* One line of JSON: all of it is checked, and the values of some keys are found, without building a tree. NaN, Infinity
 * and -Infinity, which JSON has not, but Python's json.dumps writes, are values of a type of their own.
 *
 * The tree of a file is jansson's, and there is no third reader. Two are needed. Inputs have gigabytes of lines, of
 * which a few values each are wanted: a tree would take an allocation and 50 bytes for every value, jansson refuses
 * NaN, and does not say where in the text a value stands. Files that are small and looked at in any order, such as
 * manifests and annotations, need a tree, and some of them are written, which this file cannot. A tokenizer.json is
 * both: its lists of a million names and merges are read here, and cut out before jansson sees the rest. */
#ifndef BL_JSON_H
#define BL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Values of a text of which a tree is built: at 50 bytes each. Known tokenizers and manifests have a tenth. */
#define BL_JSON_VALUES_MAX ((size_t)1 << 23)

/* Counts the marks that divide values, those in strings, too: a text has hardly more values. */
size_t bl_json_marks(const char *text, size_t size);

/* The next quote, backslash or control character, or end if there is none. */
const char *bl_json_next_special(const char *at, const char *end);

#define BL_JSON_KEYS_MAX 32   /* keys that one scan finds: they are bits of a number */
#define BL_JSON_PARTS_MAX 8   /* of a key */
#define BL_JSON_DEPTH_MAX 512 /* nested values; deeper ones are refused */

/* The path of a value: "meta.source" is the member "source" of the member "meta"; "meta\.source" that of this name. */
struct bl_json_key {
    int parts;
    const char *part[BL_JSON_PARTS_MAX]; /* not NUL-terminated; a dot in it has a backslash */
    size_t size[BL_JSON_PARTS_MAX];
};

/* Splits text at its dots, except those after a backslash. The parts point into text. False: a part is empty, or there
 * are more than BL_JSON_PARTS_MAX. */
bool bl_json_key_parse(struct bl_json_key *key, const char *text, size_t size);

/* Returns whether the name is the one that part of a key means. */
bool bl_json_part_is(const char *part, size_t part_size, const char *name, size_t size);

enum bl_json_type {
    BL_JSON_NONE,
    BL_JSON_STRING,
    BL_JSON_NUMBER,
    BL_JSON_WORD, /* true, false or null */
    BL_JSON_ARRAY,
    BL_JSON_OBJECT,
    BL_JSON_NOT_FINITE /* NaN, Infinity or -Infinity */
};

struct bl_json_value {
    enum bl_json_type type; /* NONE: the line does not have the key */
    bool escaped;           /* a string that contains backslashes */
    const char *text;       /* in the line; of a string, the text between the quotes */
    size_t size;
};

struct bl_json_fault {
    size_t at;        /* offset in the line */
    const char *what; /* "expected a value" */
    bool not_finite;  /* no fault here: there is a NaN or an infinity, at which other readers fail */
};

/* Checks that the line is one object, and sets value[i] for key[i]; of a repeated key, the last one counts. Otherwise
 * returns false and sets the fault. */
bool bl_json_scan(const char *line, size_t size, const struct bl_json_key *key, int keys, struct bl_json_value *value,
                  struct bl_json_fault *fault);

/* Checks that the text is one value, whatever it is. */
bool bl_json_scan_value(const char *text, size_t size, struct bl_json_value *value, struct bl_json_fault *fault);

/* Finds the first key, of the object with which text begins, whose value is an array of objects or arrays. The text may
 * end within the object. False: there is no such key before the end, or before a fault. */
bool bl_json_find_table(const char *text, size_t size, struct bl_json_value *name);

/* Appends the keys of the line's object to out, for messages: "text", "id", and "..." after the first max keys. Appends
 * nothing for a line that bl_json_scan refuses at its start. */
void bl_json_append_keys(const char *line, size_t size, int max, struct bl_buffer *out);

/* Appends the text of a string with its escapes decoded. An unpaired surrogate becomes U+FFFD. *lone: offset of the
 * first of them in value->text, or SIZE_MAX. */
void bl_json_unescape(const struct bl_json_value *value, struct bl_buffer *out, size_t *lone);

/* Sets *text to a string with its escapes decoded. The decoded text is in plain; without escapes it stays in the line.
 * False: the value is no string, has an unpaired surrogate, or memory ran out (plain->failed). */
bool bl_json_text(const struct bl_json_value *value, struct bl_buffer *plain, struct bl_json_value *text);

/* Reads the value at *at of an array that bl_json_scan found, and moves *at past it. False at the end. */
bool bl_json_next(const struct bl_json_value *array, size_t *at, struct bl_json_value *value);

/* Reads the member at *at of an object that bl_json_scan found, and moves *at past it. False at the end. */
bool bl_json_next_member(const struct bl_json_value *object, size_t *at, struct bl_json_value *name,
                         struct bl_json_value *value);

/* Reads the whole number at *at of such an array and moves *at past it. *found: false at the end. BL_EDATA, without a
 * message: the element is no whole number, or does not fit. */
int bl_json_next_int(const struct bl_json_value *array, size_t *at, int64_t *number, bool *found);

const char *bl_json_type_name(enum bl_json_type type); /* "a string", "an array" */

#endif
