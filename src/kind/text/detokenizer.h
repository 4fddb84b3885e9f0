/* From token ids back to text, as the released packages decode: with special tokens, by their names.
 *
 * Byte-level tokens are joined as they are. Where words begin with a mark, marks become spaces, and the one that was
 * put before the text is left out; pieces of bytes become bytes. WordPiece's tokens get spaces between them, but not
 * before "##", and before few marks of punctuation, as in BERT's decoder; words of WordLevel get them all, and tokens
 * with the mark of the end of a word before the next one. What the tokenizer's normalizer changed stays changed. */
#ifndef BL_DETOKENIZER_H
#define BL_DETOKENIZER_H

#include <stdint.h>

#include "base/buffer.h"
#include "kind/text/tokenizer.h"

struct bl_detokenizer;

/* The tokenizer may be closed after it. BL_EUSAGE: its model does not tell how words are joined. */
int bl_detokenizer_open(struct bl_detokenizer **detokenizer, const struct bl_tokenizer *tokenizer, struct bl_error *e);
/* NULL is accepted. */
void bl_detokenizer_close(struct bl_detokenizer *detokenizer);

/* Appends the text of the next id, which may end within a character. BL_EDATA: it has none. */
int bl_detokenizer_append(struct bl_detokenizer *detokenizer, int64_t id, struct bl_buffer *out, struct bl_error *e);

/* The next id begins another text. */
void bl_detokenizer_restart(struct bl_detokenizer *detokenizer);

#endif
