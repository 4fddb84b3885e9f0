/* Goes through the parts of an export in parallel: each is made of the blocks of the dataset, and written or compared.
 */
#ifndef BL_EXPORT_PARTS_H
#define BL_EXPORT_PARTS_H

#include <stdint.h>

#include "base/cancel.h"
#include "export/format.h"

struct bl_export_parts {
    const struct bl_export_job *job;
    const char *dir;     /* of the dataset or view */
    int64_t begin, end;  /* parts */
    const uint8_t *skip; /* [parts] 1: not this one; NULL: all */
    int workers;
    struct bl_cancel *cancel;
    /* Opens a part, on any thread. */
    int (*open)(void *context, int64_t number, struct bl_export_part *part, struct bl_error *e);
    /* Ends it, on the same thread. code: BL_OK, or what failed, with the error in e; what it returns is fatal. */
    int (*close)(void *context, int64_t number, struct bl_export_part *part, int code, struct bl_error *e);
    /* Several times a second, on the caller's thread: how many more blocks are done. */
    void (*tick)(void *context, int64_t blocks);
    void *context;
};

/* The first fatal error ends it; BL_ECANCEL: cancelled. */
int bl_export_parts_run(const struct bl_export_parts *parts, struct bl_error *e);

#endif
