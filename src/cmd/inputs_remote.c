/* A file of its own, as URLs are a subject of their own: the options of inputs that are URLs, what opens them, and what
 * was transferred. */
#include <inttypes.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "remote/files.h"

/* None of them decides what is read: an object's URL and tag do. */
static const struct bl_option remote_table[] = {
    BL_OPTION_STRING("endpoint", struct bl_inputs, remote.endpoint, BL_AFFECTS_NOTHING,
                     "server of s3:// and gs:// URLs, such as MinIO, R2 or Ceph [AWS_ENDPOINT_URL, else AWS or Google]",
                     .placeholder = "URL"),
    BL_OPTION_FLAG("anonymous", struct bl_inputs, remote.anonymous, BL_AFFECTS_NOTHING,
                   "read URLs without credentials, as public objects are"),
    BL_OPTION_FLAG("insecure", struct bl_inputs, remote.insecure, BL_AFFECTS_NOTHING,
                   "let http:// URLs and endpoints go to other machines, where anyone on the way can read and change "
                   "data"),
    {0},
};

int bl_inputs_add_remote_options(struct bl_inputs *inputs, struct bl_cmd *cmd, bool hidden)
{
    inputs->remote.retries = BL_REMOTE_RETRIES;
    inputs->remote.timeout = BL_REMOTE_TIMEOUT;
    return bl_options_add(&cmd->options, hidden ? NULL : "URLs", remote_table, inputs, &cmd->error);
}

int bl_inputs_open_remote(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    return inputs->far ? BL_OK : bl_remote_files_open(&inputs->far, &inputs->remote, &cmd->cancel, &cmd->error);
}

void bl_inputs_print_remote(const struct bl_inputs *inputs)
{
    char requests[BL_PLURAL_SIZE], retries[32], wanted[32], fetched[32];
    struct bl_remote_counts counts;
    struct bl_buffer text = {0};
    if (!inputs->far || !bl_remote_files_count(inputs->far, &counts))
        return;
    bl_buffer_printf(&text, "URLs: %s, %s fetched", bl_text_plural(requests, counts.requests, "request"),
                     bl_text_size(fetched, counts.fetched));
    if (counts.wanted != counts.fetched)
        bl_buffer_printf(&text, ", %s of them needed", bl_text_size(wanted, counts.wanted));
    if (counts.retries)
        bl_buffer_printf(&text, "; %s repeated", bl_text_count(retries, counts.retries));
    bl_cmd_print_text(&text);
}
