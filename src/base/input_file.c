/* Inputs: opening files, folders and members of a tar, and reading them at given places.
 *
 * A member "data.tar@1536+48213/a.mp4" is read in place: its bytes are those from 1,536 on in data.tar, 48,213 of them.
 * The functions below hide that, so that kinds read a member like a file. */
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/checksum.h"
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
static const struct bl_far_files *_Atomic far_files; /* workers may load the media module, and set it there, at once */
static _Thread_local struct bl_error far_fault;

void bl_far_set(const struct bl_far_files *files)
{
    far_files = files;
}

const struct bl_far_files *bl_far_get(void)
{
    return far_files;
}

int bl_far_failed(void)
{
    return far_fault.code;
}

void bl_far_forgive(void)
{
    bl_error_clear(&far_fault);
}

/* A file may be called "s3:..." in this folder. */
bool bl_far_is(const char *path)
{
    if (!far_files || !bl_path_is_url(path))
        return false;
    return far_files->is ? far_files->is(far_files->context, path) : access(path, F_OK) != 0;
}

/* Returns the path that the functions for objects take: in buffer that of a member's tar. NULL with errno: the path is
 * too long. */
static const char *far_object(const char *path, char buffer[PATH_MAX])
{
    return far_files->is ? path : bl_member_file(path, buffer);
}

int bl_far_identify(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e)
{
    char tar[PATH_MAX];
    struct bl_member member;
    bool missing;
    const char *url = far_object(path, tar);
    if (!url)
        return bl_error_errno(e, BL_EFAIL, "%s", path);
    BL_TRY(far_files->identify(far_files->context, url, bytes, content, &missing, e));
    if (url == path || !bl_member_parse(path, &member))
        return BL_OK;
    const uint64_t place[] = {*content, (uint64_t)member.begin, (uint64_t)member.bytes};
    uint64_t hash = bl_checksum(place, sizeof place);
    *content = hash ? hash : 1; /* 0: it is not known */
    *bytes = member.bytes;
    return BL_OK;
}

/* Returns a descriptor of the copy of an object, or -1 with an errno of a failing system. */
static int far_open(const char *path)
{
    bl_error_clear(&far_fault);
    int fd = far_files->open(far_files->context, path, &far_fault);
    errno = fd < 0 ? EIO : errno;
    return fd < 0 ? -1 : fd;
}

void bl_far_announce(const char *path, int64_t begin, int64_t end)
{
    if (bl_far_is(path))
        far_files->announce(far_files->context, path, begin, end);
}

void bl_far_release(const char *path)
{
    if (bl_far_is(path))
        far_files->release(far_files->context, path);
}

int bl_far_follow(const char *path, struct bl_far_copy **copy)
{
    bl_error_clear(&far_fault);
    int fd = far_files->follow(far_files->context, path, copy, &far_fault);
    errno = fd < 0 ? EIO : errno;
    return fd < 0 ? -1 : fd;
}

int bl_far_wait(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e)
{
    return far_files->wait(copy, offset, ready, e);
}

void bl_far_leave(struct bl_far_copy *copy)
{
    far_files->leave(copy);
}

/* The status that a file of the object's size would have. */
static struct stat far_status(int64_t bytes)
{
    return (struct stat){.st_mode = S_IFREG | S_IRUSR, .st_size = bytes};
}

/* Sets the status of an object, or returns -1 with errno. */
static int far_stat(const char *url, struct stat *status)
{
    int64_t bytes = 0;
    uint64_t content;
    bool missing = false;
    bl_error_clear(&far_fault);
    int code = far_files->identify(far_files->context, url, &bytes, &content, &missing, &far_fault);
    *status = far_status(bytes);
    errno = missing ? ENOENT : EIO;
    return code ? -1 : 0;
}

/* Opens an object for reading by ranges: bl_input_file_open. */
static int far_open_ranges(struct bl_input_file *file, const char *url, int64_t begin)
{
    int64_t bytes = 0;
    bl_error_clear(&far_fault);
    int code = far_files->open_ranges(far_files->context, url, begin, &file->far, &bytes, &far_fault);
    file->status = far_status(bytes);
    errno = EIO;
    return code ? -1 : 0;
}

int bl_opener_fail(const char *what, const char *path, int code, struct bl_error *e)
{
    if (!far_fault.code || !bl_far_is(path))
        return bl_error_errno(e, code, "%s %s", what, path);
    return bl_error_pass(e, far_fault.code == BL_ECANCEL ? BL_ECANCEL : BL_EFAIL, &far_fault);
}

int bl_opener_open(const char *path, int flags)
{
    /* The tar is opened in place of its member, and a file in place of an array that it holds. */
    char tar[PATH_MAX];
    const char *file = bl_member_file(path, tar);
    if (file && bl_far_is(path))
        return far_open(file);
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

/* --- input files -------------------------------------------------------------------------------------------------- */

/* Turns the status of a tar into that of a member: the size is the member's, or less where the tar ends within it. */
static void status_narrow(struct stat *status, const struct bl_member *member)
{
    int64_t there = status->st_size - member->begin;
    there = there > 0 ? there : 0;
    status->st_size = member->bytes < there ? member->bytes : there;
}

/* Begins and ends the input where the member of a tar does. */
static void input_file_narrow(struct bl_input_file *file, const char *path)
{
    struct bl_member member;
    if (!S_ISREG(file->status.st_mode) || !bl_member_parse(path, &member))
        return;
    file->begin = member.begin;
    status_narrow(&file->status, &member);
}

int bl_input_file_open_whole(struct bl_input_file *file, const char *path)
{
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
    input_file_narrow(file, path);
    return 0;
}

int bl_input_file_open(struct bl_input_file *file, const char *path)
{
    char tar[PATH_MAX];
    struct bl_member member = {0};
    if (!bl_far_is(path))
        return bl_input_file_open_whole(file, path);
    *file = (struct bl_input_file){.fd = -1};
    const char *url = far_object(path, tar);
    (void)bl_member_parse(path, &member);
    if (!url || far_open_ranges(file, url, member.begin) != 0)
        return -1;
    if (url == tar)
        input_file_narrow(file, path);
    return 0;
}

void bl_input_file_close(struct bl_input_file *file)
{
    if (file->far)
        far_files->close(file->far);
    if (file->fd >= 0)
        close(file->fd);
    file->far = NULL;
    file->fd = -1;
}

/* Reads bytes of an object. Returns 0, or -1 with an errno of a failing system. */
static int far_read(const struct bl_input_file *file, void *data, size_t size, int64_t offset)
{
    bl_error_clear(&far_fault);
    int code = far_files->read(file->far, data, size, file->begin + offset, file->begin,
                               file->begin + file->status.st_size, &far_fault);
    errno = code == BL_ECANCEL ? ECANCELED : EIO;
    return code ? -1 : 0;
}

ssize_t bl_input_file_pread(const struct bl_input_file *file, void *data, size_t size, int64_t offset)
{
    /* A member ends before its tar does. Devices have no size, and are read as far as they go. */
    int64_t left = file->status.st_size - offset;
    if (S_ISREG(file->status.st_mode) && left < (int64_t)size)
        size = left > 0 ? (size_t)left : 0;
    if (file->far)
        return far_read(file, data, size, offset) ? -1 : (ssize_t)size;
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

int bl_input_file_get(const struct bl_input_file *file, void *data, size_t size, int64_t offset, const char *path,
                      struct bl_error *e)
{
    if (!file->far)
        return bl_io_pread(file->fd, data, size, file->begin + offset, path, e);
    return far_read(file, data, size, offset) ? bl_input_file_fail(path, "cannot be read", e) : BL_OK;
}

int bl_input_file_fail(const char *path, const char *what, struct bl_error *e)
{
    if (!far_fault.code || !bl_far_is(path))
        return bl_error_errno(e, BL_EFAIL, "%s: %s", path, what);
    return bl_error_pass(e, far_fault.code == BL_ECANCEL ? BL_ECANCEL : BL_EFAIL, &far_fault);
}

int bl_input_file_restat(const struct bl_input_file *file, struct stat *status)
{
    *status = file->status; /* an object that changes is not read any more (remote/remote.h) */
    if (!file->far && fstat(file->fd, status) != 0)
        return -1;
    if (file->begin)
        status->st_size = file->status.st_size;
    return 0;
}

int bl_input_file_stat(const char *path, struct stat *status)
{
    struct bl_member member;
    char tar[PATH_MAX];
    bool is_far = bl_far_is(path);
    const char *file = is_far ? far_object(path, tar) : bl_member_file(path, tar);
    if (!file || (is_far ? far_stat(file, status) : stat(file, status)) != 0)
        return -1;
    /* The status is the tar's where the path names a member. */
    if (file == tar && S_ISREG(status->st_mode) && bl_member_parse(path, &member))
        status_narrow(status, &member);
    return 0;
}

int bl_input_file_exists(const char *path, bool *exists, struct bl_error *e)
{
    struct stat status;
    if (!bl_far_is(path))
        return bl_fs_exists(path, exists, e);
    *exists = bl_input_file_stat(path, &status) == 0;
    if (!*exists && errno != ENOENT)
        return bl_opener_fail("cannot stat", path, BL_EFAIL, e);
    bl_far_forgive();
    return BL_OK;
}

/* --- input folders ------------------------------------------------------------------------------------------------ */

bool bl_input_folder_is_far(const char *path)
{
    return far_files && bl_path_is_url(path) && (far_files->is || access(path, F_OK) != 0);
}

/* Opens a folder as opendir(3) does. */
static DIR *folder_open_directory(const char *path)
{
    int fd = opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !directory) {
        /* close() may change errno, which the caller reads. */
        int error = errno;
        close(fd);
        errno = error;
    }
    return directory;
}

int bl_input_folder_open(struct bl_input_folder *folder, const char *path)
{
    *folder = (struct bl_input_folder){0};
    if (!bl_input_folder_is_far(path)) {
        folder->directory = folder_open_directory(path);
        return folder->directory ? 0 : -1;
    }
    bl_error_clear(&far_fault);
    int code = far_files->list(far_files->context, path, &folder->files, &far_fault);
    errno = code ? EIO : ENOENT;
    if (!code && folder->files.size)
        return 0;
    bl_buffer_free(&folder->files);
    return -1;
}

void bl_input_folder_close(struct bl_input_folder *folder)
{
    if (folder->directory)
        closedir(folder->directory);
    bl_buffer_free(&folder->files);
    *folder = (struct bl_input_folder){0};
}

int bl_input_folder_next(struct bl_input_folder *folder)
{
    if (folder->directory) {
        /* readdir returns NULL both at the end and after a failure; errno tells them apart. */
        errno = 0;
        const struct dirent *entry = readdir(folder->directory);
        folder->name = entry ? entry->d_name : NULL;
        return entry || !errno ? 0 : -1;
    }
    bool is_there = folder->at < folder->files.size;
    const char *line = is_there ? folder->files.data + folder->at : NULL;
    folder->name = is_there ? strchr(line, ' ') + 1 : NULL;
    folder->at += is_there ? strlen(line) + 1 : 0;
    return 0;
}

int bl_input_folder_stat(const struct bl_input_folder *folder, struct stat *status)
{
    if (folder->directory)
        return fstatat(dirfd(folder->directory), folder->name, status, 0);
    /* The size stands before the name. */
    const char *line = folder->name - 1;
    while (line > folder->files.data && line[-1])
        line--;
    *status = far_status(strtoll(line, NULL, 10));
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
        w->code = bl_input_file_get(w->file, w->data, (size_t)(w->to - at), at, w->path, w->e);
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
