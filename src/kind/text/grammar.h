/* Grammars: how text is split into words, each of which is merged alone. The sections are the known grammars, their
 * scanners, and a faster way for text of ASCII. */
#ifndef BL_GRAMMAR_H
#define BL_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- grammars ----------------------------------------------------------------------------------------------------- */

/* Tokenizers give their grammar as a regular expression. The expressions of the known models are recognised by their
 * text and have scanners of their own (bl_grammar_split), by the classes of unicode.h. What an expression does not
 * match is a word, too, as far as the next match. */

enum bl_grammar {
    BL_GRAMMAR_NONE,       /* unknown */
    BL_GRAMMAR_WHOLE,      /* all of it is one word */
    BL_GRAMMAR_GPT2,       /* GPT-2, r50k, GPT-NeoX */
    BL_GRAMMAR_LLAMA3,     /* Llama-3; cl100k as others write it */
    BL_GRAMMAR_CL100K,     /* cl100k as tiktoken writes it: differs for white space at the end of the text */
    BL_GRAMMAR_QWEN,       /* Llama-3 with single digits */
    BL_GRAMMAR_O200K,      /* o200k */
    BL_GRAMMAR_TEKKEN,     /* o200k with single digits, and without contractions */
    BL_GRAMMAR_QWEN35,     /* Qwen with marks as letters: Qwen 3.5 */
    BL_GRAMMAR_DIGITS,     /* each number character alone, and the text between them: Digits, by Unicode 17 */
    BL_GRAMMAR_DIGIT_RUNS, /* runs of them, and the text between them */
    /* These do not match all of a text. */
    BL_GRAMMAR_NUMBERS,        /* as many as three number characters (\p{N}), and the text between them */
    BL_GRAMMAR_IDEOGRAPHS,     /* runs of Chinese characters and kana, and the text between them */
    BL_GRAMMAR_DEEPSEEK_WORDS, /* DeepSeek-V3's third step: what is neither */
    BL_GRAMMAR_DEEPSEEK_HEAD,  /* its first two steps at once */
    BL_GRAMMAR_DEEPSEEK,       /* all three at once */
};

/* The grammar of a regular expression, or BL_GRAMMAR_NONE. gaps: what the expression does not match may be words, too;
 * otherwise only a grammar is found that matches all of any text. */
enum bl_grammar bl_grammar_find(const char *pattern, size_t size, bool gaps);

/* Returns the grammar that splits by the first grammar and then each word by the second, in one pass, or
 * BL_GRAMMAR_NONE if there is no such grammar. */
enum bl_grammar bl_grammar_join(enum bl_grammar first, enum bl_grammar second);

/* --- splitting ---------------------------------------------------------------------------------------------------- */

/* Splitting text into the words of a known grammar: consecutive words, which are those of its regular expression and
 * together are the text. */

/* Splits text[*at, size) into at most max words. Sets end[i] to the byte offset in text where word i ends, advances *at
 * to the end of the last word and returns the number of words. Words depend on all the text from at on, never on what
 * was before. */
size_t bl_grammar_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max);

/* --- ASCII words -------------------------------------------------------------------------------------------------- */

/* Words of ASCII text, 64 bytes at a time, by arithmetic on masks with a bit for each byte. The words are those of the
 * scanners of bl_grammar_split, found several times as fast. */

#define BL_ASCII_WORDS 64 /* at most so many at once */

/* Returns true if bl_ascii_split supports this grammar on this processor. */
bool bl_ascii_knows(enum bl_grammar grammar);

/* Finds the words in the first 64 bytes of text, which begins with a word, that end there whatever follows. end[i] is
 * the offset in text at which word i ends. Returns their number, or 0 if the 64 bytes
 * do not decide. bl_ascii_knows must be true for the grammar. */
size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end);

#endif
