/* Fill-in-the-middle (FIM): a document is cut at two of its characters into prefix, middle and suffix, and the middle
 * is moved to the end, so that a model learns to fill it in. Tokens of the tokenizer say where each part begins:
 *
 *     PSM    <prefix> prefix <suffix> suffix <middle> middle
 *     SPM    <prefix> <suffix> suffix <middle> prefix middle
 *
 * These are the forms of Megatron-LM (variant 2 of SPM in the paper of Bavarian and others, 2022), and each part is
 * encoded on its own, as there. Which documents are transformed, and where they are cut, depends on the seed, the text
 * and its offset in its file alone: not on other documents, workers or tasks. */
#ifndef BL_FIM_H
#define BL_FIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option.h"

enum bl_fim_part { BL_FIM_PREFIX, BL_FIM_MIDDLE, BL_FIM_SUFFIX, BL_FIM_PARTS };

enum bl_fim_form {
    BL_FIM_NONE,   /* not asked for, or no document */
    BL_FIM_NO,     /* not drawn */
    BL_FIM_MARKED, /* drawn, but the text has the tokens already */
    BL_FIM_PSM,
    BL_FIM_SPM,
};

/* The value of --fim. */
struct bl_fim {
    bool given;
    int64_t rate, spm; /* millionths */
    uint64_t seed;
    struct {
        const char *text; /* of the token that begins the part, not ended by zero; NULL: by known names */
        size_t size;
    } token[BL_FIM_PARTS];
};

/* What was drawn for a document: its middle, in bytes and in characters (code points). */
struct bl_fim_draw {
    enum bl_fim_form form;
    size_t begin, end;
    int64_t first, last;
};

/* An element of a form: a part, or the token that begins it. */
struct bl_fim_element {
    bool is_token;
    enum bl_fim_part part;
};

#define BL_FIM_ELEMENTS 6
#define BL_FIM_COLUMN "fim" /* of the table; those of the cuts are fim.begin and fim.end, in characters */

extern const struct bl_option_type bl_option_fim;

/* Draws for a document, valid UTF-8. A larger rate transforms the documents of a smaller one in the same way. */
void bl_fim_draw(const struct bl_fim *fim, int64_t offset, const char *text, size_t size, struct bl_fim_draw *draw);

/* Counts the characters (code points) of valid UTF-8. */
int64_t bl_fim_count_characters(const char *text, size_t size);

/* The elements of PSM or SPM, in order. */
const struct bl_fim_element *bl_fim_elements(enum bl_fim_form form);

/* The names of the tokens of a family of models; NULL: there is none of this number. */
const char *const *bl_fim_family(size_t number);

/* The form's name in the column fim: "psm"; "" for NONE. */
const char *bl_fim_form_name(enum bl_fim_form form);

#endif
