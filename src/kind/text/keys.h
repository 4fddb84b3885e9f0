/* The keys of JSON lines that the options name: of the text, of kept columns and of fields. */
#ifndef BL_TEXT_KEYS_H
#define BL_TEXT_KEYS_H

#include "base/error.h"
#include "kind/kind.h"
#include "kind/text/config.h"

/* Parses --key, --join, --keep and --field into p. BL_EUSAGE: one is wrong. */
int bl_text_keys_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e);

/* Adds the columns that are wanted (struct bl_kind_scan). */
int bl_text_keys_want(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e);

/* The name of kept number i; NULL: there are not so many. */
const char *bl_text_number(const struct bl_text_prepared *prepared, int i);

#endif
