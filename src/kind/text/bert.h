/* BERT's normalizer and pre-tokenizer, as in the released `tokenizers` package. */
#ifndef BL_BERT_H
#define BL_BERT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/spans.h"

/* The options of BertNormalizer in tokenizer.json. If strip_accents is null there, it is set as lowercase is. */
struct bl_bert_options {
    bool clean_text;           /* no control characters; all white space is a space */
    bool handle_chinese_chars; /* spaces around each ideograph */
    bool strip_accents;        /* decomposed (NFD), without nonspacing marks */
    bool lowercase;
};

/* Appends the normalised text (of valid UTF-8). BL_EFAIL: out of memory. */
int bl_bert_normalize(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out,
                      struct bl_error *e);

/* Appends the words of a text (valid UTF-8): the parts between white space, and each punctuation character alone. */
int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e);

#endif
