/* Each step goes over the whole text, since the next one may change its result: an ideograph, for example, is found
 * before it is decomposed. */
#include "kind/text/bert.h"

#include "kind/text/bert_table.h"
#include "kind/text/normal_form.h"
#include "kind/text/unicode.h"
#include "base/utf8.h"

/* The blocks of ideographs that BERT's authors listed; the package lacks U+2B820 to U+2B91F. */
static bool is_chinese(uint32_t c)
{
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

static void bert_clean(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out)
{
    size_t done = 0; /* bytes that were copied or replaced */
    for (size_t at = 0, next; at < size; at = next) {
        uint32_t c;
        next = at + bl_utf8_decode(text + at, &c);
        bool removed = options->clean_text && bl_bert_class(c) & BL_BERT_REMOVED;
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

static void bert_append_lower(struct bl_buffer *out, uint32_t c)
{
    if (c < 0x80) {
        bl_buffer_byte(out, (char)(c | 0x20));
        return;
    }
    char bytes[BL_UTF8_MAX];
    size_t low = 0, high = bl_bert_lower_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (bl_bert_lower[middle].point < c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < bl_bert_lower_count && bl_bert_lower[low].point == c)
        bl_buffer_append(out, bytes, bl_utf8_encode(bl_bert_lower[low].lower, bytes));
    else
        bl_buffer_text(out, "i\u0307"); /* of U+0130 */
}

static void bert_strip_and_lower(const struct bl_bert_options *options, const char *text, size_t size,
                                 struct bl_buffer *out)
{
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
        if (class & BL_BERT_UPPER)
            bert_append_lower(out, c);
    }
    bl_buffer_append(out, text + done, size - done);
}

int bl_bert_normalize(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out,
                      struct bl_error *e)
{
    struct bl_buffer cleaned = {0}, decomposed = {0};
    bl_buffer_reserve(&cleaned, size);
    bert_clean(options, text, size, &cleaned);
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

int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e)
{
    size_t begin = 0;
    int code = 0;
    for (size_t at = 0; at < size && !code;) {
        uint32_t c;
        size_t length = bl_utf8_decode(text + at, &c);
        bool space = bl_unicode_class(c) & BL_SPACE, alone = bl_bert_class(c) & BL_BERT_PUNCTUATION;
        if ((space || alone) && begin < at)
            code = bl_spans_add(out, begin, at, e);
        if (alone && !code)
            code = bl_spans_add(out, at, at + length, e);
        at += length;
        if (space || alone)
            begin = at;
    }
    if (code || begin == size)
        return code;
    return bl_spans_add(out, begin, size, e);
}
