/* Splits text into words, each of which is merged alone.
 *
 * A tokenizer gives its rule as a regular expression. The expressions of the known models are recognised, and a
 * scanner in C finds the same words many times as fast: "Hello world's 42" by GPT-2 is "Hello", " world", "'s", "
 * 42". The sections are the known grammars, splitting by them, and a faster way for ASCII text. */
#ifndef BL_GRAMMAR_H
#define BL_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- grammars ----------------------------------------------------------------------------------------------------- */

/* The expressions of the known models are recognised by their text. Their scanners (bl_grammar_split) use the
 * character classes of unicode.h. Text that an expression does not match is a word, too, up to the next match. */

enum bl_grammar {
    BL_GRAMMAR_NONE,       /* unknown */
    BL_GRAMMAR_WHOLE,      /* the whole text is one word */
    BL_GRAMMAR_GPT2,       /* GPT-2, r50k, GPT-NeoX */
    BL_GRAMMAR_LLAMA3,     /* Llama-3; cl100k as others write it */
    BL_GRAMMAR_CL100K,     /* cl100k as tiktoken writes it; differs in white space at the end of the text */
    BL_GRAMMAR_QWEN,       /* Llama-3 with single digits */
    BL_GRAMMAR_O200K,      /* o200k */
    BL_GRAMMAR_TEKKEN,     /* o200k with single digits, and without contractions */
    BL_GRAMMAR_QWEN35,     /* Qwen 3.5: Qwen with marks (\p{M}) as letters */
    BL_GRAMMAR_DIGITS,     /* Digits: each number character of Unicode 17 alone, and the text between */
    BL_GRAMMAR_DIGIT_RUNS, /* runs of these characters, and the text between */
    /* The expressions from here on do not match all of a text. */
    BL_GRAMMAR_NUMBERS,        /* up to three number characters (\p{N}), and the text between */
    BL_GRAMMAR_IDEOGRAPHS,     /* runs of Chinese characters and kana, and the text between */
    BL_GRAMMAR_DEEPSEEK_WORDS, /* third step of DeepSeek-V3: all other words */
    BL_GRAMMAR_DEEPSEEK_HEAD,  /* its first two steps, numbers and ideographs, in one pass */
    BL_GRAMMAR_DEEPSEEK,       /* its three steps in one pass */
};

/* Returns the grammar of a regular expression, or BL_GRAMMAR_NONE if the expression is not known. gaps: text that
 * the expression does not match may be words, too; without gaps, only a grammar that matches all of any text is
 * returned. */
enum bl_grammar bl_grammar_find(const char *pattern, size_t size, bool gaps);

/* Returns the grammar that splits by the first grammar and then each word by the second, in one pass, or
 * BL_GRAMMAR_NONE if there is no such grammar. */
enum bl_grammar bl_grammar_join(enum bl_grammar first, enum bl_grammar second);

/* --- splitting ---------------------------------------------------------------------------------------------------- */

/* The words of a known grammar are consecutive: together they are the text. They are the words of its regular
 * expression. */

/* Splits text[*at, size), valid UTF-8, into at most max words. Sets end[i] to the byte offset in text at which word
 * i ends, advances *at to the end of the last word and returns the number of words. Words depend on all of the text
 * from *at on, never on the text before, so a text may be split in several calls. */
size_t bl_grammar_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max);

/* --- ASCII words -------------------------------------------------------------------------------------------------- */

/* The words of ASCII text are found 64 bytes at a time, by arithmetic on masks with a bit for each byte: the same
 * words as those of bl_grammar_split's scanners, several times as fast. */

#define BL_ASCII_WORDS 64 /* most words of one call of bl_ascii_split: one for each byte */

/* Returns true if bl_ascii_split supports this grammar on this processor. */
bool bl_ascii_knows(enum bl_grammar grammar);

/* Finds those words in the first 64 bytes of text, which begins with a word, whose ends do not depend on the bytes
 * behind the 64. Sets end[i] to the offset in text at which word i ends; end has room for BL_ASCII_WORDS. Returns
 * the number of words, or 0 if the 64 bytes do not decide. bl_ascii_knows must be true for the grammar. */
size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end);

#endif
