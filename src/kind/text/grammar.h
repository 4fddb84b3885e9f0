/* Grammars: how text falls into words, each of which is merged by itself.
 *
 * Tokenizers give their grammar as a regular expression. Those that the known models use are recognised by their text
 * and scanned by hand, on the classes of unicode.h; the words are those of the regular expression, one after the other,
 * and together they are the text. */
#ifndef BL_GRAMMAR_H
#define BL_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

enum bl_grammar {
    BL_GRAMMAR_NONE,       /* not a known one */
    BL_GRAMMAR_WHOLE,      /* all of it is one word */
    BL_GRAMMAR_GPT2,       /* GPT-2, r50k, GPT-NeoX */
    BL_GRAMMAR_LLAMA3,     /* Llama-3; cl100k as others write it */
    BL_GRAMMAR_CL100K,     /* cl100k as tiktoken writes it: the same but for blank space at the end of the text */
    BL_GRAMMAR_QWEN,       /* Llama-3 with single digits */
    BL_GRAMMAR_O200K,      /* o200k */
    BL_GRAMMAR_DIGITS,     /* every number (\p{N}) by itself, what is between them together */
    BL_GRAMMAR_DIGIT_RUNS, /* runs of numbers, what is between them together */
};

/* The grammar of a regular expression, or BL_GRAMMAR_NONE. */
enum bl_grammar bl_grammar_find(const char *pattern, size_t size);

#endif
