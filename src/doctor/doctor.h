/* The parts of an examination, each a file of its own. Each adds its findings; what they lack is a finding, too, and no
 * error. Call bl_doctor_sandbox before what may start threads: a process with threads must not fork. */
#ifndef BL_DOCTOR_H
#define BL_DOCTOR_H

#include "base/cancel.h"
#include "doctor/findings.h"

/* bload and the libraries that it runs with. */
void bl_doctor_versions(struct bl_findings *f);

/* The decoders of this FFmpeg for the usual codecs. */
void bl_doctor_decoders(struct bl_findings *f);

/* Processors, memory, and the limits of this process. */
void bl_doctor_limits(struct bl_findings *f);

/* Processes that decode: shared memory, the filter of system calls. */
void bl_doctor_sandbox(struct bl_findings *f);

/* A directory for datasets: writes there for about a second. What is written has its names for a moment only, during
 * which signals wait; so nothing is left, however the process ends. Looks at cancel in between. */
void bl_doctor_disk(struct bl_findings *f, const char *dir, const struct bl_cancel *cancel);

/* GPUs that decode. Starts threads where there are any. */
void bl_doctor_gpus(struct bl_findings *f);

#endif
