/* Makes one kind of the parts of a composite: its tables of functions, and how it counts. Counting makes a row from
 * that of the primary, and adds what the companions' files hold. */
#ifndef BL_COMPOSITE_KIND_H
#define BL_COMPOSITE_KIND_H

#include "kind/composite/composite.h"

/* --- counting a companion ----------------------------------------------------------------------------------------- */

/* The sequence for which a companion is counted, and the companion. */
struct bl_companion_counting {
    const struct bl_composite *composite;
    int part;
    const struct bl_kind_env *env;
    struct bl_counter *counter; /* of the part, or NULL */
    const char *id, *name;      /* of the sequence: its id, and the path of its file in the table */
    const struct bl_row *followed;
};

/* The result: the first row of the companion's file, with copies of its texts. Initialize with {0}. */
struct bl_companion_found {
    int rows;
    bool is_missing; /* there is no such file */
    struct bl_row row;
    struct bl_buffer path; /* in the table */
    struct bl_buffer reason, extra, form;
};

/* Counts a companion: its clip, its file, or, without a path, the row that it follows. A file that cannot be used gives
 * a skipped row with the reason. BL_EFAIL: the system fails. Free found also after an error. */
int bl_companion_count(const struct bl_companion_counting *counting, struct bl_companion_found *found,
                       struct bl_error *e);
void bl_companion_found_free(struct bl_companion_found *found);

/* --- the kind ----------------------------------------------------------------------------------------------------- */

/* Makes composite->kind of the parts, whose configs are prepared but for what they follow. BL_EUSAGE: kinds that do not
 * go together. */
int bl_composite_make(struct bl_composite *composite, struct bl_error *e);

#endif
