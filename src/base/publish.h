/* Files that several processes may produce: the first one writes, and the others must have the same bytes. */
#ifndef BL_PUBLISH_H
#define BL_PUBLISH_H

#include "base/error.h"

/* Gives the complete, closed file temporary the name path, in the same directory, and makes that durable. Nothing is
 * ever replaced: if another process was first, its file must have the same bytes, else it is BL_EFAIL, and the message
 * says where they differ. temporary may still exist afterwards; the caller removes it. */
int bl_publish_file(const char *temporary, const char *path, struct bl_error *e);

#endif
