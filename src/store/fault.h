/* Faults of a dataset or view that is verified: where they are reported, and those of its files. */
#ifndef BL_FAULT_H
#define BL_FAULT_H

#include <stdbool.h>

#include "base/error.h"
#include "store/manifest.h"

/* Called for each fault: the file, relative to the directory, and what is wrong. */
typedef void bl_fault(void *context, const char *file, const char *text);

struct bl_fault_sink {
    bl_fault *fault;
    void *context;
};

void bl_fault_report(const struct bl_fault_sink *sink, const char *file, const char *format, ...) BL_PRINTF(3, 4);

/* Reports a file that is missing, or has another size or checksum than the manifest lists. Returns false if it is
 * missing or cut. */
bool bl_fault_check_file(const struct bl_fault_sink *sink, const char *dir, const struct bl_manifest_file *file);

#endif
