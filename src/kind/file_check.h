/* Checks a file before and after a piece of it is read: whether it is the file that was scanned. */
#ifndef BL_FILE_CHECK_H
#define BL_FILE_CHECK_H

#include "kind/kind.h"

/* The state of one reader; initialize with {0}. It holds the last file whose content was right: that is not read again
 * while size and time stay the same. */
struct bl_file_check {
    struct bl_buffer path;
    int64_t bytes, modified;
    uint64_t content;
};

void bl_file_check_free(struct bl_file_check *check);

/* Calls kind->read->piece. BL_EFAIL also: the file changed while it was read, or is not the one that was scanned. Kinds
 * with a spool, or with folders, check that themselves. */
int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e);

#endif
