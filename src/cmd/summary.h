/* What commands print for people: faults and events while a run goes on, summaries of plans and datasets, the end of a
 * run, and forecasts. */
#ifndef BL_SUMMARY_H
#define BL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cmd/progress_bar.h"
#include "kind/row.h"
#include "run/packing.h"
#include "plan/plan.h"
#include "run/bottleneck.h"
#include "run/finish.h"
#include "store/info.h"
#include "store/plan_info.h"

/* --- lines about faults ------------------------------------------------------------------------------------------- */

/* The lines that name the faults of rows: of each file, and in all, only the first; the others are counted. */

/* Zero it before the first line. */
struct bl_fault_lines {
    int64_t empty;               /* printed rows that have no fault and no steps */
    struct bl_buffer path;       /* of the file whose faults were printed last */
    int64_t printed, suppressed; /* faults printed of that file; faults not printed, in total */
    bool damage_printed;         /* that this file is damaged */
    int64_t damages, faults;     /* printed in total: of damaged files, and others */
    bool is_told;                /* how many were not printed */
};

/* Prints a fault of a row: "skipped a.mp4: empty file". Prints only the first ten empty rows, and the first ten faults
 * of each file, and no more than a hundred in all. */
void bl_fault_lines_print(struct bl_fault_lines *faults, const struct bl_row *row);

/* Prints the number of faults that neither this module nor the scan (suppressed) printed, if any, and which table has
 * them: "15 more faults: see d/sequences.tsv". Does nothing the second time. table NULL: none was written. */
void bl_fault_lines_print_rest(struct bl_fault_lines *faults, int64_t suppressed, const char *table);

/* The same with the table of a dataset: as far as it is, the finished or the unfinished one. */
void bl_fault_lines_print_rest_of(struct bl_fault_lines *faults, int64_t suppressed, const char *dir);

/* Prints "1,234 empty documents skipped", if there are any. */
void bl_fault_lines_print_empty(int64_t empty);

void bl_fault_lines_free(struct bl_fault_lines *faults);

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Prints what packing reports: faults, progress and messages. */

struct bl_event_printer {
    struct bl_fault_lines *faults; /* printed before */
    struct bl_progress_bar bar;
};

/* Returns the printing functions; they are valid as long as the printer. */
struct bl_packing_events bl_event_printer_events(struct bl_event_printer *printer);

/* --- summaries ---------------------------------------------------------------------------------------------------- */

/* Summaries of a plan and of a finished dataset, for people. */

/* Prints a few lines on stderr: blocks, bound and gap, padding and the cost of naive padding, deleted and cut steps. */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info);

/* Prints "dataset: 12 shards, 3.1 GB; 4,567 frames/s". steps: the plural for steps; NULL: no rate is printed. */
void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps);

/* Prints "1 input skipped, 2 damaged: see sequences.tsv", if there are any. */
void bl_summary_faults(const struct bl_fault_counts *counts, const char *path);

/* Prints how many of the plans put the same sequences together as an earlier one, if any, and why.
 * is_kept: their order is. */
void bl_summary_repeated(int64_t repeated, int64_t plans, bool is_kept);

/* Prints how many sequences were left out by request, for each option that did so. */
void bl_summary_left_out(const struct bl_left_out_counts *counts);

/* Prints the lines of a text, if it is not NULL. */
void bl_summary_notes(const struct bl_buffer *notes);

/* Reports that a dataset is complete. faults, or NULL: why the exit status is 3 nevertheless. */
void bl_summary_complete(const char *dir, const struct bl_fault_counts *faults);

/* Reports inputs that were unusable or only partly usable, where they are listed, and their fields and steps, if there
 * are any. */
void bl_summary_finished(const struct bl_finished *finished, const char *dir);

/* Prints how many sequences have a field that was adjusted to their length, if any. */
void bl_summary_adjusted(int64_t adjusted);

/* Prints the sums of columns over the usable sequences. */
void bl_summary_totals(const struct bl_totals *totals);

/* --- end of a run ------------------------------------------------------------------------------------------------- */

/* The end of a run for people: where its time went, what limited it, and what to run next. */

/* Appends two lines, each ended by a line feed: "time: 1.2 s listing, ..." and "limit: decoding, 83 % of the time";
 * nothing for a run of a few seconds. */
void bl_end_report_append_times(const struct bl_run_times *times, struct bl_buffer *out);

/* Prints these lines. */
void bl_end_report_print_times(const struct bl_run_times *times);

/* Prints "next: bload COMMAND DIR AFTER", with the name as a shell takes it. */
void bl_end_report_print_next(const char *command, const char *dir, const char *after);

/* --- forecasts ---------------------------------------------------------------------------------------------------- */

/* Prints forecasts: all of one for bload pack --dry-run, and what is worth knowing before a long run. */

/* Prints some lines on stderr: the shards and their room, memory, time, and what they are estimated from. */
void bl_forecast_print(const char *dir, const struct bl_forecast *forecast);

/* Before the first shard of a run: prints a line if the run will be long, and a warning if the disk may become full.
 * The forecast is that of the plan. */
void bl_forecast_announce(const char *dir, const struct bl_forecast *forecast, bool quiet);

/* Whether there is room for the shards, or at least for the fewest bytes that they may have. BL_EFAIL, with both
 * figures: there is not. */
int bl_forecast_check_room(const char *dir, const struct bl_forecast *forecast, struct bl_error *e);

/* Prints it on standard output as JSON. */
int bl_forecast_write_json(const struct bl_forecast *forecast, struct bl_error *e);

#endif
