#include "kind/input_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/archive.h"
#include "kind/content.h"

static bool kind_takes_folders(const struct bl_kind *kind)
{
    return kind && kind->scan->stat_folder;
}

/* Why a file is not a folder: images may be packed in it. */
static const char *input_describe_file(const char *path, const struct stat *status)
{
    uint8_t head[BL_ARCHIVE_HEAD];
    int fd = S_ISREG(status->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t got = fd < 0 ? 0 : pread(fd, head, sizeof head, 0);
    const char *archive = got > 0 ? bl_archive_detect(head, (size_t)got) : NULL;
    if (fd >= 0)
        close(fd);
    return archive ? archive : "not a folder";
}

/* The folder may have been replaced since. */
static int input_stat_folder(const struct bl_kind *kind, struct bl_input *input, const char **unusable,
                             struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = kind->scan->stat_folder(input->path, &input->bytes, &input->content, &fault);
    if (code == BL_EDATA)
        *unusable = "not a folder";
    else if (code)
        return bl_error_set(e, code, "%s", fault.text);
    return BL_OK;
}

int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e)
{
    struct stat status;
    *unusable = NULL;
    input->bytes = input->modified = 0;
    input->content = 0;
    if (strcmp(input->path, "-") == 0)
        return BL_OK;
    if (bl_input_file_stat(input->path, &status) != 0) {
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot stat %s", input->path);
        *unusable = input->fault ? input->fault : errno == ENOENT ? "file not found" : strerror(errno);
        return BL_OK;
    }
    bool folders = kind_takes_folders(kind);
    bool is_closed = !input->fault && S_ISDIR(status.st_mode) && access(input->path, R_OK | X_OK) != 0;
    if (is_closed && bl_errno_is_system(errno))
        return bl_error_errno(e, BL_EFAIL, "cannot read the folder %s", input->path);
    if (input->fault)
        *unusable = input->fault;
    else if (is_closed)
        *unusable = "the folder cannot be read";
    else if (folders ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))
        *unusable = folders ? input_describe_file(input->path, &status) : "not a regular file";
    if (folders && !*unusable)
        return input_stat_folder(kind, input, unusable, e);
    input->bytes = S_ISREG(status.st_mode) ? status.st_size : 0;
    input->modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return BL_OK;
}

int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e)
{
    int code = bl_input_stat(kind, input, unusable, e);
    if (code || *unusable || kind_takes_folders(kind) || strcmp(input->path, "-") == 0)
        return code;
    return bl_content_hash_file(input->path, &input->content, e);
}

int bl_input_report_changed(const struct bl_input *input, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s: changed while it was scanned (scan again when nobody writes to it)",
                        input->path);
}

int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e)
{
    struct bl_input now = {.path = input->path};
    const char *unusable;
    if (kind_takes_folders(kind) || strcmp(input->path, "-") == 0)
        return BL_OK;
    int code = bl_input_stat(kind, &now, &unusable, e);
    if (code || (!unusable && now.bytes == input->bytes && now.modified == input->modified))
        return code;
    return bl_input_report_changed(input, e);
}
