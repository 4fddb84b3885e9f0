/* The cache of models that Hugging Face's programs download to. It is only read: nothing here goes to the network. */
#ifndef BL_MODEL_CACHE_H
#define BL_MODEL_CACHE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Sets folder to that of the files of a repository ("gpt2", "meta-llama/Llama-3.1-8B"), at the revision main; *found
 * false: it is not in the cache, or is no name of a repository. The cache is HF_HUB_CACHE, HF_HOME/hub,
 * XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, the first that is set. BL_EFAIL: the system fails. */
int bl_model_cache_find(const char *name, struct bl_buffer *folder, bool *found, struct bl_error *e);

#endif
