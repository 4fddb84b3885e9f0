/* A check at a file before and after it is read: whether the bytes that were read are those that the table is about. */
#ifndef BL_FILE_CHECK_H
#define BL_FILE_CHECK_H

#include "kind/kind.h"

/* Of one reader; begin from {0}. It remembers the file that was found to be right last, which need not be read for that
 * again as long as its size and time stay. */
struct bl_file_check {
    struct bl_buffer path;
    int64_t bytes, modified;
    uint64_t content;
};

void bl_file_check_free(struct bl_file_check *check);

/* kind->read->piece, and BL_EFAIL besides: the file changed while it was read, or is not the one that was scanned.
 * Kinds that read what counting kept, or many files for one row, see to that themselves. */
int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e);

#endif
