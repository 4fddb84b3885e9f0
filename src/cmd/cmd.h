/* Commands: they read options, call each stage, and print the answer. No other folder prints anything.
 *
 * A command is one function, bl_cmd_NAME, in src/cmd/NAME.c. Its life is the same everywhere: struct bl_cmd with the
 * texts for help, bl_cmd_parse, the work, bl_cmd_end. Answers go to standard output; progress, summaries and faults go
 * to standard error, each line with "bload: " in front of it. */
#ifndef BL_CMD_H
#define BL_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"

/* Exit statuses; every manual page has them. */
enum bl_exit {
    BL_EXIT_DONE = 0,
    BL_EXIT_FAILED = 1,
    BL_EXIT_USAGE = 2,
    BL_EXIT_PARTIAL = 3, /* done, but some inputs were unusable, or only partly usable */
};

/* The commands. argv[0] is the command's name. Each returns an exit status, and prints its own errors. */
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

/* An entry of the table of commands, in src/main.c. */
struct bl_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* one line, for bload --help and completion */
};

/* bload completion. commands: all of them, ended by one without a name. */
int bl_cmd_completion(const struct bl_command *commands, int argc, char **argv);

/* The forms of --progress. AUTO is a bar on a terminal, and plain lines elsewhere. */
enum bl_progress_form { BL_PROGRESS_AUTO, BL_PROGRESS_BAR, BL_PROGRESS_PLAIN, BL_PROGRESS_JSON, BL_PROGRESS_OFF };

/* The options that commands share. A command offers one of the tables below, so some members may keep their initial
 * value. */
struct bl_common {
    bool help;       /* --help; after bl_cmd_parse: some help was requested and is printed, so the command ends */
    bool usual;      /* -h: only the usual options */
    bool quiet;      /* no progress and no summary; faults are printed all the same */
    int progress;    /* enum bl_progress_form */
    bool skipped_ok; /* unusable inputs do not change the exit status */
    int64_t jobs;    /* threads, 1 to 1024; 0: one per processor, see bl_cmd_workers */
};

extern const struct bl_option bl_common_table[];          /* --help, --quiet */
extern const struct bl_option bl_common_progress_table[]; /* and --progress */
extern const struct bl_option bl_common_threads_table[];  /* and --progress, -j */
extern const struct bl_option bl_common_faults_table[];   /* --skipped-ok: for commands that skip inputs */

/* Returns the number of threads that -j requests, or the number of processors that the process may use. */
int bl_cmd_workers(const struct bl_common *common);

/* The state of a command. The first members are texts that the command sets; the others begin as zeros. */
struct bl_cmd {
    const char *name;          /* "scan" */
    const char *usage;         /* "SOURCE... [options]" and what the command does, for --help */
    const char *usual;         /* names of the options that -h shows, in this order, separated by spaces */
    const char *examples;      /* for -h: lines without "bload NAME " */
    const char *operands;      /* for completion: see bl_options_completion; NULL: "files" */
    struct bl_options options; /* of bl_cmd_parse; bl_cmd_end frees them */
    struct bl_common common;
    struct bl_cancel cancel; /* a signal sets it, if the command has installed the handlers (cmd/signals.h) */
    struct bl_error error;   /* bl_cmd_end prints it */
};

/* Checks that a new directory can be made: its parent must exist, unless parents are made too. The BL_EUSAGE message
 * names the option, for example "-o". The check keeps a mistyped name, or a file system that is not mounted, from
 * filling another disk. */
int bl_cmd_check_parent(const char *option, const char *dir, bool parents, struct bl_error *e);

/* Checks before long work that -o does not name a directory where a file is written: BL_EUSAGE, with the advice at the
 * end of the message. path NULL: standard output. */
int bl_cmd_check_file(const char *path, const char *advice, struct bl_error *e);

/* Adds groups of options, ended by {0}. --help shows those with a title, in this order; the others are for YAML
 * files. BL_EFAIL: out of memory. */
int bl_cmd_options(struct bl_cmd *cmd, const struct bl_option_group *groups);

/* Asks a command for its part of a completion script: "--completion=bash", as the only argument. Only bload completion
 * passes it. */
#define BL_COMPLETION_FLAG "--completion="

/* Adds the groups and parses the command line. If common.help is set afterwards, the help, or the part of a completion
 * script, is printed, and the command must end. BL_EUSAGE: the command line is wrong. */
int bl_cmd_parse(struct bl_cmd *cmd, const struct bl_option_group *groups, int argc, char **argv);

/* Sets *dir to the only operand, which must be a path that exists. BL_EUSAGE. The options own the text. */
int bl_cmd_directory(struct bl_cmd *cmd, const char **dir);

/* Ends a command: prints the error, frees the options, and returns the exit status for the code. partial: BL_OK becomes
 * BL_EXIT_PARTIAL, unless --skipped-ok is given. If a signal stopped the work, the function does not return: it ends
 * the process by the same signal, so that a shell or batch system sees it. */
int bl_cmd_end(struct bl_cmd *cmd, int code, bool partial);

/* Ends the heartbeat with the exit status that bl_cmd_end returns for this code and partial; the caller calls
 * bl_cmd_end next. The lock must still be held. Prints why beats of work that succeeded could not be
 * written; otherwise the work's own error says more. */
void bl_cmd_end_heartbeat(struct bl_cmd *cmd, struct bl_heartbeat *heartbeat, int code, bool partial);

/* Writes a text to a file that the user named; NULL or "-" is standard output. A file gets its name when it is
 * complete. */
int bl_cmd_write(const char *path, const struct bl_buffer *text, struct bl_error *e);

/* Appends the object that bload info DIR --json prints. */
int bl_cmd_append_info(const char *dir, struct bl_buffer *out, struct bl_error *e);

/* Prints that object, with a member "run" unless times is NULL: where the time went, and the totals. The object is null
 * if no dataset was made because there was nothing new. */
int bl_cmd_write_info(const char *dir, const struct bl_run_times *times, const struct bl_totals *totals,
                      struct bl_error *e);

/* Ends a function that made an answer: writes the text to path, unless code says that it could not be made, and frees
 * it. masked: the answer is for people, so hidden characters except line ends are masked. Names in it are masked before
 * that, by bl_text_append_masked, since they may contain line ends. Returns code, or why the text could not be
 * written. */
int bl_cmd_answer(const char *path, struct bl_buffer *text, bool masked, int code, struct bl_error *e);

/* Appends "label       text\n": a line of a listing for people, whose texts begin in column 13. The text is masked. */
void bl_cmd_append_line(struct bl_buffer *out, const char *label, const char *text);

/* Prints "bload: <text>" on stderr, masked, even with --quiet. */
void bl_cmd_print(const char *format, ...) BL_PRINTF(1, 2);

/* Prints a text that was built in a buffer in the same way, and frees it. An empty text is not printed, nor one for
 * which memory ran out. */
void bl_cmd_print_text(struct bl_buffer *text);

/* --- exports (export.c) ------------------------------------------------------------------------------------------- */

/* Commands for datasets use these functions for a directory that holds an export. */

/* Appends a description of the export in dir as text, or as JSON; appends nothing if dir holds no export. BL_EFAIL: the
 * export is not finished, or damaged. */
int bl_cmd_export_info(const char *dir, bool json, struct bl_buffer *out, struct bl_error *e);

/* Returns BL_EFAIL if dir holds an export that is not finished, and 0 otherwise. */
int bl_cmd_refuse_unfinished_export(const char *dir, struct bl_error *e);

/* --- options of bload pack (pack.c) ------------------------------------------------------------------------------- */

/* bload plan and bload slurm read the same YAML file as bload pack, so they check its options in the same way. */

struct bl_pack_options;
struct bl_plan_options;

/* Checks the options that do not depend on the inputs. BL_EUSAGE. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options);

/* Makes --store the strategy, and sets T of a store that was not given to BL_T_AUTO. BL_EUSAGE: other options
 * contradict a store, which keeps every step once. */
int bl_pack_resolve_store(struct bl_cmd *cmd, const struct bl_pack_options *options, struct bl_plan_options *plan);

#endif
