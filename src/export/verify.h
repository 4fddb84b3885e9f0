/* Verifying an export: its files against their checksums, or against the dataset that it was made of. */
#ifndef BL_EXPORT_VERIFY_H
#define BL_EXPORT_VERIFY_H

#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "run/progress.h"

struct bl_export_verify {
    const char *dir;     /* of the export */
    const char *against; /* the dataset or view; NULL: only checksums are compared */
    int workers;
    struct bl_cancel *cancel;
    void (*fault)(void *sink, const char *file, const char *text);
    void (*tick)(void *sink, const struct bl_progress *progress);
    void *sink;
    int64_t files, bytes; /* set: what was verified */
};

/* Reports every fault, which is no error. BL_EUSAGE: the dataset is another one. */
int bl_export_verify_run(struct bl_export_verify *verify, struct bl_error *e);

#endif
