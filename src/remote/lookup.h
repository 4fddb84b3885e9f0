/* Finds many objects at once, before each is looked for by itself. */
#ifndef BL_LOOKUP_H
#define BL_LOOKUP_H

#include "base/buffer.h"
#include "base/error.h"
#include "remote/files.h"

/* Asks for the objects with these names, so that bl_remote_files_find knows them. Where several names of one folder of
 * a store follow each other, what they begin with is listed; the others are asked for by several threads. names: each
 * with a NUL after it; those that are no URLs, and folders, are left out. An object that is not found ends the lookup,
 * without an error: the caller will look for it again. BL_ECANCEL. */
int bl_remote_files_lookup(struct bl_remote_files *files, const struct bl_buffer *names, struct bl_error *e);

#endif
