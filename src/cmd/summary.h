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

/* Which faults of rows were printed. Only the first faults of each file, and in all, are; the others are counted.
 * Initialize with {0}. */
struct bl_fault_lines {
    int64_t empty;               /* printed rows that have no fault and no steps */
    struct bl_buffer path;       /* of the file whose faults were printed last */
    int64_t printed, suppressed; /* faults printed of that file; faults not printed, in total */
    bool damage_printed;         /* the line that this file is damaged is printed */
    int64_t damages, faults;     /* lines printed in total: about damaged files, and others */
    bool is_reported;            /* the number of faults that were not printed is printed */
};

/* Prints a fault of a row: "skipped a.mp4: empty file". Prints only the first ten empty rows, and the first ten faults
 * of each file, and no more than a hundred in all. */
void bl_fault_lines_print(struct bl_fault_lines *faults, const struct bl_row *row);

/* Prints the number of faults that neither this module nor the scan (suppressed) printed, if any, and which table has
 * them: "15 more faults: see d/sequences.tsv". Does nothing the second time. table NULL: none was written. */
void bl_fault_lines_print_rest(struct bl_fault_lines *faults, int64_t suppressed, const char *table);

/* The same with the table of the dataset in dir: sequences.tsv, or that in DIR/.bload while the dataset is unfinished.
 */
void bl_fault_lines_print_rest_of(struct bl_fault_lines *faults, int64_t suppressed, const char *dir);

/* Prints "1,234 empty documents skipped", if there are any. */
void bl_fault_lines_print_empty(int64_t empty);

void bl_fault_lines_free(struct bl_fault_lines *faults);

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Prints the faults, the progress and the messages that packing reports. All calls come from one thread. */
struct bl_event_printer {
    struct bl_fault_lines *faults; /* owned by the caller, who prints the rest at the end */
    struct bl_progress_bar bar;
};

/* Returns the printing functions; they are valid as long as the printer. */
struct bl_packing_events bl_event_printer_events(struct bl_event_printer *printer);

/* --- summaries ---------------------------------------------------------------------------------------------------- */

/* Prints a few lines on stderr: blocks, bound and gap, padding and the cost of naive padding, deleted and cut steps. */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info);

/* Prints "dataset: 12 shards, 3.1 GB; 4,567 frames/s". steps: the plural for steps; NULL: no rate is printed. */
void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps);

/* Prints "1 input skipped, 2 damaged: see sequences.tsv", if there are any. */
void bl_summary_faults(const struct bl_fault_counts *counts, const char *path);

/* Prints how many of the plans put the same sequences together as an earlier one, if any, and why. is_kept: the options
 * keep the order of the sequences, so that only one plan is possible. */
void bl_summary_repeated(int64_t repeated, int64_t plans, bool is_kept);

/* Prints how many sequences were left out by request, for each option that did so. */
void bl_summary_left_out(const struct bl_left_out_counts *counts);

/* Prints each line of a text. The text may be empty. */
void bl_summary_notes(const struct bl_buffer *notes);

/* Reports that a dataset is complete. faults: why the exit status is 3 nevertheless; NULL: it is 0. */
void bl_summary_complete(const char *dir, const struct bl_fault_counts *faults);

/* Reports inputs that were unusable or only partly usable, and the table that lists them; steps that are not trained;
 * adjusted fields; and the sums of columns. */
void bl_summary_finished(const struct bl_finished *finished, const char *dir);

/* Prints how many sequences have a field that was adjusted to their length, if any. */
void bl_summary_adjusted(int64_t adjusted);

/* Prints the sums of columns over the usable sequences, if they are not zero. */
void bl_summary_totals(const struct bl_totals *totals);

/* --- end of a run ------------------------------------------------------------------------------------------------- */

/* Appends two lines, each ended by a line feed: "time: 1.2 s listing, ..." and "limit: decoding, 83 % of the time";
 * nothing for a run of a few seconds. */
void bl_end_report_append_times(const struct bl_run_times *times, struct bl_buffer *out);

/* Prints these lines on stderr. */
void bl_end_report_print_times(const struct bl_run_times *times);

/* Prints "next: bload COMMAND DIR AFTER", with DIR quoted for a shell where it has to be. */
void bl_end_report_print_next(const char *command, const char *dir, const char *after);

/* --- forecasts ---------------------------------------------------------------------------------------------------- */

/* Prints some lines on stderr: the shards and their room, memory, time, and what they are estimated from. */
void bl_forecast_print(const char *dir, const struct bl_forecast *forecast);

/* Before the first shard of a run: prints a line if the run will be long, and a warning if the disk may become full.
 * The forecast is that of the plan. */
void bl_forecast_announce(const char *dir, const struct bl_forecast *forecast, bool quiet);

/* Checks that the disk has room for the shards, or at least for the fewest bytes that they may have. BL_EFAIL: it has
 * not; the message has both figures. */
int bl_forecast_check_room(const char *dir, const struct bl_forecast *forecast, struct bl_error *e);

/* Prints the forecast on standard output as JSON. */
int bl_forecast_write_json(const struct bl_forecast *forecast, struct bl_error *e);

#endif
