/* The normalizer that SentencePiece compiles into its models ("precompiled_charsmap"): texts of a few characters and
 * what they become.
 *
 * The map is a trie of bytes in one array, as the Darts library writes it, and after it the texts that it leads to,
 * each ended by a zero byte. */
#ifndef BL_PRECOMPILED_H
#define BL_PRECOMPILED_H

#include <stddef.h>

#include "base/buffer.h"

struct bl_precompiled; /* many threads share it */

/* Opens a map, which is copied. BL_EFAIL: it is damaged. */
int bl_precompiled_open(struct bl_precompiled **map, const void *data, size_t size, struct bl_error *e);
void bl_precompiled_close(struct bl_precompiled *map);

/* Normalises a text (valid UTF-8) as `tokenizers` does: grapheme clusters of up to 5 bytes are replaced by what their
 * shortest prefix in the map becomes; of longer ones, each character. Appends to out up to the last change; *copied is
 * where the text goes on that is still to be appended. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_precompiled_apply(const struct bl_precompiled *map, const char *text, size_t size, size_t *copied,
                         struct bl_buffer *out);

/* What the longest text in the map that this one begins with becomes, and its size; NULL: there is none. */
const char *bl_precompiled_longest(const struct bl_precompiled *map, const char *text, size_t size, size_t *taken);

/* Whether a text in the map begins with this byte. */
bool bl_precompiled_begins(const struct bl_precompiled *map, uint8_t byte);

#endif
