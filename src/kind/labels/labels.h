/* Labels as text: the mapping from names to numbers, and the lines of a file with one label each. The labels kind has
 * such files as sequences, and a line is a step. */
#ifndef BL_LABELS_H
#define BL_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/instream.h"
#include "kind/kind.h"

/* --- mappings ----------------------------------------------------------------------------------------------------- */

/* A mapping: the numbers of labels by their names, from a text file. */

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

/* --- lines of labels ---------------------------------------------------------------------------------------------- */

/* The labels of a text file, one per line, as numbers. The file may be gzip or zstd; it is read as a stream. */

struct bl_label_lines {
    const struct bl_mapping *mapping; /* without labels: the lines are numbers */
    struct bl_instream *in;
    char data[16384];
    size_t at, end;
    int64_t line; /* number of the last line, from 1 */
};

/* path and mapping outlive it. BL_EDATA also where the beginning is damaged. Needs no close after a failure. */
int bl_label_lines_open(struct bl_label_lines *lines, const char *path, const struct bl_mapping *mapping,
                        const struct bl_cancel *cancel, struct bl_error *e);
void bl_label_lines_close(struct bl_label_lines *lines);

/* Reads the number of the next label; *found is false at the end of the file. BL_EDATA names a malformed line. */
int bl_label_lines_next(struct bl_label_lines *lines, int32_t *label, bool *found, struct bl_error *e);

#endif
