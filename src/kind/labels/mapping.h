/* A mapping: the numbers of labels by their names, from a text file. */
#ifndef BL_MAPPING_H
#define BL_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct bl_label_name {
    const char *name;
    int32_t number;
};

struct bl_mapping {
    char *text; /* of the file, which holds the names */
    struct bl_label_name *label;
    size_t count; /* sorted by name */
    size_t capacity;
    uint64_t digest; /* XXH3 of the file */
};

/* Reads lines "NUMBER NAME", or lines of names alone, which are numbered from 0: the first line decides. BL_EUSAGE,
 * with file and line: a line of the other form, a duplicate name; BL_EFAIL: the file cannot be read. */
int bl_mapping_read(struct bl_mapping *mapping, const char *path, struct bl_error *e);
void bl_mapping_free(struct bl_mapping *mapping);

/* The number of a name, or -1. */
int32_t bl_mapping_find(const struct bl_mapping *mapping, const char *name);

/* Reads all of a file that an option names, at most max bytes, and its digest. BL_EUSAGE: file not found. */
int bl_mapping_load(const char *path, size_t max, struct bl_buffer *text, uint64_t *digest, struct bl_error *e);

#endif
