/* One step of normalisation: a normal form of Unicode, or what BERT does. */
#ifndef BL_NORMALIZER_H
#define BL_NORMALIZER_H

#include "kind/text/bert.h"
#include "kind/text/normal_form.h"

struct bl_normalizer {
    bool is_bert;
    enum bl_normal_form form;
    struct bl_bert_options bert;
};

/* Replaces *text by its normal form, which lies in out where it is not the text itself. */
int bl_normalizer_apply(const struct bl_normalizer *normalizer, const char **text, size_t *size, struct bl_buffer *out,
                        struct bl_error *e);

#endif
