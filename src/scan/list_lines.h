/* Reads lists of inputs: the lines of any list, one after the other, and the list of clips that is the path of a field.
 */
#ifndef BL_LIST_LINES_H
#define BL_LIST_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "kind/composite/composite.h"
#include "kind/list.h"
#include "scan/clip_columns.h"

/* --- lines of a list ---------------------------------------------------------------------------------------------- */

/* The lines of a list of inputs, one after the other: those of a manifest as they are, clips in the format of
 * kind/list.h, whatever the list is: CSV, TSV or JSON lines; plain or compressed. */

struct bl_list_lines;

/* Opens a list. clips: the columns of the lists of the scan. path must outlive the object. Codes as of
 * bl_instream_open. */
int bl_list_lines_open(struct bl_list_lines **lines, const char *path, const struct bl_clip_columns *clips,
                       const struct bl_cancel *cancel, struct bl_error *e);
void bl_list_lines_close(struct bl_list_lines *lines);

/* Sets the next line that is not blank; valid until the next call. *found: false at the end. BL_EDATA: the list cannot
 * be read any further. */
int bl_list_lines_next(struct bl_list_lines *lines, struct bl_line *line, bool *found, struct bl_error *e);

/* Makes the next call of bl_list_lines_next return the last line again. */
void bl_list_lines_put_back(struct bl_list_lines *lines);

/* Returns whether the lines of the list are clips. */
bool bl_list_lines_are_clips(const struct bl_list_lines *lines);

/* Returns the number of lines read so far. */
int64_t bl_list_lines_read(const struct bl_list_lines *lines);

/* As bl_instream_drain. */
int bl_list_lines_drain(struct bl_list_lines *lines, uint64_t *checksum, struct bl_error *e);

/* --- clips of a field --------------------------------------------------------------------------------------------- */

/* The list of clips that is the path of a field: a clip for each sequence, by id. */

struct bl_kind;

/* Reads the whole list. path: to open; shown: for messages. BL_EUSAGE: the file is no list of clips or does not exist,
 * or it has a column that clips do not have, or an unusable line, which the message names. */
int bl_field_clips_read(struct bl_clip_list *list, const struct bl_kind *kind, const char *path, const char *shown,
                        const struct bl_cancel *cancel, struct bl_error *e);

#endif
