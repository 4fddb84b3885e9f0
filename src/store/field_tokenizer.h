/* The tokenizer that made a field's ids: what the manifest says of it, and the way back to text. */
#ifndef BL_FIELD_TOKENIZER_H
#define BL_FIELD_TOKENIZER_H

#include <stdbool.h>

#include "base/error.h"
#include "kind/text/detokenizer.h"
#include "store/manifest.h"

/* Whether the field has the ids of documents, whoever made them, and not what goes with each id. */
bool bl_field_tokenizer_has_ids(const struct bl_manifest *manifest, int field);

/* Whether the field has the ids of the tokenizer "bytes", for which no file is needed. */
bool bl_field_tokenizer_is_bytes(const struct bl_manifest *manifest, int field);

/* path: of the tokenizer; NULL: bytes. BL_EUSAGE: the field has no ids of a tokenizer, or this is not the one that made
 * them, by its digest. */
int bl_field_tokenizer_open(const struct bl_manifest *manifest, int field, const char *path,
                            struct bl_detokenizer **detokenizer, struct bl_error *e);

#endif
