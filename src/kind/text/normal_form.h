/* Normal forms of Unicode (Unicode Standard Annex 15), as the released `tokenizers` package makes them: by Unicode 9,
 * so that a code point which came later is taken for a character that nothing happens to. */
#ifndef BL_NORMAL_FORM_H
#define BL_NORMAL_FORM_H

#include <stddef.h>

#include "base/buffer.h"

enum bl_normal_form { BL_NFC, BL_NFD, BL_NFKC, BL_NFKD };

/* Texts are valid UTF-8. */

/* The length of a beginning that is in the form already and stays so whatever follows; size when all of the text is in
 * it. That is most text, at a small part of the cost of writing it anew. It may stop earlier than it must. */
size_t bl_normal_form_prefix(enum bl_normal_form form, const char *text, size_t size);

/* Appends the text in the form. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_normal_form_apply(enum bl_normal_form form, const char *text, size_t size, struct bl_buffer *out);

#endif
