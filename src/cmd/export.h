/* What commands for datasets say about a directory that holds an export. */
#ifndef BL_CMD_EXPORT_H
#define BL_CMD_EXPORT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Describes what dir holds as text, or as JSON; nothing is appended if it is no export. BL_EFAIL: it is one that is not
 * finished, or damaged. */
int bl_cmd_export_info(const char *dir, bool json, struct bl_buffer *out, struct bl_error *e);

/* BL_EFAIL: dir holds an export that is not finished. */
int bl_cmd_refuse_unfinished_export(const char *dir, struct bl_error *e);

#endif
