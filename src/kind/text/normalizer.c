#include "kind/text/normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "kind/text/alphabet.h"
#include "kind/text/bert_table.h"
#include "kind/text/character.h"

/* A text that changes while it is read. What does not change is copied in one piece, where anything changes at all. */
struct change {
    const char *text;
    size_t copied; /* bytes of the text that are in out already */
    struct bl_buffer *out;
    bool beheaded; /* its beginning was removed */
};

/* Replaces [begin, end) of the text. */
static void change_put(struct change *c, size_t begin, size_t end, const char *with, size_t size)
{
    c->beheaded = c->beheaded || (!size && !c->out->size && begin == c->copied);
    bl_buffer_append(c->out, c->text + c->copied, begin - c->copied);
    bl_buffer_append(c->out, with, size);
    c->copied = end;
}

static int literal_replace(const struct bl_normalizer *n, struct change *c, size_t size)
{
    const char *at = c->text, *end = c->text + size;
    while ((at = memmem(at, (size_t)(end - at), n->from.data, n->from.size))) {
        size_t begin = (size_t)(at - c->text);
        change_put(c, begin, begin + n->from.size, n->to.data, n->to.size);
        at += n->from.size;
    }
    return BL_OK;
}

static int regex_replace(const struct bl_normalizer *n, struct bl_matcher *matcher, struct change *c, size_t size,
                         struct bl_error *e)
{
    struct bl_matches m = {0};
    const char *seen;
    int code = bl_regex_see(n->regex, matcher, c->text, size, &seen, e);
    for (bool found = true; found && !code;) {
        code = bl_regex_next(n->regex, matcher, seen, size, &m, &found, e);
        if (!code && found)
            change_put(c, m.match.begin, m.match.end, n->to.data, n->to.size);
    }
    return code;
}

static void accents_strip(struct change *c, size_t size)
{
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t point;
        next = at + bl_utf8_decode(c->text + at, &point);
        if (bl_bert_class(point) & BL_BERT_COMBINING)
            change_put(c, at, next, "", 0);
    }
}

static bool nmt_removes(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}

static bool nmt_makes_space(uint32_t c)
{
    return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

static void nmt_clean(struct change *c, size_t size)
{
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t point;
        next = at + bl_utf8_decode(c->text + at, &point);
        if (nmt_removes(point))
            change_put(c, at, next, "", 0);
        else if (nmt_makes_space(point))
            change_put(c, at, next, " ", 1);
    }
}

/* A step whose result is a part of the text. */
static void text_strip(const struct bl_normalizer *n, struct bl_normal_text *t)
{
    if (n->right)
        t->size = bl_character_trim((const uint8_t *)t->text, t->size);
    size_t space = n->left ? bl_character_space((const uint8_t *)t->text, t->size) : 0;
    t->text += space;
    t->size -= space;
    t->head = space ? 0 : t->head;
}

/* A step that writes all of the text anew. */
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
        return bl_sentencepiece_normalize(n->sentencepiece, text, size, out);
    default:
        prefix = bl_normal_form_prefix(n->form, text, size);
        bl_buffer_append(out, text, prefix);
        return bl_normal_form_apply(n->form, text + prefix, size - prefix, out);
    }
}

static int text_change(const struct bl_normalizer *n, struct bl_matcher *matcher, struct change *c, size_t size,
                       struct bl_error *e)
{
    switch (n->kind) {
    case BL_NORMALIZER_REPLACE:
        return n->regex ? regex_replace(n, matcher, c, size, e) : literal_replace(n, c, size);
    case BL_NORMALIZER_STRIP_ACCENTS:
        accents_strip(c, size);
        return BL_OK;
    case BL_NORMALIZER_NMT:
        nmt_clean(c, size);
        return BL_OK;
    default:
        return bl_precompiled_apply(n->precompiled, c->text, size, &c->copied, c->out);
    }
}

static bool bert_beheads(const struct bl_normalizer *n, const char *text)
{
    uint32_t point;
    bl_utf8_decode(text, &point);
    unsigned removed = (n->bert.clean_text ? BL_BERT_REMOVED : 0U) | (n->bert.strip_accents ? BL_BERT_MARK : 0U);
    return bl_bert_class(point) & removed;
}

int bl_normalizer_apply(const struct bl_normalizer *n, struct bl_matcher *matcher, struct bl_normal_text *t,
                        struct bl_buffer *out, struct bl_error *e)
{
    struct change c = {.text = t->text, .out = out};
    int code;
    if (n->kind == BL_NORMALIZER_STRIP)
        text_strip(n, t);
    if (!t->size || n->kind == BL_NORMALIZER_STRIP)
        return BL_OK;
    /* Most text is in the form already, and is not copied. */
    if (n->kind == BL_NORMALIZER_FORM && bl_normal_form_prefix(n->form, t->text, t->size) == t->size)
        return BL_OK;
    bl_buffer_clear(out);
    c.beheaded = n->kind == BL_NORMALIZER_BERT && bert_beheads(n, t->text);
    if (n->kind <= BL_NORMALIZER_BERT || n->kind == BL_NORMALIZER_PREPEND || n->kind == BL_NORMALIZER_BYTES ||
        n->kind == BL_NORMALIZER_SENTENCEPIECE) {
        code = text_rewrite(n, t->text, t->size, out, e);
    } else {
        code = text_change(n, matcher, &c, t->size, e);
        if (!code && !c.copied && !out->size)
            return BL_OK;
        bl_buffer_append(out, c.text + c.copied, t->size - c.copied);
    }
    if (code || out->failed)
        return out->failed ? bl_error_memory(e) : code;
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
