/* Files and folders that appear under their names only when they are complete.
 *
 * A write goes through these names, for the path DIR/manifest.json on the machine n7:
 *
 *     DIR/manifest.json.part-n7-4711-9f3c01aa      write, fsync, close
 *     DIR/manifest.json                            rename, then fsync of DIR
 *
 * After a crash at any point DIR/manifest.json is the old file or the new one; the other name can be removed. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"

/* --- temporary files ---------------------------------------------------------------------------------------------- */

/* 64 bytes of name and a NUL (HOST_NAME_MAX on Linux). A name with a slash cannot be part of a file name. */
void bl_temporary_host(char host[65])
{
    memset(host, 0, 65);
    if (gethostname(host, 64) != 0 || strchr(host, '/'))
        host[0] = '\0';
}

int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e)
{
    char host[65];
    unsigned random = 0;
    bl_temporary_host(host);
    /* Containers may share a host name and process number, so that random bytes are added. GRND_NONBLOCK fails only
     * early in the boot; host and process must suffice then. */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = 0;
    bl_buffer_printf(name, "%s.part-%s-%ld-%08x", path, host, (long)getpid(), random);
    return bl_buffer_check(name, e);
}

int bl_temporary_open(const char *dir, struct bl_error *e)
{
    struct bl_buffer path = {0}, name = {0};
    dir = dir ? dir : getenv("TMPDIR");
    bl_buffer_printf(&path, "%s/bload", dir && *dir ? dir : "/tmp");
    /* A failure leaves the code in fd, which is then negative. */
    int fd = bl_buffer_check(&path, e);
    if (!fd)
        fd = bl_temporary_name(path.data, &name, e);
    if (!fd)
        fd = bl_fs_create(name.data, O_RDWR, e);
    /* The file lives as long as its descriptor. O_TMPFILE would do the same, and not all file systems have it. */
    if (fd >= 0)
        (void)bl_fs_unlink(name.data);
    bl_buffer_free(&path);
    bl_buffer_free(&name);
    return fd;
}

/* --- direct writes ------------------------------------------------------------------------------------------------ */

/* Smaller writes go through the cache, because each direct write waits for the disk. */
#define DIRECT_MIN ((size_t)1 << 20)

/* The flag O_DIRECT fails at the open where the file system does not support it. */
int bl_direct_open(const char *path)
{
    const char *name;
    /* The descriptor is only for writing: reads go through the cache. */
    int folder = bl_fs_open_parent(path, &name, NULL);
    int fd = folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0)
        close(folder);
    return fd;
}

/* Writes complete pages. Some file systems accept the flag O_DIRECT and then demand more than page alignment, and a
 * short write leaves an unaligned rest; both end with EINVAL, and an ordinary write takes over. */
static int direct_write_pages(int direct, int fd, const char *data, size_t size, int64_t offset, const char *path,
                              struct bl_error *e)
{
    while (size) {
        ssize_t n = pwrite(direct, data, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EINVAL)
            return bl_io_pwrite(fd, data, size, offset, path, e);
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
        data += n;
        offset += n;
        size -= (size_t)n;
    }
    return BL_OK;
}

int bl_direct_pwrite(int direct, int fd, const void *data, size_t size, int64_t offset, const char *path,
                     struct bl_error *e)
{
    const char *at = data;
    /* O_DIRECT requires that memory and offset are aligned. They can be only if both lie equally far from a page. */
    bool aligned = (uintptr_t)data % BL_DIRECT_PAGE == (uint64_t)offset % BL_DIRECT_PAGE;
    /* Without a second descriptor all bytes go through the cache. */
    if (direct < 0 || !aligned || size < DIRECT_MIN) {
        BL_TRY(bl_io_pwrite(fd, data, size, offset, path, e));
        /* Writing to the disk starts early, so that the final sync has little left. This is only a hint: the sync
         * reports errors. */
        if (size >= DIRECT_MIN)
            (void)sync_file_range(fd, offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
        return BL_OK;
    }
    /* Unaligned bytes at both ends go through the cache: head, pages, tail. */
    size_t head = (size_t)(-(uint64_t)offset % BL_DIRECT_PAGE);
    size_t pages = (size - head) / BL_DIRECT_PAGE * BL_DIRECT_PAGE, tail = size - head - pages;
    BL_TRY(bl_io_pwrite(fd, at, head, offset, path, e));
    BL_TRY(direct_write_pages(direct, fd, at + head, pages, offset + (int64_t)head, path, e));
    return bl_io_pwrite(fd, at + head + pages, tail, offset + (int64_t)(head + pages), path, e);
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

#define OUTPUT_CHUNK ((size_t)1 << 18) /* bytes of the buffer; larger writes are not copied into it */

/* Resolves links in path; the caller frees the result. A link remains, and the file that it points to is replaced.
 * Otherwise /dev/stdout itself, a link, would be replaced where stdout is a file. */
static char *output_resolve(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return strdup(path);
    char *real = realpath(path, NULL);
    /* A link to nothing cannot be resolved, and its own name is taken. */
    return real || errno == ENOMEM ? real : strdup(path);
}

/* Returns whether an existing file is no regular one, such as a pipe or a device: it is written directly, because a
 * rename would replace it by a file. */
static bool output_is_direct(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* Creates the temporary file beside out->path, in the same file system, so that the rename is atomic. After a failure
 * out->temporary is NULL, and nothing is to be removed. */
static int output_open_temporary(struct bl_output *out, struct bl_error *e)
{
    struct bl_buffer name = {0};
    /* The name is freed here, because out does not own it yet. */
    if (bl_temporary_name(out->path, &name, e)) {
        bl_buffer_free(&name);
        return BL_EFAIL;
    }
    out->temporary = name.data;
    out->fd = bl_fs_create(out->temporary, O_WRONLY, e);
    if (out->fd < 0) {
        free(out->temporary);
        out->temporary = NULL;
        return BL_EFAIL;
    }
    return BL_OK;
}

int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e)
{
    /* bload's own files are never links, so that nothing is resolved. */
    *out = (struct bl_output){.fd = -1, .path = strdup(path)};
    int code = out->path ? output_open_temporary(out, e) : bl_error_memory(e);
    if (code)
        bl_output_abort(out);
    return code;
}

int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e)
{
    /* "-" is the name of standard output on all command lines. */
    bool is_stdout = !path || strcmp(path, "-") == 0;
    *out = (struct bl_output){.fd = -1};
    out->path = is_stdout ? strdup("standard output") : output_resolve(path);
    if (!out->path)
        return bl_error_memory(e);
    int code = BL_OK;
    if (is_stdout) {
        out->fd = STDOUT_FILENO;
    } else if (output_is_direct(out->path)) {
        out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
        if (out->fd < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot open %s", out->path);
    } else {
        code = output_open_temporary(out, e);
    }
    if (code)
        bl_output_abort(out);
    return code;
}

/* Linux opens the file again by /dev/fd/N, although it has no name. */
int bl_output_unnamed(struct bl_output *out, const char *dir, struct bl_error *e)
{
    char path[32];
    *out = (struct bl_output){.fd = bl_temporary_open(dir, e)};
    if (out->fd < 0)
        return BL_EFAIL;
    snprintf(path, sizeof path, "/dev/fd/%d", out->fd);
    out->path = strdup(path);
    if (out->path)
        return BL_OK;
    close(out->fd);
    *out = (struct bl_output){.fd = -1};
    return bl_error_memory(e);
}

void bl_output_mind_terminal(struct bl_output *out)
{
    /* isatty() is 0 for files and pipes, whose readers get the bytes as they are. */
    out->escapes = isatty(out->fd) == 1;
}

/* Writes text to a terminal, with controls as \xHH: those of ASCII except tab and newline, and U+0080 to U+009F (c2 80
 * to c2 9f), so that text from a file cannot command the terminal. A byte c2 at the end waits for the next call, since
 * the terminal would join the two halves of a control. */
static int output_put_escaped(struct bl_output *out, const unsigned char *text, size_t size, struct bl_error *e)
{
    struct bl_buffer plain = {0};
    for (size_t i = 0; i < size; i++) {
        bool is_second = out->is_held && text[i] >= 0x80 && text[i] < 0xa0;
        bool is_control = (text[i] < ' ' && text[i] != '\t' && text[i] != '\n') || text[i] == 0x7f;
        if (is_second)
            bl_buffer_printf(&plain, "\\xC2");
        else if (out->is_held)
            bl_buffer_byte(&plain, (char)0xc2);
        out->is_held = text[i] == 0xc2;
        if (is_second || is_control)
            bl_buffer_printf(&plain, "\\x%02X", text[i]);
        else if (!out->is_held)
            bl_buffer_byte(&plain, (char)text[i]);
    }
    int code = bl_buffer_check(&plain, e);
    if (!code)
        code = bl_io_write(out->fd, plain.data, plain.size, out->path, e);
    bl_buffer_free(&plain);
    return code;
}

/* Writes bytes past the buffer, and adds them to the checksum. Output to a terminal has no checksum. */
static int output_put(struct bl_output *out, const void *data, size_t size, struct bl_error *e)
{
    /* An empty write to a pipe or terminal is harmless. */
    if (out->escapes && size)
        return output_put_escaped(out, data, size, e);
    if (out->sum && size)
        bl_checksum_add(out->sum, data, size);
    return bl_io_write(out->fd, data, size, out->path, e);
}

int bl_output_flush(struct bl_output *out, struct bl_error *e)
{
    /* The buffer is empty even after a failure: the bytes must not be written twice. */
    int code = output_put(out, out->buffer.data, out->buffer.size, e);
    bl_buffer_clear(&out->buffer);
    return code;
}

int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e)
{
    if (size >= OUTPUT_CHUNK) {
        BL_TRY(bl_output_flush(out, e));
        /* A large write keeps its order behind what is buffered. */
        return output_put(out, data, size, e);
    }
    bl_buffer_append(&out->buffer, data, size);
    if (bl_buffer_check(&out->buffer, e))
        return BL_EFAIL;
    return out->buffer.size >= OUTPUT_CHUNK ? bl_output_flush(out, e) : BL_OK;
}

/* Flushes, syncs and closes the file. Pipes and devices cannot be synced, and standard output stays open for others. */
static int output_finish(struct bl_output *out, struct bl_error *e)
{
    BL_TRY(bl_output_flush(out, e));
    if (out->is_held)
        BL_TRY(bl_io_write(out->fd, "\xc2", 1, out->path, e));
    /* Only files that get a name must be durable. */
    if (out->temporary && fsync(out->fd) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot sync %s", out->temporary);
    if (out->fd == STDOUT_FILENO)
        return BL_OK;
    /* Network file systems report a failed write only when the file is closed. */
    int closed = close(out->fd);
    out->fd = -1;
    return closed == 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot close %s", out->path);
}

int bl_output_commit(struct bl_output *out, struct bl_error *e)
{
    int code = output_finish(out, e);
    if (!code && out->temporary) {
        code = bl_fs_rename_durable(out->temporary, out->path, e);
        if (!code) {
            free(out->temporary);
            out->temporary = NULL;
        }
    }
    /* Frees everything; a temporary file that was not renamed is removed. */
    bl_output_abort(out);
    return code;
}

int bl_output_publish(struct bl_output *out, struct bl_error *e)
{
    int code = output_finish(out, e);
    /* bl_output_abort removes the temporary name, which is a second link to the published file. */
    if (!code && out->temporary)
        code = bl_publish_file(out->temporary, out->path, e);
    bl_output_abort(out);
    return code;
}

void bl_output_abort(struct bl_output *out)
{
    /* An empty object, or one that was committed. */
    if (!out->path)
        return;
    if (out->fd >= 0 && out->fd != STDOUT_FILENO)
        close(out->fd);
    if (out->temporary)
        (void)bl_fs_unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    bl_buffer_free(&out->buffer);
    *out = (struct bl_output){.fd = -1};
}

int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e)
{
    /* After a commit the object is empty, and the abort does nothing. */
    struct bl_output out = {0};
    int code = bl_output_own(&out, path, e);
    if (!code)
        code = bl_output_write(&out, data, size, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    return code;
}

/* --- new folders -------------------------------------------------------------------------------------------------- */

/* Returns BL_EUSAGE if there is something at path that is no empty folder. rename(2) replaces an empty folder. */
static int folder_check_free(const char *path, struct bl_error *e)
{
    /* opendir follows links: the user has named this folder. */
    DIR *list = opendir(path);
    const struct dirent *entry = NULL;
    bool is_free = true;
    if (!list && errno == ENOENT)
        return BL_OK;
    if (!list && errno == ENOTDIR)
        return bl_error_set(e, BL_EUSAGE, "%s is no directory", path);
    if (!list)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    errno = 0;
    while (is_free && (entry = readdir(list)))
        is_free = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    int code = !entry && errno ? bl_error_errno(e, BL_EFAIL, "cannot read %s", path) : BL_OK;
    closedir(list);
    return code || is_free ? code : bl_error_set(e, BL_EUSAGE, "%s is not empty: name a new directory", path);
}
/* The temporary folder lies beside the final one, so that one rename moves all files. */

int bl_new_folder_open(struct bl_new_folder *folder, const char *path, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bool made = false;
    int code = folder_check_free(path, e);
    *folder = (struct bl_new_folder){.path = code ? NULL : strdup(path)};
    if (code)
        return code;
    if (!folder->path)
        return bl_error_memory(e);
    /* A slash at the end would put the temporary folder inside the other one. */
    for (size_t size = strlen(path); size > 1 && folder->path[size - 1] == '/'; size--)
        folder->path[size - 1] = '\0';
    code = bl_temporary_name(folder->path, &name, e);
    if (!code)
        code = bl_fs_mkdir(name.data, &made, e);
    if (!code && !made)
        code = bl_error_set(e, BL_EFAIL, "%s exists", name.data);
    if (code)
        bl_buffer_free(&name);
    folder->temporary = code ? NULL : name.data;
    if (code)
        bl_new_folder_abort(folder);
    return code;
}

/* Writes a new file in the folder, and makes its content durable. Its name becomes durable with the folder. */
static int folder_write(const char *path, const void *data, size_t size, struct bl_error *e)
{
    int fd = bl_fs_create(path, O_WRONLY, e);
    if (fd < 0)
        return BL_EFAIL;
    int code = bl_io_write(fd, data, size, path, e);
    if (!code && fsync(fd) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot sync %s", path);
    if (close(fd) != 0 && !code)
        code = bl_error_errno(e, BL_EFAIL, "cannot close %s", path);
    return code;
}

int bl_new_folder_add(struct bl_new_folder *folder, const char *name, const void *data, size_t size, struct bl_error *e)
{
    char *path = bl_path_join(folder->temporary, name);
    /* The name is recorded before the file exists, so that an abort removes a part of a file, too. */
    bl_buffer_append(&folder->files, name, strlen(name) + 1);
    int code = path ? bl_buffer_check(&folder->files, e) : bl_error_memory(e);
    if (!code)
        code = folder_write(path, data, size, e);
    free(path);
    return code;
}

/* The folder is synced before it gets its name: its files must be on disk when the name is. */
int bl_new_folder_commit(struct bl_new_folder *folder, struct bl_error *e)
{
    int code = bl_fs_sync_directory(folder->temporary, e);
    if (!code)
        code = bl_fs_rename(folder->temporary, folder->path, e);
    if (!code) {
        free(folder->temporary);
        folder->temporary = NULL;
        code = bl_fs_sync_parent(folder->path, e);
    }
    bl_new_folder_abort(folder);
    return code;
}

void bl_new_folder_abort(struct bl_new_folder *folder)
{
    /* Only files that were written here are removed; a folder with others stays. */
    struct bl_buffer path = {0};
    for (size_t at = 0; folder->temporary && at < folder->files.size; at += strlen(folder->files.data + at) + 1) {
        bl_buffer_clear(&path);
        bl_buffer_printf(&path, "%s/%s", folder->temporary, folder->files.data + at);
        if (!path.failed)
            (void)bl_fs_unlink(path.data);
    }
    if (folder->temporary)
        (void)bl_fs_rmdir(folder->temporary, NULL);
    bl_buffer_free(&path);
    bl_buffer_free(&folder->files);
    free(folder->temporary);
    free(folder->path);
    *folder = (struct bl_new_folder){.path = NULL};
}

/* --- publishing files --------------------------------------------------------------------------------------------- */

#define CHUNK ((size_t)1 << 16) /* bytes of each file that are compared at once */
#define SHOWN 80                /* bytes of a line that a message shows before and after the difference */

/* Gives a file its final name, which must not exist yet. *exists: the name is taken already. A hard link does that
 * atomically; without hard links a rename that refuses to replace does, and without that, a check and a rename, between
 * which another process could come. */
static int publish_link(int folder, const char *temporary, const char *name, const char *path, bool *exists,
                        struct bl_error *e)
{
    struct stat status;
    if (linkat(folder, temporary, folder, name, 0) == 0)
        return BL_OK;
    *exists = errno == EEXIST;
    if (*exists)
        return BL_OK;
    /* EPERM and EOPNOTSUPP: no hard links here; EMLINK: too many of one file; ENOSYS: a sandbox. */
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return bl_error_errno(e, BL_EFAIL, "cannot give %s its name", path);
    if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
        return BL_OK;
    *exists = errno == EEXIST || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*exists && renameat(folder, temporary, folder, name) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot give %s its name", path);
    return BL_OK;
}

/* --- differences ------------------------------------------------------------------------------------------------ */

/* One of two compared files: the one that exists already ("there"), or the one that was made in this run ("here"). */
struct side {
    const char *path;
    int fd;
    char data[CHUNK];
    size_t size;
};

static int side_open(struct side *side, const char *path, struct bl_error *e)
{
    side->path = path;
    side->fd = bl_regular_open(path, e);
    return side->fd < 0 ? side->fd : BL_OK;
}

/* Reads the next chunk of a file. Only the last one is shorter than CHUNK, so that both files stay at the same offset.
 */
static int side_fill(struct side *side, struct bl_error *e)
{
    size_t got = 1;
    side->size = 0;
    /* Pipes are refused at the open, so that a short read only means a signal or a network. */
    while (side->size < CHUNK && got) {
        BL_TRY(bl_io_read(side->fd, side->data + side->size, CHUNK - side->size, &got, side->path, e));
        side->size += got;
    }
    return BL_OK;
}

/* Returns the line around byte `at`, as far as it lies in the chunk and within SHOWN bytes. *size: its bytes, or -1 if
 * it is not text. */
static const char *side_line(const struct side *side, size_t at, int *size)
{
    size_t begin = at, end = at;
    while (begin > 0 && side->data[begin - 1] != '\n' && at - begin < SHOWN)
        begin--;
    while (end < side->size && side->data[end] != '\n' && end - at < SHOWN)
        end++;
    *size = (int)(end - begin);
    /* A byte below ' ' that is no tab shows that the file is not text. */
    for (size_t i = begin; i < end; i++) {
        if ((unsigned char)side->data[i] < ' ' && side->data[i] != '\t')
            *size = -1;
    }
    return side->data + begin;
}

/* Reports the first difference, at byte `at` of the chunk that begins at `offset`: as two lines, or as the number of a
 * byte where one of the files is no text. */
static int side_report(const struct side *there, const struct side *here, int64_t offset, int64_t line, size_t at,
                       struct bl_error *e)
{
    int a_size, b_size;
    const char *a = side_line(there, at, &a_size), *b = side_line(here, at, &b_size);
    if (a_size < 0 || b_size < 0)
        return bl_error_set(e, BL_EDATA,
                            "%s exists already, with other content than here: the first difference is in byte %" PRId64,
                            there->path, offset + (int64_t)at);
    return bl_error_set(e, BL_EDATA,
                        "%s exists already, with other content than here: line %" PRId64 " is \"%.*s\" there, \"%.*s\" "
                        "here",
                        there->path, line, a_size, a, b_size, b);
}

/* Compares the files chunk by chunk, and counts lines for the message. BL_EDATA: they differ. */
static int side_compare(struct side *there, struct side *here, struct bl_error *e)
{
    int64_t offset = 0, line = 1;
    for (;;) {
        BL_TRY(side_fill(there, e));
        BL_TRY(side_fill(here, e));
        size_t common = there->size < here->size ? there->size : here->size, at = 0;
        for (; at < common && there->data[at] == here->data[at]; at++)
            line += there->data[at] == '\n';
        /* The chunks differ, or one file is longer. */
        if (at < there->size || at < here->size)
            return side_report(there, here, offset, line, at, e);
        if (common < CHUNK)
            return BL_OK;
        offset += (int64_t)common;
    }
}

/* Compares the file that exists with the one that was made here. Returns BL_EDATA if they differ, since two tasks of
 * one run must make the same bytes. The buffers are too large for the stack of a thread. */
static int publish_compare(const char *there, const char *here, struct bl_error *e)
{
    struct side *side = calloc(2, sizeof *side);
    if (!side)
        return bl_error_memory(e);
    side[0].fd = side[1].fd = -1;
    int code = side_open(&side[0], there, e);
    if (!code)
        code = side_open(&side[1], here, e);
    if (!code)
        code = side_compare(&side[0], &side[1], e);
    for (int i = 0; i < 2; i++) {
        if (side[i].fd >= 0)
            close(side[i].fd); /* read only: no data to lose */
    }
    free(side);
    return code;
}

int bl_publish_file(const char *temporary, const char *path, struct bl_error *e)
{
    const char *name;
    bool exists = false;
    int folder = bl_fs_open_parent(path, &name, e);
    if (folder < 0)
        return folder;
    int code = publish_link(folder, bl_path_name(temporary), name, path, &exists, e);
    close(folder);
    if (code)
        return code;
    /* If another process was first, its file stays, and must be equal. */
    return exists ? publish_compare(path, temporary, e) : bl_fs_sync_parent(path, e);
}
