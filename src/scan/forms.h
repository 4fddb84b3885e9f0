/* Forms: type and shape of a step, of kinds that do not define them. The first row's form is that of all; rows of
 * another form are skipped. Rows must come in their order: at the end of a scan, or in the merge of many. */
#ifndef BL_FORMS_H
#define BL_FORMS_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"

/* Initialised to {0}. */
struct bl_forms {
    char *form, *id; /* of the first row; NULL: none yet */
};

/* Compares the form of the next row in order. Where it differs from the first, the row becomes skipped. text: holds the
 * reason. */
int bl_forms_check(struct bl_forms *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                   struct bl_error *e);
void bl_forms_free(struct bl_forms *forms);

#endif
