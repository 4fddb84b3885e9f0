/* The options of text, and what is made of them. */
#ifndef BL_TEXT_OPTIONS_H
#define BL_TEXT_OPTIONS_H

#include "base/option.h"
#include "kind/text/config.h"

extern const struct bl_option bl_text_options[];

/* As in struct bl_kind. */
int bl_text_check(const void *config, struct bl_error *e);
int bl_text_prepare(void *config, struct bl_error *e);
void bl_text_release(void *config);

/* What a file is, by its name unless the options say it. */
enum bl_text_format bl_text_format_of(const struct bl_text_config *config, const char *path);

/* The options that decide lengths, in canonical form. */
void bl_text_sampling(const struct bl_text_config *config, struct bl_buffer *out);

#endif
