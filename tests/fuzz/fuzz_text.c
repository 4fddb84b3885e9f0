/* Any bytes through the parts of text that meet what users have: first made UTF-8, then normalised in every form, cut
 * as BERT does, and, what is before the first newline being a pattern, cut by it. */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "kind/text/normal_form.h"
#include "kind/text/pre_tokenizer.h"
#include "kind/text/regex.h"

static void normalize(const struct bl_buffer *text)
{
    struct bl_bert_options all = {true, true, true, true};
    struct bl_buffer out = {0};
    struct bl_spans spans = {0};
    struct bl_error e = {0};
    for (int form = BL_NFC; form <= BL_NFC_16; form++) {
        bl_buffer_clear(&out);
        never(bl_normal_form_apply((enum bl_normal_form)form, text->data, text->size, &out) ||
              bl_utf8_valid(out.data, out.size) < out.size ||
              bl_normal_form_prefix(BL_NFC, text->data, text->size) > text->size);
    }
    bl_buffer_clear(&out);
    never(bl_bert_normalize(&all, text->data, text->size, &out, &e) || bl_bert_split(out.data, out.size, &spans, &e));
    bl_buffer_free(&out);
    bl_spans_free(&spans);
}

static void split(const struct bl_buffer *text)
{
    const char *newline = memchr(text->data, '\n', text->size);
    struct bl_regex *regex;
    struct bl_matcher *matcher;
    struct bl_spans spans = {0};
    struct bl_error e = {0};
    if (!newline || bl_regex_open(&regex, text->data, (size_t)(newline - text->data), false, &e))
        return;
    size_t at = (size_t)(newline + 1 - text->data);
    never(bl_matcher_open(&matcher, &e));
    int rc = bl_regex_split(regex, matcher, BL_BEHAVIOR_ISOLATED, false, text->data + at, text->size - at, &spans, &e);
    size_t told = 0;
    for (size_t i = 0; i < spans.count && !rc; told = spans.span[i++].end) {
        never(spans.span[i].begin != told || spans.span[i].end <= told);
    }
    never(!rc && told != text->size - at);
    bl_spans_free(&spans);
    bl_matcher_close(matcher);
    bl_regex_close(regex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_buffer text = {0};
    int64_t replaced = 0;
    bl_buffer_text(&text, "");
    never(bl_text_replace_invalid((const char *)data, size, &text, &replaced));
    normalize(&text);
    split(&text);
    bl_buffer_free(&text);
    return 0;
}
