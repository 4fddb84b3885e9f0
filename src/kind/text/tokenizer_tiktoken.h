/* What is known of tokenizers beside their files: the pattern and the special tokens of the published .tiktoken files,
 * and the folders in which other programs keep the files that they have downloaded. */
#ifndef BL_TOKENIZER_TIKTOKEN_H
#define BL_TOKENIZER_TIKTOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/grammar.h"
#include "kind/text/vocabulary.h"

/* --- encodings ---------------------------------------------------------------------------------------------------- */

/* Encodings: the patterns and special tokens of the published .tiktoken files, which hold the ranks alone. The pattern
 * and the special tokens are those of tiktoken 0.14 (r50k to o200k), openai-whisper, llama-models (Llama 3 and 4) and
 * Qwen. */

/* Special tokens with ids that follow each other: begin, a number from first on, end. */
struct bl_specials {
    const char *begin, *end; /* end NULL: one token, the text begin */
    int32_t id;
    int32_t count, first;
};

struct bl_tiktoken_encoding {
    const char *name; /* of --pattern */
    enum bl_grammar grammar;
    bool nfc;        /* its package normalises text first */
    uint64_t digest; /* of its ranks */
    const struct bl_specials *specials;
};

/* --- model cache -------------------------------------------------------------------------------------------------- */

/* What the programs of Hugging Face and tiktoken keep of their downloads. It is only read: nothing here goes to the
 * network. */

/* Sets path to the folder of a repository ("gpt2", "meta-llama/Llama-3.1-8B") at the revision main, or otherwise to the
 * file of one of tiktoken's encodings ("o200k_base"). *found false: it is not there, or there is no such name.
 * Repositories are in HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub, encodings
 * in TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR or TMPDIR/data-gym-cache: the first variable that is set counts. BL_EFAIL:
 * the system fails. */
int bl_model_cache_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e);

#endif
