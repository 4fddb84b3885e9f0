#include "kind/text/same_text.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "base/utf8.h"
#include "kind/text/character.h"
#include "kind/text/normal_form.h"
#include "kind/text/wordpiece.h"

void bl_same_text_buffers_free(struct bl_same_text_buffers *b)
{
    for (size_t i = 0; i < sizeof b->buffer / sizeof *b->buffer; i++)
        bl_buffer_free(&b->buffer[i]);
}

/* --- the option ------------------------------------------------------------------------------------------------- */

static bool same_text_set_step(struct bl_same_text *same, const char *word, size_t size)
{
    const struct {
        const char *word;
        bool *step;
    } known[] = {{"nfkc", &same->nfkc}, {"lower", &same->lower}, {"space", &same->space}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].word) == size && memcmp(known[i].word, word, size) == 0) {
            *known[i].step = true;
            return true;
        }
    }
    return false;
}

bool bl_same_text_parse(struct bl_same_text *same, const char *text)
{
    const char *colon = strrchr(text, ':');
    *same = (struct bl_same_text){.key = text, .size = colon ? (size_t)(colon - text) : strlen(text)};
    for (const char *at = colon && colon[1] ? colon + 1 : NULL; at;) {
        size_t size = strcspn(at, ",");
        if (!same_text_set_step(same, at, size))
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

/* --- normal forms ----------------------------------------------------------------------------------------------- */

/* Appends the text with a space for each run of white space, and without those at its ends. */
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
    const struct bl_bert_options lower = {.lowercase = true};
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
