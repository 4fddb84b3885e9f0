/* Attributes out of members of tars: which members are sequences, and which columns the other members give. */
#ifndef BL_MEMBER_ATTRIBUTES_H
#define BL_MEMBER_ATTRIBUTES_H

#include <stdbool.h>

#include "base/option.h"
#include "kind/kind.h"
#include "scan/attributes.h"
#include "scan/files.h"
#include "scan/samples.h"

/* --- choice of members -------------------------------------------------------------------------------------------- */

/* Which members of samples are sequences, by their extensions: those that --member names, or those of one kind. */

struct bl_member_choice {
    const struct bl_tar_members *members;
    const struct bl_kind **kind; /* [extensions]: of those that sequences have; NULL: the others */
    bool *kept;                  /* [extensions]: others will ask for them */
};

/* Chooses among the extensions of the members. named: those of sequences, with commas between, or NULL; wanted: the
 * kind of sequences, or NULL; kept: lists as named, or NULL. To be freed also after a failure.
 *
 * BL_EUSAGE: an extension that no member has, or of no known kind; members of several kinds; none of any. */
int bl_member_choice_make(struct bl_member_choice *choice, const struct bl_tar_members *members, const char *named,
                          const struct bl_kind *wanted, const struct bl_texts *kept, struct bl_error *e);

/* Appends "mp4, webm": the extensions that sequences have, or all. */
void bl_member_choice_print(const struct bl_member_choice *choice, bool all, struct bl_buffer *out);
void bl_member_choice_free(struct bl_member_choice *choice);

/* --- attributes out of members ------------------------------------------------------------------------------------ */

/* What is beside the sequences in a tar, as columns. */

struct bl_member_attributes {
    const char *extensions; /* of the members: "json,cls". Of .json, each key of its object is a column; of others, the
                               text is one, named like the extension, without white space around it */
    const char *columns;    /* names, with commas between them; NULL: all */
    const char *base;       /* directory that relative paths count from, or NULL */
};

/* Reads the attributes for all files that are in files->members. A sample that lacks one, or has one that cannot be
 * used, becomes unusable itself: its file gets a fault. BL_EUSAGE: no input is a member of a tar; columns that are
 * missing, too many, of two members, or whose names a table of sequences cannot have. BL_EFAIL: the system fails.
 * BL_ECANCEL. */
int bl_member_attributes_open(struct bl_attributes **attributes, const struct bl_member_attributes *source,
                              struct bl_files *files, const struct bl_cancel *cancel, struct bl_error *e);

#endif
