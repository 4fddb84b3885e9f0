/* Implements the rules of Unicode that normalizers of tokenizers need, by tables that a script makes (unicode_table.c).
 *
 * Most text is in a normal form already. Normalising therefore copies long runs, and handles only the segments between
 * two code points that no rule can change. */
#include "kind/text/normal_form.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "kind/text/skip.h"
#include "kind/text/unicode.h"

/* --- normal forms ------------------------------------------------------------------------------------------------- */

/* Hangul syllables are all combinations of a leading consonant (L), a vowel (V) and a trailing consonant (T), in order
 * (The Unicode Standard, 3.12). They need no table. */
enum {
    S_BASE = 0xac00,
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11a7,
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
    S_COUNT = L_COUNT * V_COUNT * T_COUNT
};

/* A unit of a segment is a code point, with its combining class from bit CLASS on. */
#define CLASS 56
#define POINT(unit) ((uint32_t)(unit)&0x1fffff)
#define INDEX 21 /* while units are sorted: the index in the run is at this bit, above the 21 bits of a code point */

/* A part of the text that no rule joins with the text around it. */
struct segment {
    enum bl_normal_form form;
    uint64_t *unit; /* owned; used again for the next segment */
    size_t count, capacity;
    bool failed; /* memory ran out */
};

/* Returns the combining class in bits 0 to 7, and bit 8 + form if the code point may change in this form, or may change
 * the code points around it. */
static unsigned point_property(uint32_t c)
{
    return bl_normal_property[(uint32_t)bl_normal_page[c >> 8] << 8 | (c & 255)];
}

/* Appends a code point with its combining class, 0 for starters. A form that does not know the code point leaves it in
 * its place, as if it were a starter. */
static void segment_add(struct segment *s, uint32_t c)
{
    unsigned property = point_property(c), class = property & 0x100U << s->form ? property & 255 : 0;
    if (BL_ARRAY_RESERVE(s->unit, s->capacity, s->count + 1, NULL))
        s->failed = true;
    else
        s->unit[s->count++] = (uint64_t) class << CLASS | c;
}

/* Appends the full decomposition of a code point, or the code point. The tables have full decompositions, so no step
 * repeats. */
static void segment_decompose(struct segment *s, uint32_t c)
{
    bool compatible = s->form == BL_NFKC || s->form == BL_NFKD;
    /* The tables have no decomposition of most code points. */
    if (s->form != BL_NFC_16 && !(point_property(c) & 0x100U << (compatible ? BL_NFKD : BL_NFD))) {
        segment_add(s, c);
        return;
    }
    if (c - S_BASE < S_COUNT) {
        /* Syllables lie in the order L, V, T: 28 for each LV, of which the first has no T. */
        uint32_t index = c - S_BASE;
        segment_add(s, L_BASE + index / (V_COUNT * T_COUNT));
        segment_add(s, V_BASE + index / T_COUNT % V_COUNT);
        if (index % T_COUNT)
            segment_add(s, T_BASE + index % T_COUNT);
        return;
    }
    const struct bl_unicode_row *row = NULL;
    /* A compatibility decomposition replaces the canonical one. */
    if (compatible)
        row = bl_unicode_find(bl_normal_compatible, bl_normal_compatible_count, c);
    if (!row)
        row = bl_unicode_find(bl_normal_canonical, bl_normal_canonical_count, c);
    if (!row)
        segment_add(s, c);
    for (size_t i = 0; row && i < row->count; i++)
        segment_add(s, bl_normal_point[row->value + (size_t)(c - row->first) * row->count + i]);
}

static int unit_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts each run of marks by their classes (canonical ordering). The index in the run makes the sort stable. It has 35
 * bits: a run of 2^35 marks would need 2^38 bytes. */
static void segment_sort(struct segment *s)
{
    for (size_t at = 0; at < s->count; at++) {
        uint64_t *unit = s->unit + at;
        size_t count = 0;
        while (at < s->count && s->unit[at] >> CLASS) {
            at++;
            count++;
        }
        /* Runs of one or two marks in order are the rule, and need no sort. */
        bool sorted = true;
        for (size_t i = 1; i < count && sorted; i++)
            sorted = unit[i - 1] >> CLASS <= unit[i] >> CLASS;
        if (sorted)
            continue;
        for (size_t i = 0; i < count; i++)
            unit[i] |= (uint64_t)i << INDEX;
        qsort(unit, count, sizeof *unit, unit_compare);
        for (size_t i = 0; i < count; i++)
            unit[i] = unit[i] >> CLASS << CLASS | POINT(unit[i]);
    }
}

/* Returns the composition of two code points, or 0 if they have none. */
static uint32_t points_compose(uint32_t first, uint32_t second)
{
    /* L and V give LV; LV and T give LVT. */
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT)
        return S_BASE + ((first - L_BASE) * V_COUNT + second - V_BASE) * T_COUNT;
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - T_BASE - 1 < T_COUNT - 1)
        return first + second - T_BASE;
    /* The table is sorted by first, then by second. */
    size_t low = 0, high = bl_normal_pair_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct bl_normal_pair *pair = &bl_normal_pair[middle];
        if (pair->first == first && pair->second == second)
            return pair->composed;
        if (pair->first < first || (pair->first == first && pair->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Composes each code point with the last starter, unless a mark of the same or a higher class, or another starter,
 * stands between the two. */
static void segment_compose(struct segment *s)
{
    size_t starter = SIZE_MAX, kept = 0;
    for (size_t at = 0; at < s->count; at++) {
        unsigned class = (unsigned)(s->unit[at] >> CLASS);
        /* Marks at the beginning of a segment have no starter before them. */
        bool blocked = starter == SIZE_MAX;
        if (!blocked && starter + 1 < kept) {
            /* The last unit kept is the nearest one, and classes are sorted. */
            unsigned between = (unsigned)(s->unit[kept - 1] >> CLASS);
            blocked = !between || between >= class;
        }
        uint32_t composed = blocked ? 0 : points_compose(POINT(s->unit[starter]), POINT(s->unit[at]));
        if (composed) {
            /* The composition is a starter, and may compose with the next mark. */
            s->unit[starter] = composed;
            continue;
        }
        if (!class)
            starter = kept;
        s->unit[kept++] = s->unit[at];
    }
    s->count = kept;
}

/* Returns the offset of the next code point that may change in the form of bit, or size. Sets *begin to the offset of
 * the code point before it, where its segment begins: a mark can compose with that code point. */
static size_t change_find(const char *text, size_t size, size_t at, unsigned bit, size_t *begin)
{
    *begin = at;
    while (at < size) {
        uint32_t c;
        if (!(text[at] & 0x80)) { /* ASCII never changes, except that marks may compose with it */
            *begin = at++;
            continue;
        }
        size_t length = bl_utf8_decode(text + at, &c);
        if (point_property(c) & bit)
            return at;
        *begin = at;
        at += length;
    }
    return size;
}

size_t bl_normal_form_prefix(enum bl_normal_form form, const char *text, size_t size)
{
    size_t begin;
    /* The prefix ends before the code point with which the change may compose. */
    size_t change = change_find(text, size, 0, 0x100U << form, &begin);
    return change == size ? size : begin;
}

int bl_normal_form_apply(enum bl_normal_form form, const char *text, size_t size, struct bl_buffer *out)
{
    unsigned bit = 0x100U << form;
    struct segment s = {.form = form};
    for (size_t at = 0; at < size && !s.failed;) {
        uint32_t c;
        size_t length, begin, change = change_find(text, size, at, bit, &begin);
        /* The rest of the text has no change, and is copied. */
        if (change == size)
            begin = size;
        bl_buffer_append(out, text + at, begin - at);
        /* The segment ends before the next code point that never changes. */
        for (at = change; at < size; at += length) {
            length = bl_utf8_decode(text + at, &c);
            if (!(point_property(c) & bit))
                break;
        }
        /* The segment from begin to at is decomposed, sorted, composed and written by itself. */
        s.count = 0;
        while (begin < at) {
            begin += bl_utf8_decode(text + begin, &c);
            segment_decompose(&s, c);
        }
        segment_sort(&s);
        if (form != BL_NFD && form != BL_NFKD)
            segment_compose(&s);
        for (size_t i = 0; i < s.count; i++) {
            char bytes[BL_UTF8_MAX];
            bl_buffer_append(out, bytes, bl_utf8_encode(POINT(s.unit[i]), bytes));
        }
    }
    /* The callers check the buffer, so it carries the failure of the segment. */
    if (s.failed)
        out->failed = true;
    free(s.unit);
    return bl_buffer_check(out, NULL);
}

/* --- BERT's normalizer -------------------------------------------------------------------------------------------- */

/* Each step goes over the whole text, since the next one may change its result: an ideograph, for example, is found
 * before it is decomposed. */

/* Returns true for the ideographs that BERT's authors listed. `tokenizers` begins one block at U+2B920 instead of
 * U+2B820, and ids must equal those of `tokenizers`. */
static bool is_chinese(uint32_t c)
{
    /* First and last code point of each block, in their order. */
    static const uint32_t block[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        if (c >= block[i][0] && c <= block[i][1])
            return true;
    }
    return false;
}

/* Appends the text without control characters, with spaces for white space, and with spaces around ideographs. */
static void bert_clean(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out)
{
    size_t done = 0; /* bytes that were copied or replaced */
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t c;
        next = at + bl_utf8_decode(text + at, &c);
        bool removed = options->clean_text && bl_bert_class(c) & BL_BERT_REMOVED;
        /* A space stays as it is, which keeps runs of text long. */
        bool space = options->clean_text && c != ' ' && bl_unicode_class(c) & BL_SPACE;
        bool chinese = options->handle_chinese_chars && c >= 0x3400 && is_chinese(c);
        if (!removed && !space && !chinese)
            continue;
        bl_buffer_append(out, text + done, at - done);
        done = next;
        if (removed)
            continue;
        bl_buffer_byte(out, ' ');
        if (chinese) {
            bl_buffer_append(out, text + at, next - at);
            bl_buffer_byte(out, ' ');
        }
    }
    bl_buffer_append(out, text + done, size - done);
}

/* Appends the text without marks and in lower case, as the options say. Both steps look at single code points. */
static void bert_strip_and_lower(const struct bl_bert_options *options, const char *text, size_t size,
                                 struct bl_buffer *out)
{
    /* A character can have both bits; a mark is removed first. */
    unsigned changed = (options->strip_accents ? BL_BERT_MARK : 0U) | (options->lowercase ? BL_BERT_UPPER : 0U);
    size_t done = 0;
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t c;
        next = at + bl_utf8_decode(text + at, &c);
        unsigned class = bl_bert_class(c) & changed;
        if (!class)
            continue;
        bl_buffer_append(out, text + done, at - done);
        done = next;
        if (!(class & BL_BERT_UPPER))
            continue;
        char bytes[BL_UTF8_MAX];
        const struct bl_unicode_row *row = NULL;
        /* Mappings outside ASCII are in a table of ranges. */
        if (c >= 0x80)
            row = bl_unicode_find(bl_bert_lower, bl_bert_lower_count, c);
        if (c < 0x80)
            bl_buffer_byte(out, (char)(c | 0x20));
        else if (row)
            bl_buffer_append(out, bytes, bl_utf8_encode(row->value + c - row->first, bytes));
        else
            bl_buffer_text(out, "i\u0307"); /* U+0130 is the only one whose lower case has two code points */
    }
    bl_buffer_append(out, text + done, size - done);
}

int bl_bert_normalize(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out,
                      struct bl_error *e)
{
    struct bl_buffer cleaned = {0}, decomposed = {0};
    bl_buffer_reserve(&cleaned, size);
    bert_clean(options, text, size, &cleaned);
    /* Text without accents, such as English, skips the decomposition. */
    const struct bl_buffer *from = &cleaned;
    if (options->strip_accents && bl_normal_form_prefix(BL_NFD, cleaned.data, cleaned.size) < cleaned.size) {
        bl_normal_form_apply(BL_NFD, cleaned.data, cleaned.size, &decomposed);
        from = &decomposed;
    }
    bl_buffer_reserve(out, from->size);
    bert_strip_and_lower(options, from->data, from->size, out);
    int code = bl_buffer_check(&cleaned, e);
    if (code)
        goto out;
    code = bl_buffer_check(&decomposed, e);
    if (code)
        goto out;
    code = bl_buffer_check(out, e);
out:
    bl_buffer_free(&cleaned);
    bl_buffer_free(&decomposed);
    return code;
}

/* --- grapheme clusters -------------------------------------------------------------------------------------------- */

/* What the rules of more than two characters need to know about the characters before. */
struct cluster {
    unsigned regionals; /* number of regional indicators right before: two of them make a flag */
    bool pictograph;    /* a pictograph, then only Extend: GB11, as in families of emoji */
    bool consonant,
        linked;      /* GB9c of Indic scripts: a consonant, then only Extend and linkers; linked: at least one linker */
    unsigned before; /* the class of the last character */
};

/* Rules GB6 to GB8: the parts of a Hangul syllable stay together. */
static bool hangul_joins(unsigned a, unsigned b)
{
    if (a == BL_BREAK_L)
        return b == BL_BREAK_L || b == BL_BREAK_V || b == BL_BREAK_LV || b == BL_BREAK_LVT;
    if (a == BL_BREAK_LV || a == BL_BREAK_V)
        return b == BL_BREAK_V || b == BL_BREAK_T;
    return (a == BL_BREAK_LVT || a == BL_BREAK_T) && b == BL_BREAK_T;
}

static bool is_control(unsigned value)
{
    return value == BL_BREAK_CR || value == BL_BREAK_LF || value == BL_BREAK_CONTROL;
}

/* Returns true if the next character belongs to the cluster: rules GB3 to GB999. */
static bool cluster_joins(const struct cluster *cluster, unsigned class)
{
    unsigned a = cluster->before & BL_BREAK_MASK, b = class & BL_BREAK_MASK;
    /* GB3: \r\n is one cluster. */
    if (a == BL_BREAK_CR && b == BL_BREAK_LF)
        return true;
    /* GB4 and GB5: control characters are clusters by themselves. */
    if (is_control(a) || is_control(b))
        return false;
    /* GB6 to GB9b. */
    if (hangul_joins(a, b) || b == BL_BREAK_EXTEND || b == BL_BREAK_ZWJ || b == BL_BREAK_SPACING ||
        a == BL_BREAK_PREPEND)
        return true;
    /* GB9c: consonants of Indic scripts joined by a linker. */
    if (class & BL_CONSONANT && cluster->linked)
        return true;
    /* GB11: emoji joined by a zero width joiner. */
    if (a == BL_BREAK_ZWJ && cluster->pictograph && class & BL_PICTOGRAPH)
        return true;
    /* GB12 and GB13: a flag is a pair of regional indicators. */
    return a == BL_BREAK_REGIONAL && b == BL_BREAK_REGIONAL && cluster->regionals % 2;
}

/* Adds a character to the cluster. */
static void cluster_add(struct cluster *cluster, unsigned class)
{
    unsigned value = class & BL_BREAK_MASK;
    bool extends = value == BL_BREAK_EXTEND || value == BL_BREAK_ZWJ;
    cluster->regionals = value == BL_BREAK_REGIONAL ? cluster->regionals + 1 : 0;
    cluster->pictograph = class & BL_PICTOGRAPH || (cluster->pictograph && extends);
    cluster->consonant = class & BL_CONSONANT || (cluster->consonant && extends);
    cluster->linked = cluster->consonant && !(class & BL_CONSONANT) && (cluster->linked || class & BL_LINKER);
    cluster->before = class;
}

size_t bl_grapheme_size(const char *text, size_t size)
{
    struct cluster cluster = {0};
    uint32_t point;
    size_t at = bl_utf8_decode(text, &point), next;
    cluster_add(&cluster, bl_grapheme_class(point));
    for (; at < size; at = next) {
        next = at + bl_utf8_decode(text + at, &point);
        unsigned class = bl_grapheme_class(point);
        if (!cluster_joins(&cluster, class))
            break;
        cluster_add(&cluster, class);
    }
    return at;
}

/* --- texts that count as the same --------------------------------------------------------------------------------- */

void bl_same_text_buffers_free(struct bl_same_text_buffers *b)
{
    for (size_t i = 0; i < sizeof b->buffer / sizeof *b->buffer; i++)
        bl_buffer_free(&b->buffer[i]);
}

/* --- option ------------------------------------------------------------------------------------------------------- */

bool bl_same_text_parse(struct bl_same_text *same, const char *text)
{
    const struct {
        const char *word;
        bool *step;
    } known[] = {{"nfkc", &same->nfkc}, {"lower", &same->lower}, {"space", &same->space}};
    /* The last colon divides the key from the steps; a key may have colons. */
    const char *colon = strrchr(text, ':');
    *same = (struct bl_same_text){.key = text, .size = colon ? (size_t)(colon - text) : strlen(text)};
    for (const char *at = colon && colon[1] ? colon + 1 : NULL; at;) {
        size_t size = strcspn(at, ",");
        bool is_step = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            if (strlen(known[i].word) == size && memcmp(known[i].word, at, size) == 0)
                *known[i].step = is_step = true;
        }
        if (!is_step)
            return false;
        at = at[size] ? at + size + 1 : NULL;
    }
    return same->size > 0;
}

void bl_same_text_format(const struct bl_same_text *same, struct bl_buffer *out)
{
    const char *before = ":";
    const struct {
        const char *word;
        bool given;
    } step[] = {{"nfkc", same->nfkc}, {"lower", same->lower}, {"space", same->space}};
    bl_buffer_append(out, same->key, same->size);
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        if (!step[i].given)
            continue;
        bl_buffer_printf(out, "%s%s", before, step[i].word);
        before = ",";
    }
    if (*before == ':' && memchr(same->key, ':', same->size))
        bl_buffer_byte(out, ':'); /* the last colon of the key is not that of the steps */
}

void bl_same_text_append_column(const struct bl_same_text *same, struct bl_buffer *out)
{
    struct bl_buffer name = {0};
    bl_same_text_format(same, &name);
    bl_buffer_text(out, "digest(");
    for (size_t i = 0; i < name.size; i++) /* no column has a backslash, and no key two dots */
        bl_buffer_byte(out, name.data[i] == '\\' && i + 1 < name.size && name.data[i + 1] == '.' ? '.' : name.data[i]);
    bl_buffer_byte(out, ')');
    out->failed |= name.failed;
    bl_buffer_free(&name);
}

/* --- normal forms of texts for --dedup-by ------------------------------------------------------------------------- */

/* Appends the text with one space for each run of white space, and without white space at its ends. */
static void text_join_words(const char *text, size_t size, struct bl_buffer *out)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + size;
    while (p < end) {
        const uint8_t *word = p += bl_character_space(p, (size_t)(end - p));
        size_t bytes;
        while (p < end && !(bl_character_class(p, end, &bytes) & BL_SPACE))
            p += bytes;
        if (p > word && out->size)
            bl_buffer_byte(out, ' ');
        bl_buffer_append(out, word, (size_t)(p - word));
    }
}

int bl_same_text_normalize(const struct bl_same_text *same, const char **text, size_t *size,
                           struct bl_same_text_buffers *b, struct bl_error *e)
{
    /* BERT's lower case needs valid UTF-8, and so does NFKC: step 0 repairs the text. */
    const struct bl_bert_options lower = {.lowercase = true};
    /* Repair and NFKC run only where the text needs them, which is rare. */
    const bool given[] = {(same->nfkc || same->lower || same->space) && bl_utf8_valid(*text, *size) != *size,
                          same->nfkc && bl_normal_form_prefix(BL_NFKC, *text, *size) != *size, same->lower,
                          same->space};
    int64_t replaced = 0;
    for (int step = 0; step < (int)(sizeof given / sizeof *given); step++) {
        struct bl_buffer *out = &b->buffer[step];
        int code = BL_OK;
        if (!given[step] || !*size)
            continue;
        bl_buffer_clear(out);
        if (step == 0)
            code = bl_text_replace_invalid(*text, *size, out, &replaced);
        else if (step == 1)
            code = bl_normal_form_apply(BL_NFKC, *text, *size, out);
        else if (step == 2)
            code = bl_bert_normalize(&lower, *text, *size, out, e);
        else
            text_join_words(*text, *size, out);
        if (code || out->failed)
            return out->failed ? bl_error_memory(e) : code;
        *text = out->data ? out->data : "";
        *size = out->size;
    }
    return BL_OK;
}

void bl_same_text_append_digest(const char *text, size_t size, struct bl_buffer *out)
{
    if (!size)
        return;
    XXH128_hash_t hash = XXH3_128bits(text, size);
    bl_buffer_printf(out, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
}
