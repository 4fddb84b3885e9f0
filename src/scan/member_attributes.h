/* Reads attributes of sequences from the other members of their samples in tars. */
#ifndef BL_MEMBER_ATTRIBUTES_H
#define BL_MEMBER_ATTRIBUTES_H

#include "base/cancel.h"
#include "base/error.h"
#include "scan/attributes.h"
#include "scan/files.h"

/* Which members of a sample become columns of its sequence. */

struct bl_member_attributes {
    const char *extensions; /* extensions of the members, such as "json,cls". Each key of the object in a .json member
                               is a column. The text of any other member is a column with the name of the extension;
                               white space around it is removed */
    const char *columns;    /* names, with commas between them; NULL: all */
    const char *base;       /* directory that relative paths count from, or NULL */
};

/* Reads the attributes for all files that are in files->members. A sample with a member that is missing or cannot be
 * used, becomes unusable itself: its file gets a fault. BL_EUSAGE: no input is a member of a tar; columns that are
 * missing, too many, of two members, or whose names a table of sequences cannot have. BL_EFAIL: the system fails.
 * BL_ECANCEL. */
int bl_member_attributes_open(struct bl_attributes **attributes, const struct bl_member_attributes *source,
                              struct bl_files *files, const struct bl_cancel *cancel, struct bl_error *e);

#endif
