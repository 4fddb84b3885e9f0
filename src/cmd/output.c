/* Most commands have a directory, for which all of this does nothing. */
#include "cmd/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "remote/claims.h"

#define PLACES                                                                                                         \
    BL_OPTION_STRING("scratch", struct bl_cmd_output, scratch, BL_AFFECTS_NOTHING,                                     \
                     "with a URL as output, the folder for what is not sent yet [TMPDIR, else /tmp]",                  \
                     .placeholder = "DIR", .unlisted = true),                                                          \
        BL_OPTION_STRING("lock-dir", struct bl_cmd_output, lock_dir, BL_AFFECTS_NOTHING,                               \
                         "for a store that compares no conditions: a folder that all runs and tasks of the dataset "   \
                         "share, in which they lock each other out",                                                   \
                         .placeholder = "DIR", .unlisted = true)

const struct bl_option bl_cmd_output_table[] = {
    PLACES,
    {0},
};

const struct bl_option bl_cmd_output_tasks_table[] = {
    PLACES,
    BL_OPTION_INT(
        "lease", struct bl_cmd_output, lease, BL_AFFECTS_NOTHING,
        "with --task auto/N and a URL as output: seconds after which another process takes over the task of one "
        "that is silent",
        .initial = "60", .min = 3, .max = 86400, .unlisted = true),
    {0},
};

int bl_cmd_output_name(struct bl_cmd *cmd, const char **name)
{
    bool is_far = cmd->options.operands == 1 && bl_mirror_is_needed(cmd->options.operand[0]);
    *name = is_far ? cmd->options.operand[0] : NULL;
    return is_far ? BL_OK : bl_cmd_directory(cmd, name);
}

void bl_cmd_output_use_lock(const struct bl_cmd_output *output, struct bl_cmd_remote *remote)
{
    remote->options.lock_dir = output->lock_dir;
}

int bl_cmd_output_open(struct bl_cmd_output *output, const char *name, struct bl_cmd_remote *remote,
                       enum bl_mirror_use use, const struct bl_task *task, struct bl_cmd *cmd)
{
    output->dir = name;
    if (!bl_mirror_is_needed(name) && output->scratch)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--scratch is for a URL as output: %s is a directory", name);
    if (!bl_mirror_is_needed(name) && output->lock_dir)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--lock-dir is for a URL as output: %s is a directory", name);
    if (!bl_mirror_is_needed(name) && output->lease && output->lease != BL_LEASE_SECONDS)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--lease is for a URL as output: %s is a directory", name);
    if (!bl_mirror_is_needed(name))
        return BL_OK;
    remote->options.retries = BL_REMOTE_RETRIES;
    remote->options.timeout = BL_REMOTE_TIMEOUT;
    bl_cmd_output_use_lock(output, remote);
    const struct bl_mirror_request request = {.url = name,
                                              .options = &remote->options,
                                              .scratch = output->scratch,
                                              .senders = bl_cmd_workers(&cmd->common),
                                              .use = use,
                                              .task = task && task->set ? task->index : -1,
                                              .cancel = &cmd->cancel};
    int code = bl_mirror_open(&output->mirror, &request, &cmd->error);
    output->dir = code ? NULL : bl_mirror_dir(output->mirror);
    return code;
}

/* Prints how many requests there were, and their bytes. */
static void output_print(const struct bl_cmd_output *output)
{
    char requests[BL_PLURAL_SIZE], retries[32], sent[32], fetched[32];
    struct bl_remote_counts counts;
    struct bl_buffer text = {0};
    bl_mirror_count(output->mirror, &counts);
    if (!counts.sent)
        return;
    bl_buffer_printf(&text, "%s: %s, %s sent, %s fetched", bl_mirror_url(output->mirror),
                     bl_text_plural(requests, counts.requests, "request"), bl_text_size(sent, counts.sent),
                     bl_text_size(fetched, counts.fetched));
    if (counts.retries)
        bl_buffer_printf(&text, "; %s repeated", bl_text_count(retries, counts.retries));
    bl_cmd_print_text(&text);
}

/* Names the dataset in a message instead of its scratch, except where the disk of the scratch is full. */
static void output_name_url(const struct bl_cmd_output *output, char *text, size_t size)
{
    if (strstr(text, strerror(ENOSPC)) || strstr(text, strerror(EDQUOT))) {
        size_t end = strlen(text);
        snprintf(text + end, size - end, " (--scratch names another disk)");
        return;
    }
    char *named = bl_mirror_name_url(output->mirror, text);
    if (named)
        snprintf(text, size, "%s", named);
    free(named);
}

void bl_cmd_output_close(struct bl_cmd_output *output, bool done, struct bl_cmd *cmd)
{
    if (!output->mirror)
        return;
    const char *left = bl_mirror_left(output->mirror);
    output_name_url(output, cmd->error.text, sizeof cmd->error.text);
    if (done && left)
        bl_cmd_print("%s: uploads that were begun and not completed, if any, are left: %s", cmd->name, left);
    if (done && !cmd->common.quiet)
        output_print(output);
    if (done && getenv(BL_CLAIMED))
        bl_mirror_close_task(output->mirror);
    else
        bl_mirror_close(output->mirror, done);
    output->mirror = NULL;
}
