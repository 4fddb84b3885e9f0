/* URLs in commands: the options by which objects are read, and opening and closing what reads them. */
#ifndef BL_CMD_REMOTE_H
#define BL_CMD_REMOTE_H

#include "cmd/cmd.h"
#include "remote/files.h"

/* Begins as {0}. */
struct bl_cmd_remote {
    struct bl_remote_options options;
    struct bl_remote_files *files; /* NULL: they are not open */
    char *dir;                     /* of bl_cmd_remote_dataset, NULL: not called */
};

/* The title in --help, and the options of a struct bl_cmd_remote: --endpoint, --anonymous, --insecure. */
#define BL_CMD_REMOTE_TITLE "URLs"
extern const struct bl_option bl_cmd_remote_table[];

/* Has URLs opened from here on (bl_far_set), unless they are already. Call it before there are other threads. The
 * struct must stay where it is until bl_cmd_remote_close. */
int bl_cmd_remote_open(struct bl_cmd_remote *remote, struct bl_cmd *cmd);

/* Ends that. Nothing that was opened may be in use. Does nothing if they are not open. */
void bl_cmd_remote_close(struct bl_cmd_remote *remote);

/* Sets *path to the directory of a dataset that the user named, or to its URL without a slash at the end; the caller
 * frees it. Has URLs opened, since the dataset may be a view with sources at URLs. BL_EUSAGE: it does not exist, or is
 * no URL of a directory. */
int bl_cmd_remote_path(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char *text, char **path);

/* The same for the first operand; bl_cmd_remote_close frees it. */
int bl_cmd_remote_dataset(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char **dir);

/* The same for the only operand, as bl_cmd_directory. */
int bl_cmd_remote_directory(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char **dir);

/* Prints how many requests there were, and their bytes, if URLs were read. */
void bl_cmd_remote_print(const struct bl_cmd_remote *remote);

#endif
