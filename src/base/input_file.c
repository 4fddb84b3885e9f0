/* Inputs: opening files, folders and members of a tar, and reading them at given places.
 *
 * A member "data.tar@1536+48213/a.mp4" is read in place: its bytes are those from 1,536 on in data.tar, 48,213 of them.
 * The functions below hide that, so that kinds read a member like a file. */
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"

/* --- opener ------------------------------------------------------------------------------------------------------- */

/* What a process may open is decided for all of it at once: a decoder's process is confined before it reads its first
 * input (kind/isolated), and from then on every open(2) in it fails. So the opener is a property of the process, as its
 * standard input is, and no argument: an argument would have to pass through every kind, its readers, and the callbacks
 * of libav, and a call without it would fail in confined processes alone. decoder_loop.c sets the opener once, before
 * there are threads; everything else only calls the functions below. */
static bl_opener *opener;
static void *opener_context;

void bl_opener_set(bl_opener *function, void *context)
{
    opener = function;
    opener_context = context;
}

/* Where URLs lead, and what the last failure on this thread was. Many callers between an open and the message know
 * errno alone. */
static const struct bl_far_files *far_files;
static _Thread_local struct bl_error far_fault;

void bl_far_set(const struct bl_far_files *files)
{
    far_files = files;
}

/* A file may be called "s3:..." in this folder. */
bool bl_far_is(const char *path)
{
    return far_files && bl_path_is_url(path) && access(path, F_OK) != 0;
}

int bl_far_identify(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e)
{
    return far_files->identify(far_files->context, path, bytes, content, e);
}

/* Returns a descriptor of the copy of an object, or -1 with an errno of a failing system. */
static int far_open(const char *path)
{
    bl_error_clear(&far_fault);
    int fd = far_files->open(far_files->context, path, &far_fault);
    errno = fd < 0 ? EIO : errno;
    return fd < 0 ? -1 : fd;
}

/* Sets the status that a file of the object's size would have. */
static int far_stat(const char *path, struct stat *status)
{
    int64_t bytes;
    uint64_t content;
    bl_error_clear(&far_fault);
    *status = (struct stat){.st_mode = S_IFREG | S_IRUSR};
    errno = EIO;
    if (bl_far_identify(path, &bytes, &content, &far_fault))
        return -1;
    status->st_size = bytes;
    return 0;
}

int bl_opener_fail(const char *what, const char *path, int code, struct bl_error *e)
{
    if (!far_fault.code || !bl_far_is(path))
        return bl_error_errno(e, code, "%s %s", what, path);
    return bl_error_pass(e, far_fault.code == BL_ECANCEL ? BL_ECANCEL : BL_EFAIL, &far_fault);
}

int bl_opener_open(const char *path, int flags)
{
    if (bl_far_is(path))
        return far_open(path);
    /* The tar is opened in place of its member, and a file in place of an array that it holds. */
    char tar[PATH_MAX];
    const char *file = bl_member_file(path, tar);
    return file ? open(file, flags) : -1;
}

/* Opens by the process's opener, or by open(2). */
static int opener_open(const char *path, int flags)
{
    return opener ? opener(opener_context, path, flags) : bl_opener_open(path, flags);
}

int bl_opener_file(const char *path)
{
    /* O_NONBLOCK: opening a pipe without a writer would block. */
    return opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

DIR *bl_opener_folder(const char *path)
{
    int fd = opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !folder) {
        /* close() may change errno, which the caller reads. */
        int error = errno;
        close(fd);
        errno = error;
    }
    return folder;
}

/* --- input files -------------------------------------------------------------------------------------------------- */

/* Turns the status of a tar into that of a member: the size is the member's, or less where the tar ends within it. */
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
    /* Callers read errno, so that it survives the close. */
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
    /* A member ends before its tar does. Devices have no size, and are read as far as they go. */
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
    if (bl_far_is(path))
        return far_stat(path, status);
    const char *file = bl_member_file(path, tar);
    if (!file || stat(file, status) != 0)
        return -1;
    /* The status is the tar's where the path names a member. */
    if (file == tar && S_ISREG(status->st_mode) && bl_member_parse(path, &member))
        status_narrow(status, &member);
    return 0;
}

/* --- window ------------------------------------------------------------------------------------------------------- */

/* Reads a number through the window, which is filled from the number on if it does not lie in it: headers are read
 * forwards. Numbers beyond the end are 0 and set `ended`, so that a parser may test once for a group of reads. */
uint64_t bl_window_number(struct bl_window *w, int64_t at, int size, bool big_endian)
{
    uint64_t value = 0;
    bool inside = at >= 0 && at <= w->size - size;
    /* After a failed read every number is 0, and the parser ends soon. */
    w->ended = w->ended || !inside;
    if (!inside || w->code)
        return 0;
    if (at < w->from || at + size > w->to) {
        w->from = at;
        w->to = w->size - at < BL_WINDOW_SIZE ? w->size : at + BL_WINDOW_SIZE;
        w->code = bl_io_pread(w->fd, w->data, (size_t)(w->to - at), w->begin + at, w->path, w->e);
    }
    for (int i = 0; i < size && !w->code; i++)
        value = value << 8 | w->data[at - w->from + (big_endian ? i : size - 1 - i)];
    return value;
}

/* --- copies of pipes ---------------------------------------------------------------------------------------------- */

/* Copies everything from one descriptor to another one. name: of the pipe, for messages. */
static int pipe_copy_fill(int from, int to, const char *name, struct bl_error *e)
{
    char chunk[1 << 16];
    for (size_t got = 1; got;) {
        BL_TRY(bl_io_read(from, chunk, sizeof chunk, &got, name, e));
        BL_TRY(bl_io_write(to, chunk, got, "a temporary file", e));
    }
    return BL_OK;
}

int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e)
{
    struct stat status;
    bool given = strcmp(path, "-") == 0;
    *held = (struct bl_pipe_copy){.fd = -1, .name = given ? "standard input" : path};
    int code = given ? BL_OK : bl_io_check_path(path, e);
    /* A regular file needs no copy. */
    if (code || (!given && (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode))))
        return code;
    int from = given ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    held->fd = bl_temporary_open(NULL, e);
    code = held->fd < 0 ? held->fd : pipe_copy_fill(from, held->fd, held->name, e);
    if (!given)
        close(from); /* read only: no data to lose */
    /* The path opens the copy again, from its beginning. */
    snprintf(held->path, sizeof held->path, "/dev/fd/%d", held->fd);
    return code;
}

const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path)
{
    return held->fd >= 0 ? held->path : path;
}

/* A message begins with the path of the copy, "/dev/fd/7: not a table"; the user knows the source by its own name. */
void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e)
{
    size_t size = strlen(held->path);
    char rest[sizeof e->text];
    if (held->fd < 0 || strncmp(e->text, held->path, size) != 0)
        return;
    memcpy(rest, e->text + size, strlen(e->text + size) + 1);
    snprintf(e->text, sizeof e->text, "%s%.*s", held->name, (int)(sizeof rest - 1 - strlen(held->name)), rest);
}

void bl_pipe_copy_close(struct bl_pipe_copy *held)
{
    if (held->fd >= 0)
        close(held->fd);
    held->fd = -1;
}
