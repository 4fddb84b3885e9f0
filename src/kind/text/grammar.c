#include "kind/text/grammar.h"

#include <string.h>

enum bl_grammar bl_grammar_find(const char *pattern, size_t size, bool gaps)
{
    static const struct {
        enum bl_grammar grammar;
        const char *pattern;
    } known[] = {
        {BL_GRAMMAR_GPT2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"},
        {BL_GRAMMAR_GPT2, "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_LLAMA3, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
                            " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_LLAMA3, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|"
                            " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_CL100K, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+|"
                            " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
        {BL_GRAMMAR_QWEN, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                          " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_QWEN, "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}|"
                          " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_QWEN35, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                            " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_O200K, "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
                           "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                           "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
                           "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
                           "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_TEKKEN, "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
                            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
                            "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
        {BL_GRAMMAR_NUMBERS, "\\p{N}{1,3}"},
        {BL_GRAMMAR_IDEOGRAPHS, "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"},
        {BL_GRAMMAR_DEEPSEEK_WORDS, "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
                                    "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
                                    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].pattern) == size && !memcmp(known[i].pattern, pattern, size))
            return gaps || known[i].grammar < BL_GRAMMAR_NUMBERS ? known[i].grammar : BL_GRAMMAR_NONE;
    }
    return BL_GRAMMAR_NONE;
}

enum bl_grammar bl_grammar_join(enum bl_grammar first, enum bl_grammar second)
{
    if (first == BL_GRAMMAR_NUMBERS && second == BL_GRAMMAR_IDEOGRAPHS)
        return BL_GRAMMAR_DEEPSEEK_HEAD;
    if (first == BL_GRAMMAR_DEEPSEEK_HEAD && second == BL_GRAMMAR_DEEPSEEK_WORDS)
        return BL_GRAMMAR_DEEPSEEK;
    return BL_GRAMMAR_NONE;
}
