/* Cuts and reorders documents for fill-in-the-middle (FIM).
 *
 * A document is cut at two of its characters into prefix, middle and suffix, and the middle is moved to the end, so
 * that a model learns to fill in a gap. Special tokens of the tokenizer begin the parts, in one of two forms:
 *
 *     PSM    <prefix> prefix <suffix> suffix <middle> middle
 *     SPM    <prefix> <suffix> suffix <middle> prefix middle
 *
 * Both are the forms of Megatron-LM (SPM is variant 2 of Bavarian and others, 2022), and each part is encoded alone,
 * as there. Which documents are transformed, and where they are cut, depends only on the seed, the text and its
 * offset in its file: not on other documents, workers or tasks. */
#ifndef BL_FIM_H
#define BL_FIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"

enum bl_fim_part { BL_FIM_PREFIX, BL_FIM_MIDDLE, BL_FIM_SUFFIX, BL_FIM_PARTS };

/* What --fim does with a document. The column fim has the names (bl_fim_form_name). */
enum bl_fim_form {
    BL_FIM_NONE,   /* no --fim, or the row is no document */
    BL_FIM_NO,     /* not drawn */
    BL_FIM_MARKED, /* drawn, not transformed: the text has the tokens already */
    BL_FIM_PSM,
    BL_FIM_SPM,
};

/* The value of --fim. The texts of tokens point into the text of the option, which must outlive the value. */
struct bl_fim {
    bool given;
    int64_t rate, spm; /* probabilities in millionths, 0 to 1000000: of a transformation, of SPM among these */
    uint64_t seed;
    struct {
        const char *text; /* of the token that begins the part, without a zero at the end; NULL: a known name */
        size_t size;
    } token[BL_FIM_PARTS];
};

/* The form that was drawn for a document, and its middle, if it is transformed: [begin, end) in bytes and [first,
 * last) in characters (code points). */
struct bl_fim_draw {
    enum bl_fim_form form;
    size_t begin, end;
    int64_t first, last;
};

/* An element of a form: a token, or the part of the text that it begins. */
struct bl_fim_element {
    bool is_token;
    enum bl_fim_part part;
};

#define BL_FIM_ELEMENTS 6
#define BL_FIM_COLUMN "fim" /* of sequences.tsv; fim.begin and fim.end have the cuts, in characters */

extern const struct bl_option_type bl_option_fim;

/* Draws the form and the cuts for a document, which must be valid UTF-8. offset is that of the document in its file,
 * in bytes. A larger rate transforms the documents of a smaller rate in the same way, since only the first draw is
 * compared with the rate. */
void bl_fim_draw(const struct bl_fim *fim, int64_t offset, const char *text, size_t size, struct bl_fim_draw *draw);

/* Returns the number of characters (code points) of valid UTF-8. */
int64_t bl_fim_count_characters(const char *text, size_t size);

/* Returns the BL_FIM_ELEMENTS elements of PSM or SPM, in order. */
const struct bl_fim_element *bl_fim_elements(enum bl_fim_form form);

/* Returns the names of the BL_FIM_PARTS tokens of a family of models, by its number from 0, or NULL behind the last
 * family. */
const char *const *bl_fim_family(size_t number);

/* Returns the name of the form in the column fim, such as "psm"; "" for BL_FIM_NONE. */
const char *bl_fim_form_name(enum bl_fim_form form);

#endif
