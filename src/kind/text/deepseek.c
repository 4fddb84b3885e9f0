/* A step of the pre-tokenizer that would have split the text before is a limit for the steps after it: what all three
 * steps do is done word by word, without looking ahead. */
#include "kind/text/deepseek.h"

#include <stdbool.h>

#include "kind/text/skip.h"

/* Past three numbers at most. */
static inline const uint8_t *numbers_skip(const uint8_t *p, const uint8_t *end)
{
    size_t bytes;
    for (int i = 0; i < 3 && p < end && (bl_character_class(p, end, &bytes) & BL_NUMBER); i++)
        p += bytes;
    return p;
}

/* DeepSeek's Chinese characters and kana: U+4E00 to U+9FA5, U+3040 to U+30FF. */
static inline bool ideograph_is(const uint8_t *p, size_t bytes)
{
    if (bytes != 3)
        return false;
    uint32_t c = (uint32_t)(*p & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

/* The class of the character at p, or STOP: the text ends here for DeepSeek's words, or would have been split. steps:
 * the STOPs among BL_NUMBER and IDEOGRAPH; with INSIDE it is what is no ideograph. */
#define STOP 0x100
#define IDEOGRAPH 0x200
#define INSIDE 0x400

static inline unsigned deepseek_class(const uint8_t *p, const uint8_t *end, unsigned steps, size_t *bytes)
{
    *bytes = 0;
    if (p == end)
        return STOP;
    unsigned class = bl_character_class(p, end, bytes);
    if (steps & IDEOGRAPH && ideograph_is(p, *bytes) != ((steps & INSIDE) != 0))
        return STOP | IDEOGRAPH;
    return class & steps ? STOP | BL_NUMBER : class;
}

static inline const uint8_t *deepseek_skip(const uint8_t *p, const uint8_t *end, unsigned steps, unsigned classes)
{
    size_t bytes;
    while (deepseek_class(p, end, steps, &bytes) & classes)
        p += bytes;
    return p;
}

/* The steps that split off numbers and ideographs: one of them, or the text up to the next one. */
static inline const uint8_t *deepseek_next_head(const uint8_t *p, const uint8_t *end, unsigned steps)
{
    size_t bytes;
    unsigned class = deepseek_class(p, end, steps, &bytes);
    if (class & IDEOGRAPH)
        return deepseek_skip(p, end, steps, IDEOGRAPH);
    if (class & STOP)
        return numbers_skip(p, end);
    while (!(deepseek_class(p, end, steps, &bytes) & STOP))
        p += bytes;
    return p;
}

#define SIGN (BL_PUNCTUATION | BL_SYMBOL)
#define WORD (BL_LETTER | BL_MARK)

static inline bool ascii_is_letter(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

/* Past characters that no part of the pattern matches, at the first of them. */
static inline const uint8_t *deepseek_skip_gap(const uint8_t *p, const uint8_t *end, unsigned steps)
{
    size_t bytes, next;
    for (deepseek_class(p, end, steps, &bytes);;) {
        p += bytes;
        if (deepseek_class(p, end, steps, &bytes) & (STOP | WORD | SIGN | BL_SPACE) ||
            deepseek_class(p + bytes, end, steps, &next) & WORD)
            return p;
    }
}

static inline const uint8_t *deepseek_next_word(const uint8_t *p, const uint8_t *end, unsigned steps)
{
    size_t bytes, next;
    unsigned class = deepseek_class(p, end, steps, &bytes);
    if (*p < 0x80 && class & SIGN && p + 1 < end && ascii_is_letter(p[1])) {
        for (p++; p < end && ascii_is_letter(*p);)
            p++;
        return p;
    }
    bool prefix = !(class & (BL_LETTER | SIGN)) && *p != '\r' && *p != '\n';
    if (prefix && deepseek_class(p + bytes, end, steps, &next) & WORD)
        return deepseek_skip(p + bytes + next, end, steps, WORD);
    if (class & WORD)
        return deepseek_skip(p + bytes, end, steps, WORD);
    const uint8_t *sign = p + (*p == ' ');
    if (deepseek_class(sign, end, steps, &next) & SIGN) {
        sign = deepseek_skip(sign + next, end, steps, SIGN);
        return steps & INSIDE ? sign : bl_skip_breaks(sign, end, false);
    }
    if (!(class & BL_SPACE))
        return deepseek_skip_gap(p, end, steps);
    sign = deepseek_skip(p, end, steps, BL_SPACE);
    return bl_skip_lines(p, deepseek_class(sign, end, steps, &next) & STOP ? sign : end, false);
}

static const uint8_t *deepseek_next(const uint8_t *p, const uint8_t *end)
{
    const unsigned steps = BL_NUMBER | IDEOGRAPH;
    size_t bytes;
    unsigned class = deepseek_class(p, end, steps, &bytes);
    if (class & IDEOGRAPH) /* the third step divides them, too: signs are among the kana */
        return deepseek_next_word(p, end, IDEOGRAPH | INSIDE);
    return class & STOP ? numbers_skip(p, end) : deepseek_next_word(p, end, steps);
}

const uint8_t *bl_deepseek_next(enum bl_grammar grammar, const uint8_t *p, const uint8_t *end)
{
    switch (grammar) {
    case BL_GRAMMAR_NUMBERS:
        return deepseek_next_head(p, end, BL_NUMBER);
    case BL_GRAMMAR_IDEOGRAPHS:
        return deepseek_next_head(p, end, IDEOGRAPH);
    case BL_GRAMMAR_DEEPSEEK_HEAD:
        return deepseek_next_head(p, end, BL_NUMBER | IDEOGRAPH);
    case BL_GRAMMAR_DEEPSEEK_WORDS:
        return deepseek_next_word(p, end, 0);
    default:
        return deepseek_next(p, end);
    }
}
