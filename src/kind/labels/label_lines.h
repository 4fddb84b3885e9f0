/* The labels of a text file, one per line, as numbers. The file may be gzip or zstd; it is read as a stream. */
#ifndef BL_LABEL_LINES_H
#define BL_LABEL_LINES_H

#include "base/instream.h"
#include "kind/labels/mapping.h"

#define BL_LABEL_MAX 4096 /* bytes of a label */

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
