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

/* A label of a mapping. */
struct bl_label_name {
    const char *name; /* in the text of the mapping */
    int32_t number;   /* from 0 */
};

/* The numbers of labels by their names, from a text file:
 *
 *     0 walking
 *     1 running
 *
 * or only the names, which are numbered from 0 in their order. */
struct bl_mapping {
    char *text;                  /* of the file, which holds the names; owned */
    struct bl_label_name *label; /* [count] sorted by name; owned */
    size_t count, capacity;
    uint64_t digest; /* XXH3 of the file */
};

/* Reads lines "NUMBER NAME", or lines of names alone, which are numbered from 0: the first line decides. BL_EUSAGE,
 * with file and line: a line that is not like the first one, a duplicate name; BL_EFAIL: the file cannot be read. */
int bl_mapping_read(struct bl_mapping *mapping, const char *path, struct bl_error *e);
void bl_mapping_free(struct bl_mapping *mapping);

/* Returns the number of a name, or -1. */
int32_t bl_mapping_find(const struct bl_mapping *mapping, const char *name);

/* Reads all of a file that an option names, at most max bytes, and its digest. BL_EUSAGE: file not found. */
int bl_mapping_load(const char *path, size_t max, struct bl_buffer *text, uint64_t *digest, struct bl_error *e);

/* --- lines of labels ---------------------------------------------------------------------------------------------- */

/* The labels of a text file, one per line, as numbers. The file may be gzip or zstd; it is read as a stream. */

struct bl_label_lines {
    const struct bl_mapping *mapping; /* without labels: the lines are numbers */
    struct bl_instream *in;           /* NULL: closed */
    char data[16384];                 /* bytes that are read ahead: data[at] to data[end - 1] */
    size_t at, end;
    int64_t line; /* number of the last line, from 1 */
};

/* Opens a file of labels. path and mapping must outlive the lines. BL_EDATA: the beginning is damaged, or not UTF-8. A
 * failed open needs no close. */
int bl_label_lines_open(struct bl_label_lines *lines, const char *path, const struct bl_mapping *mapping,
                        const struct bl_cancel *cancel, struct bl_error *e);
void bl_label_lines_close(struct bl_label_lines *lines);

/* Reads the number of the next label; *found is false at the end of the file. BL_EDATA names a malformed line. */
int bl_label_lines_next(struct bl_label_lines *lines, int32_t *label, bool *found, struct bl_error *e);

#endif
