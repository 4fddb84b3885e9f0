/* Samples: replaces the tars among the inputs by their samples. */
#ifndef BL_SAMPLES_H
#define BL_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/option.h"
#include "scan/files.h"

/* Samples: the members of a tar that share a key, as in the WebDataset format. One member of each is the sequence: an
 * input, which is read in place. */

/* What tasks share while they list tars: one lists a tar, and the others read its listing. */
struct bl_sharing {
    const char *(*open)(void *context); /* called once, where there are tars: the folder; NULL: it cannot be shared */
    void *context;
    int64_t task, tasks; /* one of them */
};

struct bl_samples_options {
    const char *member;         /* extensions of the sequences, with commas between; NULL: by kind */
    const struct bl_kind *kind; /* of the sequences; NULL: by extension */
    const struct bl_texts
        *kept;        /* extensions of members that others will ask for, in lists, too: they go into files->members */
    const char *base; /* directory that relative paths count from, or NULL */
    int workers;      /* threads that read headers */
    const struct bl_sharing *sharing; /* of tasks; or NULL */
    struct bl_cancel *cancel;
};

/* Replaces each tar among the files by its samples, whose ids are those of the tar, without its extension, and the key.
 * What cannot be used becomes a file with a fault, for the scan to skip: a sample without a sequence, a link, a second
 * member of the same name, what is left of a tar that is damaged.
 *
 * BL_EUSAGE: which member is the sequence is not known (samples have several that can be, or none has any). BL_EFAIL:
 * the system fails. BL_ECANCEL. */
int bl_samples_expand(struct bl_files *files, const struct bl_samples_options *options, struct bl_error *e);

#endif
