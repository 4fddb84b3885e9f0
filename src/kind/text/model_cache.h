/* What the programs of Hugging Face and tiktoken keep of their downloads. It is only read: nothing here goes to the
 * network. */
#ifndef BL_MODEL_CACHE_H
#define BL_MODEL_CACHE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Sets path to the folder of a repository ("gpt2", "meta-llama/Llama-3.1-8B") at the revision main, or else to the file
 * of one of tiktoken's encodings ("o200k_base"); *found false: it is not there, or is no such name. Repositories are
 * looked for in HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, encodings in
 * TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR or TMPDIR/data-gym-cache: the first that is set. BL_EFAIL: the system fails.
 */
int bl_model_cache_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e);

#endif
