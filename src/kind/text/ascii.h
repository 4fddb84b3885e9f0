/* Words of ASCII, 64 bytes at a time: where the known grammars begin a word is told by arithmetic on masks, of which
 * each has a bit for each byte. It gives the words of grammar.h's scanners, several times as fast. */
#ifndef BL_ASCII_H
#define BL_ASCII_H

#include "kind/text/grammar.h"

#define BL_ASCII_WORDS 64 /* at most so many at once */

/* The words that text, where a word begins, has in its first 64 bytes and that certainly end there whatever follows
 * them. end[i] is where word i ends, from text on. Returns how many; 0: it cannot tell. */
size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end);

#endif
