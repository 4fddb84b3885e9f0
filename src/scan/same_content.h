/* Sequences with the same content: candidates have equal digests in the table, and are then compared in full. */
#ifndef BL_SAME_CONTENT_H
#define BL_SAME_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/row.h"

/* A hash that is equal for rows that may have the same content. */
uint64_t bl_same_content_hash(const struct bl_row *row);

/* Whether the row's content is a digest of a whole document, one of many in its file. */
bool bl_same_content_is_document(const struct bl_row *row);

/* Compares the content of two rows: the same part of files with the same bytes, or of folders whose files have the same
 * names and bytes; hidden files do not count. Documents within files are equal if their digests, which are of all their
 * bytes, and their lengths are. Relative paths count from base, if it is not NULL. BL_EFAIL: a file cannot be read.
 * cancel may be NULL. */
int bl_same_content(const struct bl_row *a, const struct bl_row *b, const char *base, const struct bl_cancel *cancel,
                    bool *same, struct bl_error *e);

#endif
