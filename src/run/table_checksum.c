#include "run/table_checksum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/fs.h"
#include "base/output.h"
#include "base/checksum.h"

#define LINE_MAX_SIZE ((size_t)64)

int bl_table_checksum_verify(const struct bl_state *s, struct bl_error *e)
{
    struct bl_buffer path = {0}, there = {0};
    char line[BL_DIGEST_SIZE + 1] = "";
    int64_t bytes;
    uint64_t sum;
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (code)
        goto out;
    code = bl_checksum_file(s->sequences, &bytes, &sum, e);
    if (code)
        goto out;
    bl_checksum_format(sum, line);
    strcat(line, "\n");
    if (access(path.data, F_OK) != 0) {
        code = bl_output_replace(path.data, line, strlen(line), e);
        goto out;
    }
    code = bl_io_read_file(path.data, LINE_MAX_SIZE, &there, e);
    if (!code && (!there.data || strcmp(there.data, line) != 0))
        code = bl_error_set(
            e, BL_EFAIL, "%s was edited or damaged since it was written (restore it, or use another -o)", s->sequences);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&there);
    return code;
}

int bl_table_checksum_forget(const struct bl_state *s, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (code)
        goto out;
    code = bl_fs_remove(path.data, e);
out:
    bl_buffer_free(&path);
    return code;
}
