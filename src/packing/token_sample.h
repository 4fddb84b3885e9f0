/* Tokens of a few inputs, for the forecast of a run whose readers need the spool. A dry run makes no spool of all
 * inputs, which may be as large as the dataset. */
#ifndef BL_TOKEN_SAMPLE_H
#define BL_TOKEN_SAMPLE_H

#include "packing/internal.h"

/* A small dataset within a large one. */
struct bl_token_sample {
    char *folder; /* of its spool */
    struct bl_sequences table;
    struct bl_plan plan;
    struct bl_kind_env env;
    double seconds; /* that one thread took */
};

/* Counts parts of the inputs that lie as far from each other as their number allows, for some seconds at most, and
 * plans them. folder: a temporary one. The inputs are those of the request, listed. Free in any case. */
int bl_token_sample_take(struct bl_token_sample *sample, struct bl_packing *p, const char *folder, struct bl_error *e);
void bl_token_sample_free(struct bl_token_sample *sample);

#endif
