/* Extended grapheme clusters (Unicode Standard Annex 29), by the version of Unicode that `tokenizers` has. */
#ifndef BL_GRAPHEME_H
#define BL_GRAPHEME_H

#include <stddef.h>

/* The bytes of the cluster that a text (valid UTF-8, not empty) begins with. */
size_t bl_grapheme_size(const char *text, size_t size);

#endif
