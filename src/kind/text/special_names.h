/* The names of a model's special tokens, which tokenizer_config.json and special_tokens_map.json tell beside the
 * tokenizer: "eos_token": "</s>", or an object with its "content". */
#ifndef BL_SPECIAL_NAMES_H
#define BL_SPECIAL_NAMES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Sets name to the token that the key ("eos_token") names in these files, beside the file at path. *found false: there
 * are no such files, or they do not have it. BL_EFAIL: one cannot be read, or is not JSON. */
int bl_special_name_find(const char *path, const char *key, struct bl_buffer *name, bool *found, struct bl_error *e);

#endif
