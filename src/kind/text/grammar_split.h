/* Splitting text into the words of a known grammar: consecutive words, which are those of its regular expression and
 * together are the text. */
#ifndef BL_GRAMMAR_SPLIT_H
#define BL_GRAMMAR_SPLIT_H

#include "kind/text/grammar.h"

/* Splits text[*at, size) into at most max words, from *at on; end[i] is where word i ends. Returns how many, and
 * advances *at to the end of the last one. Words depend on all the text from at on, never on what was before. */
size_t bl_grammar_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max);

#endif
