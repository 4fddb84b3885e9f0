/* Exclusion: ids of sequences that are left out by request, given one by one or in lists. */
#ifndef BL_EXCLUSION_H
#define BL_EXCLUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"
#include "store/sequences.h"

struct bl_exclusion;

/* Each argument is an id, or @FILE for a file with one id a line; relative paths of files count from base, if it is not
 * NULL. BL_EUSAGE: file not found. */
int bl_exclusion_open(struct bl_exclusion **exclusion, const char *const *arguments, int count, const char *base,
                      struct bl_error *e);
void bl_exclusion_close(struct bl_exclusion *exclusion);

/* Whether a sequence is excluded: by its own id, or by that of its file, if not NULL. Callable by many threads at once.
 */
bool bl_exclusion_has(struct bl_exclusion *exclusion, const char *id, const char *file);

/* Marks a row as excluded: dropped, with the reason. */
void bl_exclusion_apply(struct bl_row *row);

/* The same for a row of a table: the id of its file is part of its own. file: scratch. */
bool bl_exclusion_has_row(struct bl_exclusion *exclusion, const struct bl_row *row, struct bl_buffer *file);

/* Finds out which of the ids a table has that was made with this exclusion, for bl_exclusion_append_unused. */
int bl_exclusion_match(const struct bl_sequences *table, struct bl_exclusion *exclusion, struct bl_error *e);

/* Appends the line that identifies it: how many ids there are, each once, and a digest of them. */
void bl_exclusion_identify(const struct bl_exclusion *exclusion, struct bl_buffer *out);

/* Appends "--exclude ID: no sequence has that id, nor 2 others" if there are such ids. */
void bl_exclusion_append_unused(const struct bl_exclusion *exclusion, struct bl_buffer *out);

#endif
