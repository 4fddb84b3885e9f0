/* Decodes token ids to text, as the released packages do, with special tokens by their names.
 *
 * Models join the texts of tokens in different ways:
 *
 *     byte-level         as they are
 *     SentencePiece      marks (U+2581) become spaces, pieces such as "<0x0A>" become bytes, and the space that the
 *                        tokenizer put before the text is left out
 *     WordPiece          a space between tokens, except before "##" and a few marks of punctuation (BERT's decoder)
 *     WordLevel          a space between all tokens
 *     end of a word      a space after each token that ends with the mark
 *
 * The changes of the tokenizer's normalizer, such as lower case, are not undone. */
#ifndef BL_DETOKENIZER_H
#define BL_DETOKENIZER_H

#include <stdint.h>

#include "base/buffer.h"
#include "kind/text/tokenizer.h"

struct bl_detokenizer;

/* Makes a detokenizer of a tokenizer, which may be closed afterwards. The caller closes the detokenizer. BL_EUSAGE:
 * the model does not determine how words are joined. BL_EFAIL: out of memory. */
int bl_detokenizer_open(struct bl_detokenizer **detokenizer, const struct bl_tokenizer *tokenizer, struct bl_error *e);
/* Frees a detokenizer; NULL is accepted. */
void bl_detokenizer_close(struct bl_detokenizer *detokenizer);

/* Appends the text of the next id to out. The text may end within a character of UTF-8, which the next ids complete.
 * BL_EDATA: the tokenizer has no text for this id. BL_EFAIL: out of memory. */
int bl_detokenizer_append(struct bl_detokenizer *detokenizer, int64_t id, struct bl_buffer *out, struct bl_error *e);

/* Begins another text with the next id: no space comes before it. */
void bl_detokenizer_restart(struct bl_detokenizer *detokenizer);

#endif
