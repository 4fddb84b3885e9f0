/* Lists of names (@list): a file or object with a name in each line, or each with a zero byte behind it, which may be
 * compressed by gzip or zstd. */
#ifndef BL_NAME_LIST_H
#define BL_NAME_LIST_H

#include <stdbool.h>

#include "base/error.h"
#include "base/io.h"

struct bl_name_list {
    struct bl_lines lines;
    const char *shown; /* its name, for messages; the caller's */
    bool is_far;       /* it is an object: its names are not those of local files */
    int line;          /* of the last name */
    char *path;        /* of the file; owned */
};

/* Opens a list. name: relative to base, or "-" for standard input; it must outlive the list. BL_EFAIL: it cannot be
 * read; BL_EUSAGE: it is compressed in another way than its name says, or damaged. */
int bl_name_list_open(struct bl_name_list *list, const char *base, const char *name, struct bl_error *e);

/* *name: the next name that is not empty, NUL-terminated, valid until the next call; NULL at the end. *line: its
 * number. BL_EFAIL: the file is no list. */
int bl_name_list_next(struct bl_name_list *list, char **name, int *line, struct bl_error *e);
void bl_name_list_close(struct bl_name_list *list);

#endif
