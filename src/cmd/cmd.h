/* Commands: options in, one call per stage, an answer out. Only here is anything printed. */
#ifndef BL_CMD_H
#define BL_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "run/heartbeat.h"

enum bl_exit {
    BL_EXIT_DONE = 0,
    BL_EXIT_FAILED = 1,
    BL_EXIT_USAGE = 2,
    BL_EXIT_PARTIAL = 3, /* done, but some inputs could not be used, or not wholly */
};

/* argv[0] is the command's name. They return an exit status. */
int bl_cmd_scan(int argc, char **argv);
int bl_cmd_plan(int argc, char **argv);
int bl_cmd_compare(int argc, char **argv);
int bl_cmd_pack(int argc, char **argv);
int bl_cmd_finish(int argc, char **argv);
int bl_cmd_verify(int argc, char **argv);
int bl_cmd_info(int argc, char **argv);
int bl_cmd_status(int argc, char **argv);
int bl_cmd_slurm(int argc, char **argv);

/* What every command understands. */
struct bl_common {
    bool help, quiet;
    int64_t jobs; /* threads: bl_cmd_workers turns 0 into the processors there are */
};

extern const struct bl_option bl_common_table[];         /* --help, --quiet */
extern const struct bl_option bl_common_threads_table[]; /* and -j */

int bl_cmd_workers(const struct bl_common *common);

/* A command at work. */
struct bl_cmd {
    const char *name;  /* "scan" */
    const char *usage; /* "SOURCE... [options]" and what it does, for --help */
    struct bl_options options;
    struct bl_common common;
    struct bl_cancel cancel;
    struct bl_error error;
};

/* Whether a directory that is to be made can be: the one above it must be there, unless parents are to be made.
 * BL_EUSAGE says so of the option, "-o": a name that was mistyped, or a file system that is not mounted, shall not be
 * filled elsewhere. */
int bl_cmd_check_parent(const char *option, const char *dir, bool parents, struct bl_error *e);

/* Adds groups of options, ended by one without a title, in the order in which --help shows them. */
int bl_cmd_options(struct bl_cmd *cmd, const struct bl_option_group *groups);

/* Reads the command line into the options that were added. 1: --help was asked for and has been printed. */
int bl_cmd_parse(struct bl_cmd *cmd, int argc, char **argv);

/* Ends a command: prints what went wrong, frees, and gives the exit status for the code: partial tells whether BL_OK
 * means BL_EXIT_PARTIAL. Raises a signal that was caught again. */
int bl_cmd_end(struct bl_cmd *cmd, int code, bool partial);

/* Ends the heartbeat of a command that is about to end so (the same code and partial as of bl_cmd_end, before it),
 * while the lock is still held; says what kept beats from being written. */
void bl_cmd_end_heartbeat(struct bl_cmd *cmd, struct bl_heartbeat *heartbeat, int code, bool partial);

/* Writes a text to where the user named it; NULL or "-" is standard output. */
int bl_cmd_write(const char *path, const struct bl_buffer *text, struct bl_error *e);

/* Shows lines to people, on standard output: masked, but for the ends of lines. Names are masked before
 * (bl_text_append_masked).
 */
int bl_cmd_write_masked(struct bl_buffer *text, struct bl_error *e);

/* A line on stderr: "bload: <text>", masked; told whether quiet or not. */
void bl_cmd_print(const char *format, ...) BL_PRINTF(1, 2);

#endif
