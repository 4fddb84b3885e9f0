/* The end of a run for people: where its time went, what limited it, and what to run next. */
#ifndef BL_END_REPORT_H
#define BL_END_REPORT_H

#include "base/buffer.h"
#include "base/error.h"
#include "run/bottleneck.h"

/* Appends two lines, each ended by a line feed: "time: 1.2 s listing, ..." and "limit: decoding, 83 % of the time";
 * nothing for a run of a few seconds. */
void bl_end_report_append_times(const struct bl_run_times *times, struct bl_buffer *out);

/* Prints these lines. */
void bl_end_report_print_times(const struct bl_run_times *times);

/* Prints "next: bload COMMAND DIR AFTER", with the name as a shell takes it. */
void bl_end_report_print_next(const char *command, const char *dir, const char *after);

#endif
