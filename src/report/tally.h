/* Rows of a table by a text: how many have it, their steps and bytes, and the first examples. Memory is bounded: beyond
 * BL_TALLY_KEYS texts, further ones are counted together. */
#ifndef BL_TALLY_H
#define BL_TALLY_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum { BL_TALLY_KEYS = 65536, BL_TALLY_EXAMPLES = 3 };

struct bl_tally_entry {
    char *key;
    int64_t rows, steps, bytes;
    double hours;  /* of the rows whose hours are known */
    int64_t timed; /* their number */
    char *example[BL_TALLY_EXAMPLES];
    int examples;
};

/* Begin with {0}, end with bl_tally_free. */
struct bl_tally {
    struct bl_hash hash;
    struct bl_tally_entry *entry; /* [count] */
    size_t count, capacity;
    struct bl_tally_entry rest; /* rows of all texts that have no entry */
};

/* Counts a row under a text. *entry: where, to count more of it; it is valid until the next call. */
int bl_tally_add(struct bl_tally *tally, const char *key, struct bl_tally_entry **entry, struct bl_error *e);

/* Adds an example, if there is still room. */
int bl_tally_add_example(struct bl_tally_entry *entry, const char *example, struct bl_error *e);

/* Puts the entries in order: most steps first, then most rows, then by text. No row can be added any more. */
void bl_tally_sort(struct bl_tally *tally);
void bl_tally_free(struct bl_tally *tally);

/* Appends the folder of a path, or the tar of a member; "." if there is none. */
void bl_tally_append_folder(const char *path, struct bl_buffer *out);

#endif
