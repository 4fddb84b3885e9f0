/* Parses the option --fim, and draws the forms and cuts of documents (fim.h).
 *
 * Numbers are fixed-point, in millionths, and random numbers come from integer arithmetic alone, so that every
 * machine draws the same. */
#include "kind/text/fim.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "base/utf8.h"

__extension__ typedef unsigned __int128 u128;

#define MILLION 1000000           /* the number 1 */
#define DIGITS 6                  /* of a share after the point */
#define SPM_DEFAULT (MILLION / 2) /* as in Megatron-LM */

/* The names of the members of the option: first those of the parts. */
static const char *const member_names[] = {"prefix", "middle", "suffix", "spm", "seed"};

/* --- option ------------------------------------------------------------------------------------------------------- */

/* Parses a number from 0 to 1 with at most six digits after the point, such as "0.5", ".5" or "1", to millionths.
 * Returns false if the text is not such a number. */
static bool share_parse(const char *text, size_t size, int64_t *share)
{
    int64_t whole = 0, part = 0;
    const char *point = memchr(text, '.', size);
    size_t digits = point ? (size_t)(point - text) : size, places = point ? size - digits - 1 : 0;
    if (strspn(text, "0123456789.") < size || places > DIGITS || (point && !places))
        return false;
    if ((digits || !places) && !bl_text_to_int(text, digits, 0, 1, &whole))
        return false;
    if (places && !bl_text_to_int(point + 1, places, 0, MILLION - 1, &part))
        return false;
    /* ".5" gives part = 5, which becomes 500000. */
    for (size_t i = places; i < DIGITS; i++)
        part *= 10;
    *share = whole * MILLION + part;
    return *share <= MILLION;
}

/* Writes a share in its shortest form: 500000 is "0.5". */
static void share_format(int64_t share, struct bl_buffer *out)
{
    int64_t part = share % MILLION;
    int places = DIGITS;
    bl_buffer_int(out, share / MILLION);
    for (; part && part % 10 == 0; part /= 10)
        places--;
    if (part)
        bl_buffer_printf(out, ".%0*" PRId64, places, part);
}

/* Parses a member of the option, such as "spm=0.5". Bit i of *seen is set once name i was given. Returns false if
 * the name is not known or was given before, or if its value is wrong. */
static bool fim_parse_member(struct bl_fim *fim, const char *text, size_t size, unsigned *seen)
{
    const char *equals = memchr(text, '=', size);
    size_t name = equals ? (size_t)(equals - text) : size, rest = size - name - (equals != NULL);
    int64_t seed;
    for (unsigned i = 0; equals && rest && i < sizeof member_names / sizeof *member_names; i++) {
        if (strlen(member_names[i]) != name || memcmp(member_names[i], text, name) != 0 || *seen >> i & 1)
            continue;
        *seen |= 1U << i;
        if (i == BL_FIM_PARTS)
            return share_parse(equals + 1, rest, &fim->spm);
        if (i > BL_FIM_PARTS) {
            /* A seed is a number from 0 to 2^63 - 1. */
            if (!bl_text_to_int(equals + 1, rest, 0, INT64_MAX, &seed))
                return false;
            fim->seed = (uint64_t)seed;
            return true;
        }
        fim->token[i].text = equals + 1;
        fim->token[i].size = rest;
        return true;
    }
    return false;
}

/* Parses the whole value: the rate, then members. The tokens of the parts are given all together or not at all. */
static bool fim_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_fim *fim = value;
    unsigned seen = 0, tokens;
    (void)option;
    *fim = (struct bl_fim){.given = true, .spm = SPM_DEFAULT};
    size_t size = strcspn(text, ",");
    if (!share_parse(text, size, &fim->rate))
        return false;
    while (text[size]) {
        text += size + 1;
        size = strcspn(text, ",");
        if (!fim_parse_member(fim, text, size, &seen))
            return false;
    }
    tokens = seen & ((1U << BL_FIM_PARTS) - 1);
    return !tokens || tokens == (1U << BL_FIM_PARTS) - 1;
}

/* Writes the value in its canonical form, without defaults: this form identifies a dataset. */
static void fim_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_fim *fim = value;
    (void)option;
    if (!fim->given)
        return;
    share_format(fim->rate, out);
    if (fim->spm != SPM_DEFAULT) {
        bl_buffer_text(out, ",spm=");
        share_format(fim->spm, out);
    }
    if (fim->seed)
        bl_buffer_printf(out, ",seed=%" PRIu64, fim->seed);
    for (int i = 0; i < BL_FIM_PARTS && fim->token[i].text; i++)
        bl_buffer_printf(out, ",%s=%.*s", member_names[i], (int)fim->token[i].size, fim->token[i].text);
}

const struct bl_option_type bl_option_fim = {
    "RATE[,spm=SHARE][,...]", fim_parse, fim_format,
    "RATE[,spm=SHARE][,seed=N][,prefix=TOKEN,middle=TOKEN,suffix=TOKEN]; RATE and SHARE are numbers from 0 to 1 "
    "with six digits after the point at most"};

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* The names of each family, in the order of enum bl_fim_part. A family is recognised by its tokens in the tokenizer.
 * In DeepSeek's form, hole is at the place of the middle before the suffix, and end comes after the suffix, so
 * begin, hole and end are the tokens of prefix, suffix and middle. */
static const char *const families[][BL_FIM_PARTS] = {
    {"<fim_prefix>", "<fim_middle>", "<fim_suffix>"},          /* StarCoder, Granite, StableCode */
    {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"},    /* Qwen2.5-Coder, CodeGemma, Llama 4, cl100k */
    {"<fim-prefix>", "<fim-middle>", "<fim-suffix>"},          /* SantaCoder */
    {"▁<PRE>", "▁<MID>", "▁<SUF>"},                            /* CodeLlama */
    {"<｜fim▁begin｜>", "<｜fim▁end｜>", "<｜fim▁hole｜>"},    /* DeepSeek */
    {"[PREFIX]", "[MIDDLE]", "[SUFFIX]"},                      /* Mistral, Codestral */
    {">>PREFIX<<", ">>MIDDLE<<", ">>SUFFIX<<"},                /* Falcon */
    {"<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>"}, /* GLM */
};

const char *const *bl_fim_family(size_t number)
{
    return number < sizeof families / sizeof *families ? families[number] : NULL;
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* Returns the next random number from 0 to n - 1: the upper half of a product of 128 bits. Its bias is below n / 2^64.
 * The factor comes from splitmix64 (Steele and others: Fast splittable pseudorandom number generators, 2014). */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint64_t)((u128)(z ^ z >> 31) * n >> 64);
}

int64_t bl_fim_count_characters(const char *text, size_t size)
{
    int64_t characters = 0;
    for (size_t i = 0; i < size; i++)
        characters += bl_utf8_begins(text[i]);
    return characters;
}

/* Returns the byte at which character n, from 0, begins, or size if there are only n characters. */
static size_t text_find_character(const char *text, size_t size, int64_t n)
{
    size_t at = 0;
    for (int64_t seen = 0; at < size; at++) {
        if (bl_utf8_begins(text[at]) && seen++ == n)
            break;
    }
    return at;
}

void bl_fim_draw(const struct bl_fim *fim, int64_t offset, const char *text, size_t size, struct bl_fim_draw *draw)
{
    const uint64_t parts[] = {fim->seed, (uint64_t)offset, XXH3_64bits(text, size)};
    uint64_t state = XXH3_64bits(parts, sizeof parts);
    *draw = (struct bl_fim_draw){.form = BL_FIM_NO};
    if ((int64_t)random_below(&state, MILLION) >= fim->rate)
        return;
    /* Both cuts are uniform over the places between characters, the ends included, so each part may be empty. */
    uint64_t characters = (uint64_t)bl_fim_count_characters(text, size);
    int64_t one = (int64_t)random_below(&state, characters + 1), other = (int64_t)random_below(&state, characters + 1);
    draw->first = one < other ? one : other;
    draw->last = one < other ? other : one;
    draw->begin = text_find_character(text, size, draw->first);
    draw->end = draw->begin + text_find_character(text + draw->begin, size - draw->begin, draw->last - draw->first);
    draw->form = (int64_t)random_below(&state, MILLION) < fim->spm ? BL_FIM_SPM : BL_FIM_PSM;
}

const struct bl_fim_element *bl_fim_elements(enum bl_fim_form form)
{
    static const struct bl_fim_element psm[BL_FIM_ELEMENTS] = {{true, BL_FIM_PREFIX}, {false, BL_FIM_PREFIX},
                                                               {true, BL_FIM_SUFFIX}, {false, BL_FIM_SUFFIX},
                                                               {true, BL_FIM_MIDDLE}, {false, BL_FIM_MIDDLE}};
    static const struct bl_fim_element spm[BL_FIM_ELEMENTS] = {{true, BL_FIM_PREFIX},  {true, BL_FIM_SUFFIX},
                                                               {false, BL_FIM_SUFFIX}, {true, BL_FIM_MIDDLE},
                                                               {false, BL_FIM_PREFIX}, {false, BL_FIM_MIDDLE}};
    return form == BL_FIM_SPM ? spm : psm;
}

const char *bl_fim_form_name(enum bl_fim_form form)
{
    static const char *const names[] = {"", "no", "marked", "psm", "spm"};
    return names[form];
}
