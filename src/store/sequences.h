/* Reading sequences.tsv: one row for every input found. */
#ifndef BL_SEQUENCES_H
#define BL_SEQUENCES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/sequence_table.h"

/* Reads tables ("-": stdin), or with lengths true lists of "length" or "length count" lines. Errors name file and line:
 * a table without id or length, a length that is none, a status that is none, an id twice, a file that ends in
 * mid-line. */
int bl_sequences_open(struct bl_sequences *sequences, const char *const *paths, int count, bool lengths,
                      struct bl_error *e);
/* The same for tables, with the groups that a column's values make. BL_EFAIL too: a table without that column. */
int bl_sequences_open_grouped(struct bl_sequences *sequences, const char *const *paths, int count, const char *column,
                              struct bl_error *e);
/* A look at a table without reading all of it: its header line, and the kind of its first ok row, escaped as it stands
 * there: "" when it has no such row, or no such column. */
int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e);

#endif
