/* The options of the text kind, and the values that are made of them once, before a scan.
 *
 * struct bl_text_config has the options as the user wrote them, such as "text,meta.title" for --key. bl_text_prepare
 * parses them into config->prepared: keys, the tokenizer, ids of marks, fields. All workers then share the result,
 * which does not change. */
#ifndef BL_KIND_TEXT_OPTIONS_H
#define BL_KIND_TEXT_OPTIONS_H

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "kind/text/config.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* The keys that the options name: of the text (--key), of kept columns (--keep) and of fields (--field). */

/* Adds the columns that subsets need to config->prepared (struct bl_kind_scan). BL_EUSAGE: a column cannot be had from
 * these inputs, or its name is taken. */
int bl_text_keys_want(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e);

/* Remembers a key whose values are kept whole (struct bl_kind_scan). */
void bl_text_take_key(void *config, const struct bl_kind_key *key);

/* --- options ------------------------------------------------------------------------------------------------------ */

/* The options of the kind, which an entry of {0} ends. */
extern const struct bl_option bl_text_options[];

/* Functions of struct bl_kind. bl_text_check compares options with each other and reads no file. bl_text_prepare opens
 * the tokenizer and appends its warning to *warning. Both return BL_EUSAGE for wrong options. bl_text_release frees
 * what bl_text_prepare made, also after an error. */
int bl_text_check(const void *config, struct bl_error *e);
int bl_text_prepare(void *config, struct bl_buffer *warning, struct bl_error *e);
void bl_text_release(void *config);

/* Returns the format of a file: that of --format, or the one that its name says, also before .gz or .zst. Unknown names
 * mean plain text. */
enum bl_text_format bl_text_format_of(const struct bl_text_config *config, const char *path);

/* Appends the options on which lengths depend, in canonical form, for the column "sampling" of the table, for example
 * "tokenizer=0123456789abcdef key=body eos". */
void bl_text_sampling(const void *config, struct bl_buffer *out);

#endif
