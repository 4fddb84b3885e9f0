/* Scanners of the known grammars (grammar.h): each function finds the end of the word at a position.
 *
 * A scanner is the regular expression of its grammar by hand. It tries the alternatives in their order, decides by
 * the class of the first character or two, and then skips a run of a class. Text is valid UTF-8; p is the position,
 * end the end of the text, and p < end where a function does not say otherwise. */
#include "kind/text/grammar.h"

#include <string.h>

#include "kind/text/skip.h"

/* --- DeepSeek ----------------------------------------------------------------------------------------------------- */

/* DeepSeek-V3 splits in three steps: numbers, ideographs, then words in the rest. One pass gives the same words: a
 * character that an earlier step would have split off is treated as the end of the text. So all three steps work
 * word by word, without looking ahead. */

/* Returns the end of up to max number characters at p; p may be end. */
static inline const uint8_t *numbers_skip(const uint8_t *p, const uint8_t *end, int max)
{
    size_t bytes;
    for (int i = 0; i < max && p < end && (bl_character_class(p, end, &bytes) & BL_NUMBER); i++)
        p += bytes;
    return p;
}

/* Returns true if the character at p is an ideograph of DeepSeek: U+4E00 to U+9FA5 or U+3040 to U+30FF, which are
 * three bytes of UTF-8. */
static inline bool ideograph_is(const uint8_t *p, size_t bytes)
{
    if (bytes != 3)
        return false;
    uint32_t c = (uint32_t)(*p & 0xf) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}

/* Bits for deepseek_class, above the classes of unicode.h. STOP: the text ends here for DeepSeek's words. IDEOGRAPH:
 * at an ideograph, or a step that splits ideographs off. INSIDE, as a step: the text is a run of ideographs, so any
 * other character is its end. */
#define STOP 0x100
#define IDEOGRAPH 0x200
#define INSIDE 0x400

/* Returns the class of the character at p, which may be end, or STOP if the text ends or one of the steps
 * (BL_NUMBER, IDEOGRAPH, INSIDE) would have split it here; the result then names the step, except at the end. Sets
 * *bytes to the size of the character. */
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

/* Returns the first character from p on that has none of the classes, by deepseek_class. */
static inline const uint8_t *deepseek_skip(const uint8_t *p, const uint8_t *end, unsigned steps, unsigned classes)
{
    size_t bytes;
    while (deepseek_class(p, end, steps, &bytes) & classes)
        p += bytes;
    return p;
}

/* Returns the end of the word of the first two steps, of those in steps: a run of ideographs, up to three numbers,
 * or the text up to the next of these. */
static inline const uint8_t *deepseek_next_head(const uint8_t *p, const uint8_t *end, unsigned steps)
{
    size_t bytes;
    unsigned class = deepseek_class(p, end, steps, &bytes);
    if (class & IDEOGRAPH)
        return deepseek_skip(p, end, steps, IDEOGRAPH);
    if (class & STOP)
        return numbers_skip(p, end, 3);
    while (!(deepseek_class(p, end, steps, &bytes) & STOP))
        p += bytes;
    return p;
}

#define SIGN (BL_PUNCTUATION | BL_SYMBOL) /* [\p{P}\p{S}] */
#define WORD (BL_LETTER | BL_MARK)        /* [\p{L}\p{M}] */

/* Returns true for A-Z and a-z: bit 0x20 turns upper case into lower case. */
static inline bool ascii_is_letter(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

/* Returns the end of characters at p that no alternative of the pattern matches, such as control characters. The gap
 * ends where an alternative matches, which includes a character in front of letters, as their prefix. */
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

/* Returns the end of the word at p by the third step of DeepSeek (BL_GRAMMAR_DEEPSEEK_WORDS in bl_grammar_find),
 * whose alternatives are tried in order: a sign of ASCII and letters of ASCII; letters and marks, with one character
 * before them; signs with line breaks; white space. */
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
        /* A line break after a run of ideographs is not in the run. */
        return steps & INSIDE ? sign : bl_skip_breaks(sign, end, false);
    }
    if (!(class & BL_SPACE))
        return deepseek_skip_gap(p, end, steps);
    sign = deepseek_skip(p, end, steps, BL_SPACE);
    return bl_skip_lines(p, deepseek_class(sign, end, steps, &next) & STOP ? sign : end, false);
}

/* Returns the end of the word at p by all three steps. */
static const uint8_t *deepseek_next(const uint8_t *p, const uint8_t *end)
{
    const unsigned steps = BL_NUMBER | IDEOGRAPH;
    size_t bytes;
    unsigned class = deepseek_class(p, end, steps, &bytes);
    if (class & IDEOGRAPH) /* kana have signs, at which the third step divides a run */
        return deepseek_next_word(p, end, IDEOGRAPH | INSIDE);
    return class & STOP ? numbers_skip(p, end, 3) : deepseek_next_word(p, end, steps);
}

/* --- grammars ----------------------------------------------------------------------------------------------------- */

/* The table has each spelling of an expression that released tokenizers use: tiktoken, tokenizer.json files and
 * their converters write the same rule with or without possessive quantifiers. */
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

/* --- splitting ---------------------------------------------------------------------------------------------------- */

/* The scanners of GPT-2, Llama-3, cl100k, Qwen, o200k, Tekken and Digits, and the choice of a scanner. */

#define ALNUM (BL_LETTER | BL_NUMBER)
#define CASELESS (BL_MODIFIER | BL_MARK) /* classes in both the head and the tail of a word of o200k */
#define HEAD (BL_UPPER | CASELESS)       /* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] */
#define TAIL (BL_LOWER | CASELESS)       /* [\p{Ll}\p{Lm}\p{Lo}\p{M}] */

/* Returns the end of a contraction ('s 't 'm 'd 're 've 'll) at the apostrophe p, or NULL. */
static const uint8_t *contraction_skip(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    if (left < 2)
        return NULL;
    if (p[1] == 's' || p[1] == 't' || p[1] == 'm' || p[1] == 'd')
        return p + 2;
    if (left < 3)
        return NULL;
    if ((p[2] == 'e' && (p[1] == 'r' || p[1] == 'v')) || (p[1] == 'l' && p[2] == 'l'))
        return p + 3;
    return NULL;
}

/* Returns the end of a contraction in any case, or NULL. U+017F is an s in case-insensitive expressions. */
static const uint8_t *contraction_skip_caseless(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    if (left < 2)
        return NULL;
    if (left >= 3 && p[1] == 0xc5 && p[2] == 0xbf)
        return p + 3;
    /* A byte that bit 0x20 turns into one of these letters is this letter in upper case. */
    const uint8_t lower[3] = {*p, p[1] | 0x20, left < 3 ? 0 : p[2] | 0x20};
    const uint8_t *past = contraction_skip(lower, lower + (left < 3 ? 2 : 3));
    return past ? p + (past - lower) : NULL;
}

/* Returns the end of the word at p by GPT-2. */
static const uint8_t *gpt2_next(const uint8_t *p, const uint8_t *end)
{
    if (*p == '\'') {
        const uint8_t *contraction = contraction_skip(p, end);
        if (contraction)
            return contraction;
    }
    const uint8_t *word = p + (*p == ' ' && p + 1 < end);
    size_t bytes;
    unsigned class = bl_character_class(word, end, &bytes);
    if (class & BL_LETTER)
        return bl_skip_class(word + bytes, end, BL_LETTER);
    if (class & BL_NUMBER)
        return bl_skip_class(word + bytes, end, BL_NUMBER);
    if (!(class & BL_SPACE))
        return bl_skip_others(word + bytes, end, BL_SPACE | ALNUM);
    return bl_skip_space(p, end);
}

/* Returns the end of the word at p by those alternatives of Llama-3, cl100k, Qwen and o200k that come after the
 * words of letters: numbers of up to `digits` characters, signs with line breaks (slash: and slashes), white space.
 * class is that of the character at p. whole_at_end: white space at the end of the text is one word (\s++$). */
static inline const uint8_t *modern_next_rest(const uint8_t *p, const uint8_t *end, unsigned class, unsigned letters,
                                              int digits, bool whole_at_end, bool slash)
{
    const unsigned others = BL_SPACE | BL_NUMBER | letters;
    size_t bytes;
    if (class & BL_NUMBER)
        return numbers_skip(p, end, digits);
    const uint8_t *sign = p + (*p == ' ' && p + 1 < end);
    if (!(bl_character_class(sign, end, &bytes) & others))
        return bl_skip_breaks(bl_skip_others(sign + bytes, end, others), end, slash);
    return bl_skip_lines(p, end, whole_at_end);
}

/* Returns the end of the word at p by Llama-3, cl100k or Qwen. letters are the classes of letters; digits and
 * whole_at_end as in modern_next_rest. */
static inline const uint8_t *llama3_next(const uint8_t *p, const uint8_t *end, unsigned letters, int digits,
                                         bool whole_at_end)
{
    if (*p == '\'') {
        const uint8_t *contraction = contraction_skip_caseless(p, end);
        if (contraction)
            return contraction;
    }
    size_t bytes, next_bytes;
    unsigned class = bl_character_class(p, end, &bytes);
    if (class & letters)
        return bl_skip_class(p + bytes, end, letters);
    if (!(class & BL_NUMBER) && *p != '\r' && *p != '\n' && p + bytes < end &&
        (bl_character_class(p + bytes, end, &next_bytes) & letters))
        return bl_skip_class(p + bytes + next_bytes, end, letters);
    return modern_next_rest(p, end, class, letters, digits, whole_at_end, false);
}

/* Returns the end of the match of [HEAD]*[TAIL]+ at p, or NULL. Where no tail follows the head, the head gives back
 * characters up to its last one that is in TAIL, too. p may be end. */
static const uint8_t *cased_skip(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *caseless = NULL;
    size_t bytes;
    unsigned class = 0;
    while (p < end && ((class = bl_character_class(p, end, &bytes)) & HEAD)) {
        p += bytes;
        if (class & CASELESS)
            caseless = p;
    }
    return p < end && (class & TAIL) ? bl_skip_class(p, end, TAIL) : caseless;
}

/* Returns the end of the match of the two alternatives of o200k that have letters, without a contraction, or NULL.
 * The second alternative, [HEAD]+[TAIL]*, is tried only where the first has no match, so its tail is empty. */
static const uint8_t *o200k_skip_word(const uint8_t *p, const uint8_t *end, unsigned class, size_t bytes)
{
    bool prefix = !(class & ALNUM) && *p != '\r' && *p != '\n';
    const uint8_t *word = prefix ? cased_skip(p + bytes, end) : NULL;
    if (!word && (class & (HEAD | TAIL)))
        word = cased_skip(p, end);
    if (word)
        return word;
    const uint8_t *head = prefix ? p + bytes : p;
    word = bl_skip_class(head, end, HEAD);
    return word > head ? word : NULL;
}

/* Returns the end of the word at p by o200k or Tekken. digits: as in modern_next_rest; contractions: a contraction
 * belongs to the word before it. */
static inline const uint8_t *o200k_next(const uint8_t *p, const uint8_t *end, int digits, bool contractions)
{
    size_t bytes;
    unsigned class = bl_character_class(p, end, &bytes);
    const uint8_t *word = o200k_skip_word(p, end, class, bytes);
    if (!word)
        return modern_next_rest(p, end, class, BL_LETTER, digits, false, true);
    const uint8_t *contraction =
        contractions && word < end && *word == '\'' ? contraction_skip_caseless(word, end) : NULL;
    return contraction ? contraction : word;
}

/* Returns true if the pre-tokenizer Digits takes the character at p for a digit. Digits uses char::is_numeric of Rust,
 * which has Unicode 17: some of its number characters are not in the table of unicode.h. */
static inline bool digit_is(const uint8_t *p, const uint8_t *end, size_t *bytes)
{
    if (bl_character_class(p, end, bytes) & BL_NUMBER)
        return true;
    if (*bytes != 4 || *p != 0xf0)
        return false;
    uint32_t c = (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
    return (c >= 0x11de0 && c <= 0x11de9) || (c >= 0x16ff4 && c <= 0x16ff6);
}

/* Returns the end of the word at p by Digits: a digit (runs: all adjacent digits), or the text up to the next digit. */
static const uint8_t *digits_next(const uint8_t *p, const uint8_t *end, bool runs)
{
    size_t bytes;
    bool digit = digit_is(p, end, &bytes);
    p += bytes;
    if (digit && !runs)
        return p;
    while (p < end && digit_is(p, end, &bytes) == digit)
        p += bytes;
    return p;
}

/* Returns the end of the word at p by any grammar. The parameters are constants, so the compiler makes a scanner of
 * each case. */
static inline const uint8_t *grammar_next(enum bl_grammar grammar, const uint8_t *p, const uint8_t *end)
{
    switch (grammar) {
    case BL_GRAMMAR_GPT2:
        return gpt2_next(p, end);
    case BL_GRAMMAR_LLAMA3:
        return llama3_next(p, end, BL_LETTER, 3, false);
    case BL_GRAMMAR_CL100K:
        return llama3_next(p, end, BL_LETTER, 3, true);
    case BL_GRAMMAR_QWEN:
        return llama3_next(p, end, BL_LETTER, 1, false);
    case BL_GRAMMAR_QWEN35:
        return llama3_next(p, end, BL_LETTER | BL_MARK, 1, false);
    case BL_GRAMMAR_O200K:
        return o200k_next(p, end, 3, true);
    case BL_GRAMMAR_TEKKEN:
        return o200k_next(p, end, 1, false);
    case BL_GRAMMAR_DIGITS:
        return digits_next(p, end, false);
    case BL_GRAMMAR_DIGIT_RUNS:
        return digits_next(p, end, true);
    case BL_GRAMMAR_NUMBERS:
        return deepseek_next_head(p, end, BL_NUMBER);
    case BL_GRAMMAR_IDEOGRAPHS:
        return deepseek_next_head(p, end, IDEOGRAPH);
    case BL_GRAMMAR_DEEPSEEK_HEAD:
        return deepseek_next_head(p, end, BL_NUMBER | IDEOGRAPH);
    case BL_GRAMMAR_DEEPSEEK_WORDS:
        return deepseek_next_word(p, end, 0);
    case BL_GRAMMAR_DEEPSEEK:
        return deepseek_next(p, end);
    case BL_GRAMMAR_NONE:
    case BL_GRAMMAR_WHOLE:
        break;
    }
    return end;
}

size_t bl_grammar_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max)
{
    const uint8_t *p = text + *at, *stop = text + size;
    const bool ascii = bl_ascii_knows(grammar);
    /* bl_ascii_split needs room for BL_ASCII_WORDS; with less room, the caller gets fewer words and calls again. */
    size_t count = 0, enough = max < BL_ASCII_WORDS ? max : max - BL_ASCII_WORDS + 1;
    while (p < stop && count < enough) {
        size_t found = 0;
        /* Words of ASCII are found many at once. The scanners find the next word if little text or room is left, or
         * the text is not ASCII. */
        if (ascii && stop - p >= 8 && max - count >= BL_ASCII_WORDS && !((*p | p[1]) & 0x80))
            found = bl_ascii_split(grammar, p, (size_t)(stop - p), end + count);
        for (size_t i = 0; i < found; i++)
            end[count++] += (size_t)(p - text);
        if (found) {
            p = text + end[count - 1];
        } else {
            p = grammar_next(grammar, p, stop);
            end[count++] = (size_t)(p - text);
        }
    }
    *at = (size_t)(p - text);
    return count;
}
