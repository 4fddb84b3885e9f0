/* The texts of fields of tokens, and their division into lines. */
#ifndef BL_PASSAGES_H
#define BL_PASSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/detokenizer.h"

/* --- passages ----------------------------------------------------------------------------------------------------- */

/* The text of a field of tokens: what the ids of each piece decode to, or the ids themselves, in runs. Of any field
 * with steps of its own, also their first values. */

#define BL_PASSAGES_MAX ((size_t)64 << 20) /* bytes of a field's text: what draws it takes several times as many */

/* Text of one piece that is shaded, or is not. */
struct bl_passage_run {
    size_t piece;
    size_t end; /* in the text, which begins where the run before ends */
    bool is_shaded;
};

struct bl_passages {
    int field;
    bool is_ids;           /* the text has ids with spaces between them, as their tokenizer is not known */
    bool *damaged;         /* [pieces]: these have no runs */
    int32_t *own;          /* [pieces] steps of a field with steps of its own; NULL: the field lies on the axis */
    int64_t own_steps;     /* of all pieces */
    struct bl_buffer text; /* UTF-8; of what cannot be seen only line ends and tabs */
    struct bl_passage_run *run;
    size_t runs, capacity;

    /* Of the piece that is being added: */
    struct bl_buffer bytes;
    size_t *mark, marks, marks_capacity; /* where in bytes the shading changes: on, off, on... */
    bool is_shaded;
};

/* Adds an id of a piece. detokenizer may be NULL. BL_EDATA: it decodes to nothing;
 * BL_EUSAGE: the text becomes longer than BL_PASSAGES_MAX. */
int bl_passages_add(struct bl_passages *passages, struct bl_detokenizer *detokenizer, int64_t id, bool is_shaded,
                    struct bl_error *e);
/* Ends the piece: its runs are there. BL_EUSAGE as above. */
int bl_passages_end(struct bl_passages *passages, size_t piece, struct bl_error *e);
/* Forgets what was added of the piece. */
void bl_passages_drop(struct bl_passages *passages);

void bl_passages_free(struct bl_passages *passages);

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The text of a piece in lines of so many columns, for outputs that do not break lines themselves. */

struct bl_text_lines {
    void (*begin)(void *to);
    void (*put)(void *to, const char *text, size_t size, bool is_shaded); /* a part of the line */
    void (*end)(void *to);
    void *to;
    int columns; /* at least 2 */
};

/* Gives the lines of a piece: broken where the text has a line end, between words, or within a word that is too long.
 */
void bl_text_lines_put(const struct bl_text_lines *lines, const struct bl_passages *passages, size_t piece);

#endif
