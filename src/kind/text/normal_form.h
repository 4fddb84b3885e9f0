/* Normal forms of Unicode (Unicode Standard Annex 15), as in the released `tokenizers` package: by Unicode 9, so that
 * later code points do not change; and NFC by Unicode 16, as other engines have it. */
#ifndef BL_NORMAL_FORM_H
#define BL_NORMAL_FORM_H

#include <stddef.h>

#include "base/buffer.h"

/* --- normal form -------------------------------------------------------------------------------------------------- */

enum bl_normal_form { BL_NFC, BL_NFD, BL_NFKC, BL_NFKD, BL_NFC_16 };

/* Texts are valid UTF-8. */

/* The length of a prefix that is in the form already, whatever follows; size: all of the text is. Most text is, and
 * checking costs much less than normalising. The prefix may be shorter than possible. */
size_t bl_normal_form_prefix(enum bl_normal_form form, const char *text, size_t size);

/* Appends the text in the form. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_normal_form_apply(enum bl_normal_form form, const char *text, size_t size, struct bl_buffer *out);

/* --- grapheme ----------------------------------------------------------------------------------------------------- */

/* Extended grapheme clusters (Unicode Standard Annex 29), by the version of Unicode that `tokenizers` has. */

/* The bytes of the cluster that a text (valid UTF-8, not empty) begins with. */
size_t bl_grapheme_size(const char *text, size_t size);

#endif
