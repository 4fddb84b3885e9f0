/* The options of text, and what is made of them. */
#ifndef BL_TEXT_OPTIONS_H
#define BL_TEXT_OPTIONS_H

#include "kind/text/text.h"

extern const struct bl_option bl_text_options[];

/* As in struct bl_kind. */
int bl_text_check(const void *config, struct bl_error *e);
int bl_text_prepare(void *config, struct bl_error *e);
void bl_text_release(void *config);

#endif
