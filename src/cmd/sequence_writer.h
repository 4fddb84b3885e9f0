/* Writes one sequence in a form that other programs read, a MiB of steps at a time. */
#ifndef BL_SEQUENCE_WRITER_H
#define BL_SEQUENCE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/text/detokenizer.h"
#include "store/blocks.h"

enum bl_sequence_form { BL_FORM_AUTO, BL_FORM_NPY, BL_FORM_WAV, BL_FORM_IDS, BL_FORM_PNG, BL_FORM_TEXT };

/* Their names, by number, ended by NULL. */
extern const char *const bl_sequence_form_names[];

/* The form that suits a field if none is asked for, and no tokenizer is given. */
enum bl_sequence_form bl_sequence_form_of(const struct bl_manifest *manifest, int field);

/* Whether people can read it. */
bool bl_sequence_form_is_text(enum bl_sequence_form form);

struct bl_sequence_job {
    struct bl_stored_sequence *sequence; /* begun */
    enum bl_sequence_form form;          /* not BL_FORM_AUTO */
    const char *path;                    /* NULL: standard output */
    bool is_folder;                      /* path is one, with a file for each step, 000000.png and so on: of png */
    struct bl_detokenizer *detokenizer;  /* of text */
    const struct bl_cancel *cancel;
};

/* BL_EUSAGE: the field has no such form, or the folder is not empty. BL_EDATA: steps are damaged; a file or folder does
 * not get its name then. */
int bl_sequence_write(const struct bl_sequence_job *job, struct bl_error *e);

#endif
