/* The tokenizer of a field of token ids: finding it in the manifest, and opening it to decode ids to text. */
#ifndef BL_FIELD_TOKENIZER_H
#define BL_FIELD_TOKENIZER_H

#include <stdbool.h>

#include "base/error.h"
#include "kind/text/detokenizer.h"
#include "store/manifest.h"

/* Returns true if the field holds the token ids of documents, made by any tokenizer. Returns false for fields that
 * accompany the ids, such as loss masks. */
bool bl_field_tokenizer_has_ids(const struct bl_manifest *manifest, int field);

/* Returns true if the field holds ids of the tokenizer "bytes", which needs no file. */
bool bl_field_tokenizer_is_bytes(const struct bl_manifest *manifest, int field);

/* Opens a tokenizer to decode the ids of a field. path: the file of the tokenizer; NULL: the tokenizer is "bytes".
 * BL_EUSAGE: the field holds no ids of a tokenizer, or the digest of this one is not the recorded digest. */
int bl_field_tokenizer_open(const struct bl_manifest *manifest, int field, const char *path,
                            struct bl_detokenizer **detokenizer, struct bl_error *e);

#endif
