/* Files that are written once, by whichever of several processes comes first; the others must have made the same. */
#ifndef BL_PUBLISH_H
#define BL_PUBLISH_H

#include "base/error.h"

/* Gives the file temporary, which is whole and closed, the name path, both in one directory, and makes that durable.
 * Nothing is ever replaced. 1: somebody else was first, with the same bytes. BL_EFAIL: with others; it says where they
 * differ. temporary may still be there afterwards, and is the caller's to remove. */
int bl_publish_file(const char *temporary, const char *path, struct bl_error *e);

#endif
