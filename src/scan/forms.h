/* Forms: what a step of a kind looks like that has no form of its own. The first row's is that of all; rows of another
 * are skipped. Which is the first is known when rows are in order: at the end of a scan, or of many. */
#ifndef BL_FORMS_H
#define BL_FORMS_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"

/* Begins as {0}. */
struct bl_forms {
    char *form, *id; /* of the first row; NULL: none came */
};

/* The next row in order, whose steps are of this form. Where that is not the first one's, the row is skipped from then
 * on, with a reason, which lives in text. */
int bl_forms_check(struct bl_forms *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                   struct bl_error *e);
void bl_forms_free(struct bl_forms *forms);

#endif
