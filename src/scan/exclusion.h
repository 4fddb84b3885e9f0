/* Exclusion: ids that the user wants to be left out, said one by one or in lists. */
#ifndef BL_EXCLUSION_H
#define BL_EXCLUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_REASON_EXCLUDED "left out by --exclude"

struct bl_exclusion;

/* Each of what was said is an id, or with '@' before it a file with an id a line; names of files count from base, if it
 * is not NULL. BL_EUSAGE: there is no such file. */
int bl_exclusion_open(struct bl_exclusion **exclusion, const char *const *said, int count, const char *base,
                      struct bl_error *e);
void bl_exclusion_close(struct bl_exclusion *exclusion);

/* Whether a sequence is left out: by its own id, or by that of its file, or NULL. May be asked by many at once. */
bool bl_exclusion_has(struct bl_exclusion *exclusion, const char *id, const char *file);

/* How many ids there are, each once, and a digest of them. */
size_t bl_exclusion_count(const struct bl_exclusion *exclusion);
uint64_t bl_exclusion_digest(const struct bl_exclusion *exclusion);

/* How many of them no sequence had, and the first of those. */
size_t bl_exclusion_unused(const struct bl_exclusion *exclusion, const char **id);

#endif
