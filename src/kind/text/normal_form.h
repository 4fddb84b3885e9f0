/* Rules of Unicode for whole texts: their normal forms, BERT's normalizer, the grapheme clusters that they consist of,
 * and the comparison of texts for --dedup-by. */
#ifndef BL_NORMAL_FORM_H
#define BL_NORMAL_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- normal forms ------------------------------------------------------------------------------------------------- */

/* Normal forms of Unicode (Unicode Standard Annex 15), as in the released `tokenizers` package: by Unicode 9, so that
 * later code points do not change; and NFC by Unicode 16, as other engines have it. */

enum bl_normal_form { BL_NFC, BL_NFD, BL_NFKC, BL_NFKD, BL_NFC_16 };

/* Texts are valid UTF-8. */

/* The length of a prefix that is in the form already, whatever follows; size: all of the text is. Most text is, and
 * checking costs much less than normalising. The prefix may be shorter than possible. */
size_t bl_normal_form_prefix(enum bl_normal_form form, const char *text, size_t size);

/* Appends the text in the form. BL_EFAIL: out of memory, which the buffer remembers. */
int bl_normal_form_apply(enum bl_normal_form form, const char *text, size_t size, struct bl_buffer *out);

/* --- BERT's normalizer -------------------------------------------------------------------------------------------- */

/* BERT's normalizer, as in the released `tokenizers` package. */

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

/* --- grapheme clusters -------------------------------------------------------------------------------------------- */

/* Extended grapheme clusters (Unicode Standard Annex 29), by the version of Unicode that `tokenizers` has. */

/* The bytes of the cluster that a text (valid UTF-8, not empty) begins with. */
size_t bl_grapheme_size(const char *text, size_t size);

/* --- texts that count as the same --------------------------------------------------------------------------------- */

/* Texts that count as the same, for --dedup-by KEY[:nfkc,lower,space]: those with one normal form. */

struct bl_same_text {
    const char *key; /* of size bytes, within the text of the option; NULL: not given */
    size_t size;
    bool nfkc, lower, space;
};

/* What normal forms are made in. Zero it first. */
struct bl_same_text_buffers {
    struct bl_buffer buffer[4]; /* a step each */
};

void bl_same_text_buffers_free(struct bl_same_text_buffers *buffers);

/* Parses the text of the option, which same points into. False: it has no key, or a word after the last colon that is
 * none of the steps. */
bool bl_same_text_parse(struct bl_same_text *same, const char *text);

/* Appends KEY[:nfkc,lower,space], with the steps in this order. */
void bl_same_text_format(const struct bl_same_text *same, struct bl_buffer *out);

/* Appends the name of the column that a scan adds for the key of documents: "digest(text:lower)". */
void bl_same_text_append_column(const struct bl_same_text *same, struct bl_buffer *out);

/* Sets *text to its normal form: NFKC, then lower case, then each run of white space as one space, with none at its
 * ends; as far as they are asked for. Then U+FFFD replaces what is not UTF-8. It is in the buffers, or a part of what
 * it was. */
int bl_same_text_normalize(const struct bl_same_text *same, const char **text, size_t *size,
                           struct bl_same_text_buffers *buffers, struct bl_error *e);

/* Appends the 32 hexadecimal digits of the hash of a normal form; of an empty one nothing. */
void bl_same_text_append_digest(const char *text, size_t size, struct bl_buffer *out);

#endif
