/* A file of its own, as URLs are a subject of their own: the options of URLs, what opens them, and what was
 * transferred. Commands that read inputs have a struct bl_cmd_remote in their inputs (cmd/inputs.h). */
#include "cmd/remote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "remote/url.h"

/* None of them decides what is read: an object's URL and tag do. */
const struct bl_option bl_cmd_remote_table[] = {
    BL_OPTION_STRING("endpoint", struct bl_cmd_remote, options.endpoint, BL_AFFECTS_NOTHING,
                     "server of s3:// and gs:// URLs, such as MinIO, R2 or Ceph [AWS_ENDPOINT_URL, else AWS or Google]",
                     .placeholder = "URL"),
    BL_OPTION_FLAG("anonymous", struct bl_cmd_remote, options.anonymous, BL_AFFECTS_NOTHING,
                   "read URLs without credentials, as public objects are"),
    BL_OPTION_FLAG("insecure", struct bl_cmd_remote, options.insecure, BL_AFFECTS_NOTHING,
                   "let http:// URLs and endpoints go to other machines, where anyone on the way can read and change "
                   "data"),
    {0},
};

int bl_cmd_remote_open(struct bl_cmd_remote *remote, struct bl_cmd *cmd)
{
    remote->options.retries = BL_REMOTE_RETRIES;
    remote->options.timeout = BL_REMOTE_TIMEOUT;
    return remote->files ? BL_OK : bl_remote_files_open(&remote->files, &remote->options, &cmd->cancel, &cmd->error);
}

void bl_cmd_remote_close(struct bl_cmd_remote *remote)
{
    bl_remote_files_close(remote->files);
    free(remote->dir);
    *remote = (struct bl_cmd_remote){.options = remote->options};
}

/* Checks that a URL can be that of a directory: the names of its files are appended to it. */
static int url_check_directory(const char *text, struct bl_error *e)
{
    struct bl_url url;
    BL_TRY(bl_url_parse(&url, text, e));
    bool has_query = url.scheme == BL_URL_WEB && strchr(text, '?');
    bl_url_free(&url);
    return has_query ? bl_error_set(e, BL_EUSAGE,
                                    "%s: a URL with a query is one of a file: name the directory of the dataset", text)
                     : BL_OK;
}

int bl_cmd_remote_path(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char *text, char **path)
{
    *path = NULL;
    BL_TRY(bl_cmd_remote_open(remote, cmd));
    bool is_far = bl_far_is(text);
    BL_TRY(is_far ? url_check_directory(text, &cmd->error) : bl_io_check_path(text, &cmd->error));
    size_t size = strlen(text);
    while (is_far && text[size - 1] == '/')
        size--;
    *path = strndup(text, size);
    return *path ? BL_OK : bl_error_memory(&cmd->error);
}

int bl_cmd_remote_dataset(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char **dir)
{
    int code = bl_cmd_remote_path(remote, cmd, cmd->options.operand[0], &remote->dir);
    *dir = remote->dir;
    return code;
}

int bl_cmd_remote_directory(struct bl_cmd_remote *remote, struct bl_cmd *cmd, const char **dir)
{
    if (cmd->options.operands != 1)
        return bl_cmd_directory(cmd, dir); /* which says so */
    return bl_cmd_remote_dataset(remote, cmd, dir);
}

void bl_cmd_remote_print(const struct bl_cmd_remote *remote)
{
    char requests[BL_PLURAL_SIZE], retries[32], wanted[32], fetched[32];
    struct bl_remote_counts counts;
    struct bl_buffer text = {0};
    if (!remote->files || !bl_remote_files_count(remote->files, &counts))
        return;
    bl_buffer_printf(&text, "URLs: %s, %s fetched", bl_text_plural(requests, counts.requests, "request"),
                     bl_text_size(fetched, counts.fetched));
    if (counts.wanted != counts.fetched)
        bl_buffer_printf(&text, ", %s of them needed", bl_text_size(wanted, counts.wanted));
    if (counts.retries)
        bl_buffer_printf(&text, "; %s repeated", bl_text_count(retries, counts.retries));
    bl_cmd_print_text(&text);
}
