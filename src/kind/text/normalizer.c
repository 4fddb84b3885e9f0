/* Applies the normalizers of tokenizers to texts.
 *
 * Each rule follows `tokenizers` or SentencePiece in every case, since ids depend on it. A step first looks whether the
 * text changes at all; parts that do not change are copied in long runs. */
#include "kind/text/normalizer.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/text/normal_form.h"
#include "kind/text/skip.h"
#include "kind/text/unicode.h"
#include "kind/text/vocabulary.h"

/* --- precompiled maps --------------------------------------------------------------------------------------------- */

#define CLUSTER_MAX 5 /* `tokenizers` looks up a grapheme cluster as a whole only up to this size in bytes */

struct bl_precompiled {
    uint32_t *unit; /* the trie, in the byte order of the machine */
    size_t units;
    char *text;        /* the texts to which the trie leads; ends with a zero byte */
    size_t size;       /* bytes of text */
    bool changed[128]; /* the map may change this ASCII character */
};

/* The fields of a unit, as Darts packs them: label in bits 0 to 7, bit 8 for a value, the offset above bit 10, shifted
 * by 8 more if bit 9 is set. */
static uint32_t unit_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200) >> 6);
}

static uint32_t unit_label(uint32_t unit)
{
    return unit & 0x800000ff;
}

/* Goes on from *taken bytes to the next text in the map with which this text begins. Returns the text that it maps to,
 * or NULL if there is none. *taken and *at (the position in the trie) are set to where the search can go on. */
static const char *map_next(const struct bl_precompiled *map, const char *text, size_t size, size_t *taken, size_t *at)
{
    /* A zero byte ends every text of the map, so none contains it. */
    for (size_t i = *taken; i < size && text[i]; i++) {
        *at ^= (uint8_t)text[i];
        if (*at >= map->units || unit_label(map->unit[*at]) != (uint8_t)text[i])
            return NULL;
        uint32_t unit = map->unit[*at];
        *at ^= unit_offset(unit);
        if (!(unit >> 8 & 1))
            continue;
        *taken = i + 1;
        /* The file may lead anywhere: both the unit and the offset of the text are checked. */
        uint32_t value = *at < map->units ? map->unit[*at] & 0x7fffffff : UINT32_MAX;
        return value < map->size ? map->text + value : NULL;
    }
    return NULL;
}

/* Returns what the shortest text in the map with which this text begins becomes, or NULL. */
static const char *map_find(const struct bl_precompiled *map, const char *text, size_t size)
{
    size_t taken = 0, at = unit_offset(map->unit[0]);
    return map_next(map, text, size, &taken, &at);
}

int bl_precompiled_open(struct bl_precompiled **out, const void *data, size_t size, struct bl_error *e)
{
    uint32_t bytes;
    *out = NULL;
    /* The size and the root of the trie are there in every map. */
    if (size < sizeof bytes + sizeof bytes)
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer has %zu bytes: it is damaged", size);
    memcpy(&bytes, data, sizeof bytes);
    bytes = le32toh(bytes);
    if (bytes < sizeof(uint32_t) || bytes % sizeof(uint32_t) || bytes > size - sizeof bytes)
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer is damaged: a trie of %u bytes in %zu", bytes,
                            size);
    struct bl_precompiled *map = calloc(1, sizeof *map);
    if (!map)
        return bl_error_memory(e);
    map->units = bytes / sizeof(uint32_t);
    map->size = size - sizeof bytes - bytes;
    map->unit = malloc(bytes);
    map->text = malloc(map->size + 1);
    if (!map->unit || !map->text) {
        bl_precompiled_close(map);
        return bl_error_memory(e);
    }
    /* data may have any alignment, so the units are copied. */
    memcpy(map->unit, (const char *)data + sizeof bytes, bytes);
    for (size_t i = 0; i < map->units; i++)
        map->unit[i] = le32toh(map->unit[i]);
    memcpy(map->text, (const char *)data + sizeof bytes + bytes, map->size);
    /* The last text ends here even if the file has no zero byte behind it. */
    map->text[map->size] = '\0';
    /* The steps that follow need valid UTF-8. */
    if (bl_utf8_valid(map->text, map->size) < map->size) {
        bl_precompiled_close(map);
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer is damaged: what it leads to is not UTF-8");
    }
    /* ASCII is the bulk of most text: one array says which of it needs a search in the trie. */
    for (int c = 1; c < 128; c++)
        map->changed[c] = map_find(map, &(char){(char)c}, 1) != NULL;
    map->changed['\r'] = true; /* \r\n is one cluster, so \r cannot pass alone */
    *out = map;
    return BL_OK;
}

void bl_precompiled_close(struct bl_precompiled *map)
{
    if (!map)
        return;
    free(map->unit);
    free(map->text);
    free(map);
}

/* Replaces [begin, end) of a text: appends the text from *copied to begin, then the new text. */
static void change_put(const char *text, size_t begin, size_t end, const char *with, size_t *copied,
                       struct bl_buffer *out)
{
    bl_buffer_append(out, text + *copied, begin - *copied);
    bl_buffer_text(out, with);
    *copied = end;
}

/* Normalises a text (valid UTF-8) as `tokenizers` does: a grapheme cluster of up to 5 bytes becomes what its shortest
 * prefix in the map becomes; in longer clusters each character does. Appends to out up to the last change, and sets
 * *copied to the offset from which the caller must append the rest. BL_EFAIL: memory ran out; out->failed is set. */
static int precompiled_apply(const struct bl_precompiled *map, const char *text, size_t size, size_t *copied,
                             struct bl_buffer *out)
{
    for (size_t at = 0, next; at < size && !out->failed; at = next) {
        uint8_t c = (uint8_t)text[at];
        next = at + 1;
        /* An ASCII character before another one is a cluster by itself. */
        if (c < 0x80 && !map->changed[c] && (next == size || (uint8_t)text[next] < 0x80))
            continue;
        next = at + bl_grapheme_size(text + at, size - at);
        const char *with = next - at <= CLUSTER_MAX ? map_find(map, text + at, next - at) : NULL;
        if (with) {
            change_put(text, at, next, with, copied, out);
            continue;
        }
        for (size_t i = at, bytes; i < next; i += bytes) {
            uint32_t point;
            bytes = bl_utf8_decode(text + i, &point);
            with = map_find(map, text + i, bytes);
            if (with)
                change_put(text, i, i + bytes, with, copied, out);
        }
    }
    return out->failed ? BL_EFAIL : BL_OK;
}

/* --- normalizer of SentencePiece's models ------------------------------------------------------------------------- */

#define MARK_SIZE (sizeof BL_METASPACE - 1)

void bl_sentencepiece_finish(struct bl_sentencepiece *rule)
{
    const struct bl_precompiled *map = rule->map;
    for (int i = 0; i < 256; i++) {
        rule->stops[i] = rule->kept.first[i] >= 0;
        /* A text in the map may begin with this byte. The children of the trie's root are at its offset, by exclusive
         * or with their bytes. */
        size_t at = map ? unit_offset(map->unit[0]) ^ (uint8_t)i : 0;
        if (i && map && at < map->units && unit_label(map->unit[at]) == (uint8_t)i)
            rule->stops[i] = true;
    }
    /* A space that stays a space, and on which no other rule depends, is a character like others. */
    rule->stops[' '] = rule->stops[' '] || rule->trimmed || strcmp(rule->space, " ") != 0;
    if (rule->spaces)
        rule->stops[(uint8_t)BL_METASPACE[0]] = true;
}

void bl_sentencepiece_free(struct bl_sentencepiece *rule)
{
    bl_precompiled_close(rule->map);
    bl_added_free(&rule->kept);
}

/* Returns what the beginning of a text becomes, with *with_size bytes, and sets *taken to the bytes that it replaces. A
 * user-defined piece and a character without a rule become themselves. */
static const char *prefix_find(const struct bl_sentencepiece *rule, const char *text, size_t size, size_t *taken,
                               size_t *with_size)
{
    const struct bl_precompiled *map = rule->map;
    const char *with = NULL, *next;
    size_t kept = bl_added_size_at(&rule->kept, (const uint8_t *)text, size);
    size_t done = 0, at = map ? unit_offset(map->unit[0]) : 0;
    /* The longest text in the map counts. Each further match is longer, since the search goes on from the last one. */
    while (!kept && map && (next = map_next(map, text, size, &done, &at))) {
        with = next;
        *taken = done;
    }
    if (with) {
        *with_size = strlen(with);
        return with;
    }
    uint32_t point;
    *taken = *with_size = kept ? kept : bl_utf8_decode(text, &point);
    return text;
}

/* Appends a text with its spaces as rule->space, and with U+2581 as a space where rule->spaces says so. */
static void text_put(const struct bl_sentencepiece *rule, const char *text, size_t size, struct bl_buffer *out)
{
    for (size_t at = 0; at < size;) {
        bool mark = rule->spaces && size - at >= MARK_SIZE && !memcmp(text + at, BL_METASPACE, MARK_SIZE);
        if (mark)
            bl_buffer_byte(out, ' ');
        else if (text[at] == ' ')
            bl_buffer_text(out, rule->space);
        else
            bl_buffer_byte(out, text[at]);
        at += mark ? MARK_SIZE : 1;
    }
}

/* Appends the normal form of a text (valid UTF-8). A text of spaces alone becomes empty where rule->trimmed is set.
 * BL_EFAIL: memory ran out; out->failed is set. */
static int sentencepiece_normalize(const struct bl_sentencepiece *rule, const char *text, size_t size,
                                   struct bl_buffer *out)
{
    /* A space has one byte, or three as U+2581. */
    size_t begin = out->size, at = 0, taken, with_size, space_size = strlen(rule->space);
    /* The beginning of the text that becomes nothing but spaces is left out. */
    while (rule->trimmed && at < size) {
        const char *with = prefix_find(rule, text + at, size - at, &taken, &with_size);
        if (with_size != 1 || *with != ' ')
            break;
        at += taken;
    }
    if (at == size)
        return BL_OK;
    if (rule->prefix)
        bl_buffer_text(out, rule->space);
    for (bool space = rule->trimmed; at < size && !out->failed; at += taken) {
        taken = 0;
        /* Characters without a rule are copied in one run. */
        while (at + taken < size && !rule->stops[(uint8_t)text[at + taken]])
            taken++;
        if (taken) {
            bl_buffer_append(out, text + at, taken);
            space = false;
            continue;
        }
        const char *with = prefix_find(rule, text + at, size - at, &taken, &with_size);
        /* A space after a space is dropped; `space` is set only where rule->trimmed is. */
        for (; space && with_size && *with == ' '; with++)
            with_size--;
        if (with_size) {
            text_put(rule, with, with_size, out);
            space = rule->trimmed && with[with_size - 1] == ' ';
        }
    }
    /* Spaces at the end are removed. */
    while (rule->trimmed && !out->failed && out->size - begin >= space_size &&
           !memcmp(out->data + out->size - space_size, rule->space, space_size))
        out->size -= space_size;
    if (rule->suffix)
        bl_buffer_text(out, rule->space);
    return out->failed ? BL_EFAIL : BL_OK;
}

/* --- normalizers -------------------------------------------------------------------------------------------------- */

/* A text that a step changes in some places. The parts between the changes are copied, and none is copied if there is
 * no change. */
struct change {
    const char *text;
    size_t copied; /* bytes of the text that are in out already */
    struct bl_buffer *out;
    bool beheaded; /* the beginning of the text was removed, so the first character of the document is gone */
};

/* Replaces [begin, end) of the text. */
static void normalizer_change_put(struct change *c, size_t begin, size_t end, const char *with, size_t size)
{
    /* Only an empty replacement at the very beginning removes the first character. */
    c->beheaded = c->beheaded || (!size && !c->out->size && begin == c->copied);
    bl_buffer_append(c->out, c->text + c->copied, begin - c->copied);
    bl_buffer_append(c->out, with, size);
    c->copied = end;
}

/* The control characters that Nmt of `tokenizers` removes, and the white space of which it makes a space. */
static bool nmt_removes(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}

static bool nmt_makes_space(uint32_t c)
{
    return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

/* Applies a step that writes the whole text to out. */
static int text_rewrite(const struct bl_normalizer *n, const char *text, size_t size, struct bl_buffer *out,
                        struct bl_error *e)
{
    size_t prefix = 0;
    switch (n->kind) {
    case BL_NORMALIZER_BERT:
        return bl_bert_normalize(&n->bert, text, size, out, e);
    case BL_NORMALIZER_BYTES:
        bl_alphabet_append_bytes(text, size, out);
        return BL_OK;
    case BL_NORMALIZER_PREPEND:
        bl_buffer_append(out, n->to.data, n->to.size);
        bl_buffer_append(out, text, size);
        return BL_OK;
    case BL_NORMALIZER_SENTENCEPIECE:
        return sentencepiece_normalize(n->sentencepiece, text, size, out);
    default:
        /* Only the text behind the prefix is normalised. */
        prefix = bl_normal_form_prefix(n->form, text, size);
        bl_buffer_append(out, text, prefix);
        return bl_normal_form_apply(n->form, text + prefix, size - prefix, out);
    }
}

/* Applies a step that changes single places of the text. The caller appends the text behind the last change. */
static int text_change(const struct bl_normalizer *n, struct bl_matcher *matcher, struct change *c, size_t size,
                       struct bl_error *e)
{
    const char *at = c->text, *end = c->text + size, *seen;
    struct bl_matches m = {0};
    if (n->kind == BL_NORMALIZER_PRECOMPILED)
        return precompiled_apply(n->precompiled, c->text, size, &c->copied, c->out);
    /* Replaces all matches of an expression. It may see other bytes than those of the text, but at the same offsets
     * (bl_regex_see). A match is never empty: normalizer_json.c refuses such expressions. */
    if (n->kind == BL_NORMALIZER_REPLACE && n->regex) {
        int code = bl_regex_see(n->regex, matcher, c->text, size, &seen, e);
        for (bool found = true; found && !code;) {
            code = bl_regex_next(n->regex, matcher, seen, size, &m, &found, e);
            if (!code && found)
                normalizer_change_put(c, m.match.begin, m.match.end, n->to.data, n->to.size);
        }
        return code;
    }
    /* Replaces all occurrences of a text, from left to right, without overlap. */
    while (n->kind == BL_NORMALIZER_REPLACE && (at = memmem(at, (size_t)(end - at), n->from.data, n->from.size))) {
        size_t begin = (size_t)(at - c->text);
        normalizer_change_put(c, begin, begin + n->from.size, n->to.data, n->to.size);
        at += n->from.size;
    }
    /* The other steps change single characters. */
    bool nmt = n->kind == BL_NORMALIZER_NMT;
    for (size_t i = 0, next; n->kind != BL_NORMALIZER_REPLACE && i < size; i = next) {
        uint32_t point;
        next = i + bl_utf8_decode(c->text + i, &point);
        if (nmt ? nmt_removes(point) : bl_bert_class(point) & BL_BERT_COMBINING)
            normalizer_change_put(c, i, next, "", 0);
        else if (nmt && nmt_makes_space(point))
            normalizer_change_put(c, i, next, " ", 1);
    }
    return BL_OK;
}

int bl_normalizer_apply(const struct bl_normalizer *n, struct bl_matcher *matcher, struct bl_normal_text *t,
                        struct bl_buffer *out, struct bl_error *e)
{
    struct change c = {.text = t->text, .out = out};
    int code;
    /* Strips white space: the result is a part of the text, so nothing is copied. The end is trimmed first, so that a
     * text of spaces alone is done with one pass. */
    if (n->kind == BL_NORMALIZER_STRIP) {
        if (n->right)
            t->size = bl_character_trim((const uint8_t *)t->text, t->size);
        size_t space = n->left ? bl_character_space((const uint8_t *)t->text, t->size) : 0;
        t->text += space;
        t->size -= space;
        t->head = space ? 0 : t->head;
    }
    if (!t->size || n->kind == BL_NORMALIZER_STRIP)
        return BL_OK;
    /* Most text is in the form already, and needs no copy. */
    if (n->kind == BL_NORMALIZER_FORM && bl_normal_form_prefix(n->form, t->text, t->size) == t->size)
        return BL_OK;
    bl_buffer_clear(out);
    /* A first character that BERT's normalizer removes leaves no head for the marks of pre-tokenizers. */
    uint32_t point;
    bl_utf8_decode(t->text, &point);
    unsigned removed = (n->bert.clean_text ? BL_BERT_REMOVED : 0U) | (n->bert.strip_accents ? BL_BERT_MARK : 0U);
    c.beheaded = n->kind == BL_NORMALIZER_BERT && bl_bert_class(point) & removed;
    if (n->kind <= BL_NORMALIZER_BERT || n->kind == BL_NORMALIZER_PREPEND || n->kind == BL_NORMALIZER_BYTES ||
        n->kind == BL_NORMALIZER_SENTENCEPIECE) {
        code = text_rewrite(n, t->text, t->size, out, e);
    } else {
        code = text_change(n, matcher, &c, t->size, e);
        /* Nothing changed: the text stays where it is. */
        if (!code && !c.copied && !out->size)
            return BL_OK;
        bl_buffer_append(out, c.text + c.copied, t->size - c.copied);
    }
    if (code || out->failed)
        return out->failed ? bl_error_memory(e) : code;
    /* The prepended text counts as a part of the first character. */
    if (n->kind == BL_NORMALIZER_PREPEND && t->head)
        t->head += n->to.size;
    *t = (struct bl_normal_text){out->data ? out->data : "", out->size, c.beheaded ? 0 : t->head};
    return BL_OK;
}

void bl_normalizer_free(struct bl_normalizer *n)
{
    bl_regex_close(n->regex);
    bl_buffer_free(&n->from);
    bl_buffer_free(&n->to);
    bl_precompiled_close(n->precompiled);
    if (n->sentencepiece)
        bl_sentencepiece_free(n->sentencepiece);
    free(n->sentencepiece);
}
