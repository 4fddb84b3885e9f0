/* Splits ASCII text into words, 64 bytes at a time, by arithmetic on masks with one bit for each byte.
 *
 * SSE2 compares 16 bytes at once, and four such results make the mask of a class, such as the letters. Bit i belongs
 * to byte i, so a shift to the left by one gives the class of the byte before. Whether a byte begins a word mostly
 * depends on its class and the classes of its neighbours, so a few operations find the word starts of all 64 bytes:
 *
 *     bytes               a b   c d 1
 *     letter              1 1 0 1 1 0
 *     letter << 1         0 1 1 0 1 1
 *     starts of letters   1 0 0 1 0 0     letter & ~(letter << 1)
 *
 * (The table has bit 0 on the left.) Where a rule depends on a whole run of bytes, an addition passes the run: the
 * carry of mask + first bit moves through all ones. Contractions, such as 's, are checked one by one, since they are
 * few. */
#include "kind/text/grammar.h"

#if defined(__SSE2__)

#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 64

/* 64 bytes and the masks of their classes. blank is ' ' alone; space is all white space of ASCII, with line, the
 * line breaks \r and \n. */
struct block {
    const uint8_t *bytes; /* the caller's, BLOCK of them readable */
    unsigned count;       /* valid bytes: up to the end of the text or the first byte that is not ASCII */
    uint64_t letter, upper, number, space, blank, line, quote, slash;
};

/* Returns 0xff for each byte from first to last. The comparison is signed, so bytes from 0x80 on are never within. */
static inline __m128i bytes_within(__m128i bytes, char first, char last)
{
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(first - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(last + 1))));
}

static inline __m128i bytes_equal(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

/* Returns the highest bits of 16 bytes as the bits at to at + 15 of a mask. */
static inline uint64_t bytes_mask(__m128i bytes, int at)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << at;
}

/* Reads 64 bytes, of which count belong to the text. Bit 0x20 turns upper case into lower case, so one range finds
 * all letters; no other byte becomes a letter by it. */
static inline void block_read(struct block *b, const uint8_t *bytes, unsigned count)
{
    uint64_t others = 0;
    *b = (struct block){.bytes = bytes};
    for (int at = 0; at < BLOCK; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(bytes + at));
        __m128i blank = bytes_equal(v, ' '), line = _mm_or_si128(bytes_equal(v, '\n'), bytes_equal(v, '\r'));
        b->letter |= bytes_mask(bytes_within(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z'), at);
        b->upper |= bytes_mask(bytes_within(v, 'A', 'Z'), at);
        b->number |= bytes_mask(bytes_within(v, '0', '9'), at);
        b->space |= bytes_mask(_mm_or_si128(blank, bytes_within(v, '\t', '\r')), at);
        b->blank |= bytes_mask(blank, at);
        b->line |= bytes_mask(line, at);
        b->quote |= bytes_mask(bytes_equal(v, '\''), at);
        b->slash |= bytes_mask(bytes_equal(v, '/'), at);
        others |= bytes_mask(v, at);
    }
    b->count = others && (unsigned)__builtin_ctzll(others) < count ? (unsigned)__builtin_ctzll(others) : count;
}

/* Returns a mask of the bits below at. A shift by 64 is not defined in C. */
static inline uint64_t mask_below(unsigned at)
{
    return at < 64 ? ((uint64_t)1 << at) - 1 : UINT64_MAX;
}

/* Returns seeds, and the bits of each run of mask from a seed to the end of the run. The carry of the addition
 * passes further seeds of the run, so a run may have several. Example with bit 0 on the left: the mask 0 1 1 1 0 and
 * the seeds 0 0 1 0 0 give 0 0 1 1 0. */
static inline uint64_t mask_behind(uint64_t seeds, uint64_t mask)
{
    return (mask & ~(mask + seeds)) | seeds;
}

/* Applies the contractions that begin at quotes. GPT-2 and Llama-3 make a contraction a word from its quote to the
 * next word; o200k (suffix) appends it to the word before. Lowers *limit to the last position at which a word start
 * is certain, where the block ends before a contraction is decided. */
static inline void contractions_apply(const struct block *b, uint64_t quotes, bool caseless, bool suffix,
                                      uint64_t *starts, unsigned *limit)
{
    unsigned fresh = 0; /* where the last contraction ended: a quote there ends no word */
    for (; quotes; quotes &= quotes - 1) {
        unsigned at = (unsigned)__builtin_ctzll(quotes);
        if (suffix && at == fresh)
            continue;
        if (at + 3 > b->count) {
            unsigned certain = suffix ? at - 1 : at;
            *limit = certain < *limit ? certain : *limit;
            return;
        }
        unsigned first = b->bytes[at + 1], second = b->bytes[at + 2], size = 0;
        if (caseless) {
            first |= 0x20;
            second |= 0x20;
        }
        if (first == 's' || first == 't' || first == 'm' || first == 'd')
            size = 2;
        else if ((second == 'e' && (first == 'r' || first == 'v')) || (first == 'l' && second == 'l'))
            size = 3;
        if (!size)
            continue;
        fresh = at + size;
        *starts &= ~(mask_below(fresh) & ~mask_below(at + !suffix));
        *starts |= fresh < BLOCK ? (uint64_t)1 << fresh : 0;
    }
}

/* Returns the last position at which a word start is certain: the first byte of the white space that reaches the end
 * of the block, or the last byte if it is not white space. The words in white space depend on the bytes after it. */
static inline unsigned block_last_certain(const struct block *b, uint64_t space)
{
    uint64_t rest = ~(space | ~mask_below(b->count));
    unsigned run = rest ? 64 - (unsigned)__builtin_clzll(rest) : 0;
    return run < b->count ? run : b->count - 1;
}

/* Returns the word starts of GPT-2. A word is a run of letters, of numbers or of other signs, and one blank before
 * the run belongs to it. In white space, the first byte of a run begins a word, and the last byte does, which may be
 * this blank. */
static inline uint64_t starts_gpt2(const struct block *b, unsigned *limit)
{
    uint64_t other = ~(b->letter | b->number | b->space), spaced = b->blank << 1;
    uint64_t words = (b->letter & ~(b->letter << 1)) | (b->number & ~(b->number << 1)) | (other & ~(other << 1));
    uint64_t starts = (words & ~spaced) | (b->space & ~(b->space << 1)) | (b->space & ~(b->space >> 1));
    *limit = block_last_certain(b, b->space);
    contractions_apply(b, b->quote & other & ~(other << 1) & ~spaced, false, false, &starts, limit);
    return starts;
}

/* Returns the starts of numbers: every digit, or every third digit of a run, counted from the start of the run. */
static inline uint64_t starts_number(uint64_t number, int digits)
{
    if (digits == 1)
        return number;
    uint64_t starts = number & ~(number << 1), three = number & number << 1 & number << 2, more;
    while ((more = starts << 3 & three & ~starts))
        starts |= more;
    return starts;
}

/* Returns the white space that begins words: the start of a run, the byte after the last line break of a run, and
 * the last byte before a word. all_space is the white space and what ends it as the end of the text does. Lowers
 * *limit where the block does not decide. */
static inline uint64_t starts_space(uint64_t space, uint64_t all_space, uint64_t line, unsigned *limit)
{
    uint64_t flat = space & ~line;
    uint64_t runs = space & ~(space << 1), behind_lines = flat & (space & line) << 1;
    uint64_t last = flat & ~(all_space >> 1);
    /* Spaces between two line breaks do not begin a word. They are rare, so the block ends before their run. */
    uint64_t between = ((flat + behind_lines) & ~flat) & line;
    if (between) {
        uint64_t before = ~space & mask_below((unsigned)__builtin_ctzll(between));
        unsigned run = before ? 64 - (unsigned)__builtin_clzll(before) : 0;
        *limit = run < *limit ? run : *limit;
    }
    return runs | behind_lines | last;
}

/* Ends the block before its first control character that is not white space: the pattern of DeepSeek does not match
 * such a character as a sign, and the scanner of grammar.c handles it. */
static inline void block_cut_controls(struct block *b)
{
    uint64_t controls = 0;
    for (int at = 0; at < BLOCK; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(b->bytes + at));
        controls |= bytes_mask(_mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(' ')), bytes_equal(v, 0x7f)), at);
    }
    controls &= ~b->space;
    if (controls && (unsigned)__builtin_ctzll(controls) < b->count)
        b->count = (unsigned)__builtin_ctzll(controls);
}

/* Returns the word starts of Llama-3, Qwen, o200k and DeepSeek, whose expressions share their structure. digits is
 * the longest number, 1 or 3; o200k splits words before upper case, and its signs take slashes after them. */
static inline uint64_t starts_modern(const struct block *b, int digits, bool o200k, bool contractions, bool deepseek,
                                     unsigned *limit)
{
    /* DeepSeek splits numbers off in an earlier step, so white space before a number is at the end of its text. */
    uint64_t all_space = b->space | (deepseek ? b->number : 0);
    uint64_t other = ~(b->letter | b->number | b->space), trail = b->line | (o200k ? b->slash : 0);
    /* Line breaks (o200k: and slashes) after signs belong to the word of the signs. */
    uint64_t trailing = mask_behind(other << 1 & b->line, trail);
    other &= ~trailing;
    uint64_t space = b->space & ~trailing, flat = space & ~b->line;
    uint64_t sign = other & ~(other << 1), spaced = b->blank << 1;
    uint64_t prefix = flat | (sign & ~spaced & ~(other >> 1)); /* a letter after this byte belongs to its word */
    *limit = block_last_certain(b, space);
    uint64_t starts = (b->letter & ~(b->letter << 1) & ~(prefix << 1)) | (sign & ~spaced) |
                      starts_number(b->number, digits) | starts_space(space, all_space, b->line, limit);
    /* Upper case after lower case begins a word: "camelCase" is two words. */
    if (o200k)
        starts |= b->upper & (b->letter & ~b->upper) << 1;
    uint64_t quotes = b->quote & (o200k ? b->letter << 1 : sign & ~spaced);
    if (contractions)
        contractions_apply(b, quotes, true, o200k, &starts, limit);
    return starts;
}

/* Returns the word starts of a block by the rules of a grammar. Only starts up to *limit are certain. */
static inline uint64_t starts_find(enum bl_grammar grammar, const struct block *b, unsigned *limit)
{
    switch (grammar) {
    case BL_GRAMMAR_GPT2:
        return starts_gpt2(b, limit);
    case BL_GRAMMAR_LLAMA3:
    case BL_GRAMMAR_CL100K:
        return starts_modern(b, 3, false, true, false, limit);
    case BL_GRAMMAR_QWEN:
    case BL_GRAMMAR_QWEN35:
        return starts_modern(b, 1, false, true, false, limit);
    case BL_GRAMMAR_O200K:
        return starts_modern(b, 3, true, true, false, limit);
    case BL_GRAMMAR_TEKKEN:
        return starts_modern(b, 1, true, false, false, limit);
    case BL_GRAMMAR_DEEPSEEK:
        return starts_modern(b, 3, false, false, true, limit);
    default:
        *limit = 0;
        return 0;
    }
}

bool bl_ascii_knows(enum bl_grammar grammar)
{
    switch (grammar) {
    case BL_GRAMMAR_GPT2:
    case BL_GRAMMAR_LLAMA3:
    case BL_GRAMMAR_CL100K:
    case BL_GRAMMAR_QWEN:
    case BL_GRAMMAR_QWEN35:
    case BL_GRAMMAR_O200K:
    case BL_GRAMMAR_TEKKEN:
    case BL_GRAMMAR_DEEPSEEK:
        return true;
    default:
        return false;
    }
}

size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end)
{
    uint8_t copy[BLOCK];
    struct block b;
    unsigned limit;
    size_t count = 0;
    /* The masks need 64 readable bytes. */
    if (size < BLOCK) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, text, size);
        text = copy;
    }
    block_read(&b, text, size < BLOCK ? (unsigned)size : BLOCK);
    if (grammar == BL_GRAMMAR_DEEPSEEK)
        block_cut_controls(&b);
    /* A word in one byte is never certain. */
    if (b.count < 2)
        return 0;
    uint64_t starts = starts_find(grammar, &b, &limit);
    /* A word ends where the next one starts; the start of the first word is known. */
    for (starts &= mask_below(limit + 1) & ~(uint64_t)1; starts; starts &= starts - 1)
        end[count++] = (size_t)__builtin_ctzll(starts);
    return count;
}

#else

/* Other processors use the scanners of grammar.c. */
bool bl_ascii_knows(enum bl_grammar grammar)
{
    (void)grammar;
    return false;
}

size_t bl_ascii_split(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t *end)
{
    (void)grammar, (void)text, (void)size, (void)end;
    return 0;
}

#endif
