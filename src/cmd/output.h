/* The dataset that a command makes or completes: a directory, or a URL with a scratch folder (run/mirror.h). */
#ifndef BL_CMD_OUTPUT_H
#define BL_CMD_OUTPUT_H

#include "cmd/cmd.h"
#include "cmd/remote.h"
#include "run/mirror.h"
#include "run/state_files.h"

/* Begins as {0}. */
struct bl_cmd_output {
    const char *scratch;      /* option */
    const char *lock_dir;     /* option */
    int64_t lease;            /* option: seconds, of a claim */
    const char *dir;          /* the directory, or the scratch */
    struct bl_mirror *mirror; /* NULL: a directory */
};

/* The title in --help, and the options of a struct bl_cmd_output: --scratch and --lock-dir, and for commands
 * with tasks --lease. */
#define BL_CMD_OUTPUT_TITLE "Stores"
extern const struct bl_option bl_cmd_output_table[], bl_cmd_output_tasks_table[];

/* Sets *name to the only operand, a directory or a URL. BL_EUSAGE. */
int bl_cmd_output_name(struct bl_cmd *cmd, const char **name);

/* Opens the dataset of that name, and sets dir, which is name itself if that is a directory. remote has the options for
 * URLs. task: of a command with tasks, or NULL. Errors as those of bl_mirror_open. */
int bl_cmd_output_open(struct bl_cmd_output *output, const char *name, struct bl_cmd_remote *remote,
                       enum bl_mirror_use use, const struct bl_task *task, struct bl_cmd *cmd);

/* Has writers use the folder of --lock-dir, if it is given. Called by bl_cmd_output_open. */
void bl_cmd_output_use_lock(const struct bl_cmd_output *output, struct bl_cmd_remote *remote);

/* Set in the environment of a process that does a task for another one (cmd/claims.h): it leaves its scratch to the
 * next task, and the other process removes it. */
#define BL_CLAIMED "BLOAD_CLAIMED"

/* Ends what runs, and has the command's error name the URL in place of the scratch. done: the scratch is removed, and
 * what was sent is printed, if something was; otherwise the scratch stays for the next run. */
void bl_cmd_output_close(struct bl_cmd_output *output, bool done, struct bl_cmd *cmd);

#endif
