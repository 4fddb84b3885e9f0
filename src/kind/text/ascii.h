/* Words of ASCII text, 64 bytes at a time, by arithmetic on masks with a bit for each byte. The words are those of the
 * scanners of grammar.h, found several times as fast. */
#ifndef BL_ASCII_H
#define BL_ASCII_H

#include "kind/text/grammar.h"

#define BL_ASCII_WORDS 64 /* at most so many at once */

/* Whether the words of a grammar can be found so, on this processor. */
bool bl_ascii_knows(enum bl_grammar grammar);

/* Finds the words in the first 64 bytes of text, which begins with a word, that end there whatever follows. end[i] is
 * the offset in text at which word i ends. Returns their number; 0: undecided. The
 * grammar is one of those. */
size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end);

#endif
