/* The scanners of DeepSeek-V3, whose pre-tokenizer has three steps: numbers, Chinese characters and kana, words. */
#ifndef BL_DEEPSEEK_H
#define BL_DEEPSEEK_H

#include <stdint.h>

#include "kind/text/grammar.h"

/* The end of the word at p < end by BL_GRAMMAR_NUMBERS, BL_GRAMMAR_IDEOGRAPHS or one of DeepSeek's grammars. */
const uint8_t *bl_deepseek_next(enum bl_grammar grammar, const uint8_t *p, const uint8_t *end);

#endif
