/* Rules of Unicode for whole texts: normal forms, BERT's normalizer, grapheme clusters, and the comparison of texts for
 * --dedup-by.
 *
 * The results equal those of the released `tokenizers` package, since ids depend on each character: a normal form by a
 * later version of Unicode gives other ids. For example, NFKC makes "fi" of U+FB01, and NFD makes "e" and U+0301 of
 * U+00E9. */
#ifndef BL_NORMAL_FORM_H
#define BL_NORMAL_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- normal forms ------------------------------------------------------------------------------------------------- */

/* Normal forms by Unicode Standard Annex 15. `tokenizers` has Unicode 9, so code points of later versions do not
 * change. Other engines have Unicode 16, which BL_NFC_16 follows. */

enum bl_normal_form { BL_NFC, BL_NFD, BL_NFKC, BL_NFKD, BL_NFC_16 };

/* All texts of this section are valid UTF-8. */

/* Returns the size in bytes of a prefix that is in the form already, whatever follows it; size means that all of the
 * text is. Most text is in the form, and this check costs much less than normalising. The prefix may be shorter than
 * possible. */
size_t bl_normal_form_prefix(enum bl_normal_form form, const char *text, size_t size);

/* Appends the text in the form. BL_EFAIL: memory ran out, and out->failed is set. */
int bl_normal_form_apply(enum bl_normal_form form, const char *text, size_t size, struct bl_buffer *out);

/* --- BERT's normalizer -------------------------------------------------------------------------------------------- */

/* BERT's normalizer as in the released `tokenizers` package. The options are those of BertNormalizer in tokenizer.json;
 * where strip_accents is null in the file, it has the value of lowercase. */
struct bl_bert_options {
    bool clean_text;           /* no control characters; all white space is a space */
    bool handle_chinese_chars; /* a space on each side of an ideograph */
    bool strip_accents;        /* the text is decomposed (NFD), and nonspacing marks are removed */
    bool lowercase;            /* each character by itself, without its context */
};

/* Appends the normalised text. text is valid UTF-8. BL_EFAIL: memory ran out. */
int bl_bert_normalize(const struct bl_bert_options *options, const char *text, size_t size, struct bl_buffer *out,
                      struct bl_error *e);

/* --- grapheme clusters -------------------------------------------------------------------------------------------- */

/* Returns the bytes of the extended grapheme cluster (Unicode Standard Annex 29) with which a text begins, by the
 * version of Unicode that `tokenizers` has. text is valid UTF-8 and not empty. For example, "e" U+0301 is one cluster
 * of 3 bytes. */
size_t bl_grapheme_size(const char *text, size_t size);

/* --- texts that count as the same --------------------------------------------------------------------------------- */

/* Texts count as the same for --dedup-by KEY[:nfkc,lower,space] if they have one normal form by these steps. */

struct bl_same_text {
    const char *key; /* size bytes within the text of the option, which owns them; NULL: the option is not given */
    size_t size;
    bool nfkc, lower, space; /* the steps, which run in this order */
};

/* Buffers for the normal form of a text, used again for each text. Start from {0}. */
struct bl_same_text_buffers {
    struct bl_buffer buffer[4]; /* one for each step: repair of UTF-8, nfkc, lower, space */
};

void bl_same_text_buffers_free(struct bl_same_text_buffers *buffers);

/* Parses the text of the option. same points into this text. Returns false if there is no key, or if a word after the
 * last colon is no step. */
bool bl_same_text_parse(struct bl_same_text *same, const char *text);

/* Appends KEY[:nfkc,lower,space], with the steps in this order. */
void bl_same_text_format(const struct bl_same_text *same, struct bl_buffer *out);

/* Appends the name of the column that a scan adds for the key of documents: "digest(text:lower)". */
void bl_same_text_append_column(const struct bl_same_text *same, struct bl_buffer *out);

/* Sets *text to its normal form by the requested steps: NFKC, then lower case, then each run of white space as one
 * space, with none at the ends. Before the first step, U+FFFD replaces bytes that are not UTF-8. The result is in the
 * buffers, or is the text itself where nothing changes. */
int bl_same_text_normalize(const struct bl_same_text *same, const char **text, size_t *size,
                           struct bl_same_text_buffers *buffers, struct bl_error *e);

/* Appends 32 hexadecimal digits, the XXH3 hash of 128 bits of a normal form. An empty text appends nothing. */
void bl_same_text_append_digest(const char *text, size_t size, struct bl_buffer *out);

#endif
