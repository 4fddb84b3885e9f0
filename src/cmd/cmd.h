/* Commands: they read options, call each stage, and print the answer. No other folder prints anything. */
#ifndef BL_CMD_H
#define BL_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"

enum bl_exit {
    BL_EXIT_DONE = 0,
    BL_EXIT_FAILED = 1,
    BL_EXIT_USAGE = 2,
    BL_EXIT_PARTIAL = 3, /* done, but some inputs were unusable, or only partly usable */
};

/* argv[0] is the command's name. Each returns an exit status. */
int bl_cmd_scan(int argc, char **argv);
int bl_cmd_plan(int argc, char **argv);
int bl_cmd_compare(int argc, char **argv);
int bl_cmd_pack(int argc, char **argv);
int bl_cmd_view(int argc, char **argv);
int bl_cmd_export(int argc, char **argv);
int bl_cmd_show(int argc, char **argv);
int bl_cmd_cat(int argc, char **argv);
int bl_cmd_find(int argc, char **argv);
int bl_cmd_finish(int argc, char **argv);
int bl_cmd_verify(int argc, char **argv);
int bl_cmd_info(int argc, char **argv);
int bl_cmd_report(int argc, char **argv);
int bl_cmd_status(int argc, char **argv);
int bl_cmd_slurm(int argc, char **argv);
int bl_cmd_doctor(int argc, char **argv);

struct bl_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

/* bload completion. commands: all of them, ended by one without a name. */
int bl_cmd_completion(const struct bl_command *commands, int argc, char **argv);

/* --progress. */
enum bl_progress_form { BL_PROGRESS_AUTO, BL_PROGRESS_BAR, BL_PROGRESS_PLAIN, BL_PROGRESS_JSON, BL_PROGRESS_OFF };

/* The options of every command. */
struct bl_common {
    bool help;  /* some help was asked for, and printed */
    bool usual; /* that of the usual options */
    bool quiet;
    int progress;    /* enum bl_progress_form */
    bool skipped_ok; /* faults of inputs are no exit status of their own */
    int64_t jobs;    /* threads; 0: one per processor, see bl_cmd_workers */
};

extern const struct bl_option bl_common_table[];          /* --help, --quiet */
extern const struct bl_option bl_common_progress_table[]; /* and --progress */
extern const struct bl_option bl_common_threads_table[];  /* and --progress, -j */
extern const struct bl_option bl_common_faults_table[];   /* of commands that skip inputs */

int bl_cmd_workers(const struct bl_common *common);

/* The state of a command. */
struct bl_cmd {
    const char *name;     /* "scan" */
    const char *usage;    /* "SOURCE... [options]" and what the command does, for --help */
    const char *usual;    /* names of the options that -h shows, in this order, separated by spaces */
    const char *examples; /* for -h: lines without "bload NAME " */
    const char *operands; /* for completion: see bl_options_completion; NULL: "files" */
    struct bl_options options;
    struct bl_common common;
    struct bl_cancel cancel;
    struct bl_error error;
};

/* Checks that a new directory can be made: its parent must exist, unless parents are made too. The BL_EUSAGE message
 * names the option, "-o". So a mistyped name, or a file system that is not mounted, does not fill another disk. */
int bl_cmd_check_parent(const char *option, const char *dir, bool parents, struct bl_error *e);

/* Checks before long work that -o does not name a directory where a file is written: BL_EUSAGE, with the advice at the
 * end of the message. path NULL: standard output. */
int bl_cmd_check_file(const char *path, const char *advice, struct bl_error *e);

/* Adds groups of options, ended by {0}. --help shows those with a title, in this order; the others are for YAML files.
 */
int bl_cmd_options(struct bl_cmd *cmd, const struct bl_option_group *groups);

/* Asks a command for its part of a script of completion: "--completion=bash", alone. Only bload completion does. */
#define BL_COMPLETION_FLAG "--completion="

/* Adds the groups and parses the command line. If common.help is set after it, the help, or what completion asks for,
 * is printed, and the command must end. */
int bl_cmd_parse(struct bl_cmd *cmd, const struct bl_option_group *groups, int argc, char **argv);

/* Sets *dir to the only operand, which must exist. BL_EUSAGE. */
int bl_cmd_directory(struct bl_cmd *cmd, const char **dir);

/* Ends a command: prints the error, frees memory, and returns the exit status for the code. partial: BL_OK becomes
 * BL_EXIT_PARTIAL, unless --skipped-ok is given. Raises a caught signal again. */
int bl_cmd_end(struct bl_cmd *cmd, int code, bool partial);

/* Ends the heartbeat with the code and partial of bl_cmd_end, which the caller calls next. The lock must still be held.
 * Reports why beats could not be written. */
void bl_cmd_end_heartbeat(struct bl_cmd *cmd, struct bl_heartbeat *heartbeat, int code, bool partial);

/* Writes a text to a file that the user named; NULL or "-" is standard output. */
int bl_cmd_write(const char *path, const struct bl_buffer *text, struct bl_error *e);

/* Prints what bload info DIR --json prints, and "run": where the time went, and the totals; null if no dataset was
 * made, as there was nothing new. */
int bl_cmd_write_info(const char *dir, const struct bl_run_times *times, const struct bl_totals *totals,
                      struct bl_error *e);

/* Ends a function that made an answer: writes the text to path, unless code says that it could not be made, and frees
 * it. masked: for people, so that hidden characters but line ends are masked (names before: bl_text_append_masked).
 * Returns code, or why the text could not be written. */
int bl_cmd_answer(const char *path, struct bl_buffer *text, bool masked, int code, struct bl_error *e);

/* Appends "label       text": text masked, in the column of a listing for people. */
void bl_cmd_append_line(struct bl_buffer *out, const char *label, const char *text);

/* Prints "bload: <text>" on stderr, masked, even with --quiet. */
void bl_cmd_print(const char *format, ...) BL_PRINTF(1, 2);

/* The same of a text that was built, and frees it; nothing is printed of an empty one, or where memory ran out. */
void bl_cmd_print_text(struct bl_buffer *text);

/* --- exports (export.c) ------------------------------------------------------------------------------------------- */

/* What commands for datasets say about a directory that holds an export. */

/* Describes what dir holds as text, or as JSON; nothing is appended if it is no export. BL_EFAIL: it is one that is not
 * finished, or damaged. */
int bl_cmd_export_info(const char *dir, bool json, struct bl_buffer *out, struct bl_error *e);

/* BL_EFAIL: dir holds an export that is not finished. */
int bl_cmd_refuse_unfinished_export(const char *dir, struct bl_error *e);

/* --- options of bload pack (pack.c) ------------------------------------------------------------------------------- */

/* bload plan and bload slurm read the same YAML file. */

struct bl_pack_options;
struct bl_plan_options;

/* Checks the options that do not depend on the inputs. BL_EUSAGE. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options);

/* Makes --store the strategy, and sets T of a store that was not given to BL_T_AUTO. BL_EUSAGE: other options
 * contradict a store. */
int bl_pack_resolve_store(struct bl_cmd *cmd, const struct bl_pack_options *options, struct bl_plan_options *plan);

#endif
