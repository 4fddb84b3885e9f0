#include "base/input_file.h"

#include <errno.h>
#include <unistd.h>

#include "base/member.h"
#include "base/opener.h"

/* Makes the status of a tar that of the member. */
static void status_narrow(struct stat *status, const struct bl_member *member)
{
    int64_t there = status->st_size - member->begin;
    there = there > 0 ? there : 0;
    status->st_size = member->bytes < there ? member->bytes : there;
}

int bl_input_file_open(struct bl_input_file *file, const char *path)
{
    struct bl_member member;
    *file = (struct bl_input_file){.fd = bl_opener_file(path)};
    if (file->fd < 0)
        return -1;
    if (fstat(file->fd, &file->status) != 0) {
        int error = errno;
        bl_input_file_close(file);
        errno = error;
        return -1;
    }
    if (S_ISREG(file->status.st_mode) && bl_member_parse(path, &member)) {
        file->begin = member.begin;
        status_narrow(&file->status, &member);
    }
    return 0;
}

void bl_input_file_close(struct bl_input_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

ssize_t bl_input_file_pread(const struct bl_input_file *file, void *data, size_t size, int64_t offset)
{
    int64_t left = file->status.st_size - offset;
    if (S_ISREG(file->status.st_mode) && left < (int64_t)size)
        size = left > 0 ? (size_t)left : 0;
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file->fd, (char *)data + done, size - done, file->begin + offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

int bl_input_file_stat(const char *path, struct stat *status)
{
    struct bl_member member;
    char tar[PATH_MAX];
    const char *file = bl_member_file(path, tar);
    if (!file || stat(file, status) != 0)
        return -1;
    if (file == tar && S_ISREG(status->st_mode) && bl_member_parse(path, &member))
        status_narrow(status, &member);
    return 0;
}
