/* What `bload doctor` examines, and the findings that it collects. */
#ifndef BL_DOCTOR_MACHINE_H
#define BL_DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"

/* --- findings ----------------------------------------------------------------------------------------------------- */

enum bl_verdict {
    BL_VERDICT_OK,
    BL_VERDICT_NOTE,    /* worth knowing, and no fault: there is no GPU */
    BL_VERDICT_WARNING, /* something goes slower, or less safely */
    BL_VERDICT_FAULT,   /* bload needs it, and it is missing */
    BL_VERDICTS
};

struct bl_finding {
    const char *group, *name; /* "machine", "memory"; not copied */
    enum bl_verdict verdict;
    char *text;
    const char *unit; /* of value, for programs: "bytes"; NULL: there is none */
    int64_t value;
};

/* Initialize with {0}. As a buffer does, it remembers that memory ran out; bl_findings_check reports that once. */
struct bl_findings {
    const char *group; /* of the findings that follow */
    struct bl_finding *finding;
    size_t count, capacity;
    bool failed;
};

void bl_findings_add(struct bl_findings *f, enum bl_verdict verdict, const char *name, const char *format, ...)
    BL_PRINTF(4, 5);

/* Sets the value of the finding that was added last. */
void bl_findings_value(struct bl_findings *f, const char *unit, int64_t value);

/* The number of findings with that verdict. */
int64_t bl_findings_count(const struct bl_findings *f, enum bl_verdict verdict);

/* "ok", "note", "warning", "fault" */
const char *bl_verdict_name(enum bl_verdict verdict);

/* BL_EFAIL: memory ran out. */
int bl_findings_check(const struct bl_findings *f, struct bl_error *e);
void bl_findings_free(struct bl_findings *f);

/* Appends all findings as JSON. dir: the directory that was examined. */
int bl_findings_json(const struct bl_findings *f, const char *dir, struct bl_buffer *out, struct bl_error *e);

/* --- examinations ------------------------------------------------------------------------------------------------- */

/* The parts of an examination. Each adds its findings. Where something cannot be examined, that is a finding, too, and
 * no error. Call bl_doctor_sandbox first, before the parts that may start threads: a process with threads must not
 * fork. */

/* bload and the libraries that it runs with. */
void bl_doctor_versions(struct bl_findings *f);

/* The decoders of this FFmpeg for the usual codecs. */
void bl_doctor_decoders(struct bl_findings *f);

/* Processors, memory, and the limits of this process. */
void bl_doctor_limits(struct bl_findings *f);

/* Processes that decode: shared memory, the filter of system calls. */
void bl_doctor_sandbox(struct bl_findings *f);

/* Examines a directory for datasets, and writes there for about a second. The file has names for a moment only, during
 * which signals are blocked, so that nothing is left, however the process ends. cancel is tested in between. */
void bl_doctor_disk(struct bl_findings *f, const char *dir, const struct bl_cancel *cancel);

/* GPUs that decode. Starts threads where there are any. */
void bl_doctor_gpus(struct bl_findings *f);

#endif
