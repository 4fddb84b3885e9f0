/* Which members of samples are sequences, by their extensions: those that --member names, or those of one kind. */
#ifndef BL_MEMBER_CHOICE_H
#define BL_MEMBER_CHOICE_H

#include <stdbool.h>

#include "base/option.h"
#include "kind/kind.h"
#include "scan/tar_members.h"

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

#endif
