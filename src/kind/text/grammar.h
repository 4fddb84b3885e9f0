/* Grammars: how text is split into words, each of which is merged alone.
 *
 * Tokenizers give their grammar as a regular expression. The expressions of the known models are recognised by their
 * text and have scanners of their own (grammar_split.h), by the classes of unicode.h. */
#ifndef BL_GRAMMAR_H
#define BL_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

enum bl_grammar {
    BL_GRAMMAR_NONE,       /* unknown */
    BL_GRAMMAR_WHOLE,      /* all of it is one word */
    BL_GRAMMAR_GPT2,       /* GPT-2, r50k, GPT-NeoX */
    BL_GRAMMAR_LLAMA3,     /* Llama-3; cl100k as others write it */
    BL_GRAMMAR_CL100K,     /* cl100k as tiktoken writes it: differs for white space at the end of the text */
    BL_GRAMMAR_QWEN,       /* Llama-3 with single digits */
    BL_GRAMMAR_O200K,      /* o200k */
    BL_GRAMMAR_TEKKEN,     /* o200k with single digits, and without contractions */
    BL_GRAMMAR_DIGITS,     /* each number character (\p{N}) alone, and the text between them */
    BL_GRAMMAR_DIGIT_RUNS, /* runs of number characters, and the text between them */
};

/* The grammar of a regular expression, or BL_GRAMMAR_NONE. */
enum bl_grammar bl_grammar_find(const char *pattern, size_t size);

#endif
