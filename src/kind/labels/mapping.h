/* A mapping: the numbers of labels by their names, as a text file gives them. */
#ifndef BL_MAPPING_H
#define BL_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_label_name {
    const char *name;
    int32_t number;
};

struct bl_mapping {
    char *text; /* of the file, that the names lie in */
    struct bl_label_name *label;
    size_t count; /* sorted by name */
    uint64_t digest;
};

/* Reads lines "NUMBER NAME", or of names alone, which are numbered from 0: the first line tells which. BL_EUSAGE, with
 * file and line: a line that is not like the first, a name twice; BL_EFAIL: the file cannot be read. */
int bl_mapping_read(struct bl_mapping *mapping, const char *path, struct bl_error *e);
void bl_mapping_free(struct bl_mapping *mapping);

/* The number of a name, or -1. */
int32_t bl_mapping_find(const struct bl_mapping *mapping, const char *name);

#endif
