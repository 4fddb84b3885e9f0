/* The options of the text kind, and what is made of them once. */
#ifndef BL_KIND_TEXT_OPTIONS_H
#define BL_KIND_TEXT_OPTIONS_H

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "kind/text/config.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* The keys of JSON lines that the options name: of the text, of kept columns and of fields. */

/* Adds the columns that are wanted (struct bl_kind_scan). */
int bl_text_keys_want(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e);

/* --- options ------------------------------------------------------------------------------------------------------ */

extern const struct bl_option bl_text_options[];

/* As in struct bl_kind. */
int bl_text_check(const void *config, struct bl_error *e);
int bl_text_prepare(void *config, struct bl_buffer *warning, struct bl_error *e);
void bl_text_release(void *config);

/* The format of a file: that of the options, or by its name. */
enum bl_text_format bl_text_format_of(const struct bl_text_config *config, const char *path);

/* Appends the options that lengths depend on, in canonical form. */
void bl_text_sampling(const struct bl_text_config *config, struct bl_buffer *out);

#endif
