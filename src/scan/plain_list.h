/* Plain lists: a .txt with a path in each line, or a path and a label with a blank between them, as lists of Kinetics
 * and Something-Something have it. */
#ifndef BL_PLAIN_LIST_H
#define BL_PLAIN_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/documents.h"
#include "base/error.h"

/* Whether a file of this name is one: .txt, also compressed. */
bool bl_plain_list_has_name(const char *path);

/* Leaves out a byte order mark at the beginning of the list. */
void bl_list_skip_mark(struct bl_document *line);

/* Leaves out the blanks at both ends. */
void bl_plain_list_trim(const char **line, size_t *size);

/* Finds the label at the end of a trimmed line. False: there is none. */
bool bl_plain_list_split(const char *line, size_t size, size_t *path_size, size_t *label);

/* Decides by the first line, which is trimmed, whether the lines end with a label: not if all of the line is a file's
 * name; they do if the part before its last blank is one. If there is neither file, a whole number at the end is a
 * label. list: its path, from whose folder names count. BL_EUSAGE: more than a label follows the path. */
int bl_plain_list_decide(bool *labelled, const char *list, const char *line, size_t size, struct bl_error *e);

#endif
