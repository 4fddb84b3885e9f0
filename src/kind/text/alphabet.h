/* How a tokenizer's file writes the text of its tokens, and the bytes that they stand for in a word. */
#ifndef BL_ALPHABET_H
#define BL_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum bl_alphabet_kind {
    BL_ALPHABET_TEXT,  /* as it is */
    BL_ALPHABET_BYTES, /* byte-level: a character for each byte. 21-7E, A1-AC and AE-FF are written as the characters of
                          these numbers, the other bytes, in order, as U+0100 onwards */
    BL_ALPHABET_SPACES /* U+2581 for a space, which no token has */
};

/* The byte that ends a word, where its last token is written with a suffix ("</w>"): UTF-8 does not have it. */
#define BL_WORD_END 0xff

#define BL_SUFFIX_MAX 15 /* bytes */

struct bl_alphabet {
    enum bl_alphabet_kind kind;
    char suffix[BL_SUFFIX_MAX + 1]; /* of the last token of a word; "": none */
};

#define BL_METASPACE "\xe2\x96\x81" /* U+2581 */

/* Replaces the contents of out with the bytes of a token. False: its text is not in the alphabet, so that it never
 * occurs in a word. */
bool bl_alphabet_decode(const struct bl_alphabet *alphabet, const char *text, size_t size, struct bl_buffer *out);

/* Appends each byte of a text as the character of the byte-level alphabet. */
void bl_alphabet_append_bytes(const char *text, size_t size, struct bl_buffer *out);

#endif
