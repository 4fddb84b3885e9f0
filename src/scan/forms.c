#include "scan/forms.h"

#include <stdlib.h>
#include <string.h>

int bl_forms_check(struct bl_forms *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                   struct bl_error *e)
{
    if (!forms->form) {
        forms->form = strdup(form);
        forms->id = strdup(row->id);
        if (!forms->form || !forms->id)
            return bl_error_memory(e);
    }
    if (strcmp(forms->form, form) == 0)
        return BL_OK;
    bl_buffer_clear(text);
    bl_buffer_printf(text, "its steps are %s, those of the first (%s) %s", form, forms->id, forms->form);
    row->status = BL_ROW_SKIPPED;
    row->length = 0;
    row->reason = text->data;
    return bl_buffer_check(text, e);
}

void bl_forms_free(struct bl_forms *forms)
{
    free(forms->form);
    free(forms->id);
    *forms = (struct bl_forms){0};
}
