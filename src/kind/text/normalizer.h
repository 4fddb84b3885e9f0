/* A step of normalisation: a normal form of Unicode, or BERT's normalizer. */
#ifndef BL_NORMALIZER_H
#define BL_NORMALIZER_H

#include "kind/text/bert.h"
#include "kind/text/normal_form.h"

struct bl_normalizer {
    bool is_bert;
    enum bl_normal_form form;
    struct bl_bert_options bert;
};

/* Replaces *text with its normal form, which is in out unless the text does not change. */
int bl_normalizer_apply(const struct bl_normalizer *normalizer, const char **text, size_t *size, struct bl_buffer *out,
                        struct bl_error *e);

#endif
