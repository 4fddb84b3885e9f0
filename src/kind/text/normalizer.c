#include "kind/text/normalizer.h"

int bl_normalizer_apply(const struct bl_normalizer *normalizer, const char **text, size_t *size, struct bl_buffer *out,
                        struct bl_error *e)
{
    /* Most text is in the form already, and is not copied. */
    size_t prefix = normalizer->is_bert ? 0 : bl_normal_form_prefix(normalizer->form, *text, *size);
    if (prefix == *size)
        return BL_OK;
    bl_buffer_clear(out);
    bl_buffer_append(out, *text, prefix);
    int code = normalizer->is_bert ? bl_bert_normalize(&normalizer->bert, *text, *size, out, e)
                                   : bl_normal_form_apply(normalizer->form, *text + prefix, *size - prefix, out);
    if (code || out->failed)
        return bl_error_memory(e);
    *text = out->data ? out->data : "";
    *size = out->size;
    return BL_OK;
}
