/* Paths, and operations on files and directories that a hostile folder cannot redirect.
 *
 * A dataset may lie in a directory in which other users can write. Such a user could replace DIR/.bload by a link to
 * another directory, and a run would then write or remove files there. So the part of a path that bload makes by itself
 * is opened component by component with O_NOFOLLOW, and each operation uses the descriptor of its parent (openat,
 * renameat, unlinkat). The part that the user named may contain links: out/.bload/lock follows a link at `out` only. */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Removes the last part of a URL, but not its host or bucket, and slashes before it. Returns the new size. */
static size_t url_cut(const char *url, size_t size)
{
    const size_t host = (size_t)(strstr(url, "://") - url) + 3, least = host + strcspn(url + host, "/");
    while (size > least && url[size - 1] != '/')
        size--;
    while (size > least && url[size - 1] == '/')
        size--;
    return size;
}

/* Standard input "-" and URLs belong to no directory. Keys of objects have no "..", and each slash is a part of them,
 * so that "s3://bucket/views/v" and "../data" are "s3://bucket/views/data", as readers of web pages join them. */
char *bl_path_join(const char *base, const char *path)
{
    if (!base || path[0] == '/' || strcmp(path, "-") == 0 || bl_path_is_url(path))
        return strdup(path);
    size_t stem = strlen(base);
    if (bl_path_is_url(base)) {
        while (base[stem - 1] == '/')
            stem--;
        for (; strncmp(path, "../", 3) == 0; path += 3)
            stem = url_cut(base, stem);
    }
    size_t size = stem + strlen(path) + 2;
    char *joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%.*s/%s", (int)stem, base, path);
    return joined;
}

void bl_path_free_all(char **paths, size_t count)
{
    /* A half-built array after a failure contains NULLs, which free() accepts. */
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
}

/* "a/b/" has the parent "a", "/b" has "/", and "b" has ".". */
char *bl_path_parent(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    return size ? strndup(path, size) : strdup(".");
}

const char *bl_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The stem of ".bashrc" is the whole name: a dot at the start begins no extension. */
size_t bl_path_stem(const char *path)
{
    const char *name = bl_path_name(path), *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

/* Extensions compare without case: cameras write .MP4 and .JPG. */
bool bl_path_has_suffix(const char *path, const char *suffix)
{
    size_t size = strlen(path), tail = strlen(suffix);
    return size >= tail && strcasecmp(path + size - tail, suffix) == 0;
}

/* The dot in front is a part of the test: "xmp4" has no extension mp4. */
bool bl_path_has_extension(const char *path, const char *const *extensions)
{
    size_t size = strlen(path);
    for (; *extensions; extensions++) {
        size_t tail = strlen(*extensions);
        if (size > tail && path[size - tail - 1] == '.' && strcasecmp(path + size - tail, *extensions) == 0)
            return true;
    }
    return false;
}

bool bl_path_is_url(const char *path)
{
    /* A scheme, as RFC 3986 (3.1) defines it: a letter, then letters, digits, +, - and dots. Two characters at least,
     * so that a path such as "c://x" is no URL. */
    size_t size = 0;
    while ((path[size] >= 'a' && path[size] <= 'z') || (path[size] >= 'A' && path[size] <= 'Z') ||
           (size && ((path[size] >= '0' && path[size] <= '9') || (path[size] && strchr("+-.", path[size])))))
        size++;
    return size > 1 && strncmp(path + size, "://", 3) == 0;
}

/* --- regular files ------------------------------------------------------------------------------------------------ */

int bl_regular_check(const char *path, struct bl_error *e)
{
    struct stat status;
    /* A name that cannot be examined passes: the open that follows reports why. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return bl_error_set(e, BL_EDATA, "%s is not a regular file", path);
    return BL_OK;
}

/* The file is checked before open(2), since opening some devices has an effect, and again after it, since another
 * process may have replaced the file between the two calls. */
int bl_regular_open(const char *path, struct bl_error *e)
{
    BL_TRY(bl_regular_check(path, e));
    /* O_NONBLOCK matters only for pipes and devices, which an attacker may put here after the check. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    struct stat status;
    int code = BL_OK;
    if (fstat(fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    else if (!S_ISREG(status.st_mode))
        code = bl_error_set(e, BL_EDATA, "%s is not a regular file", path);
    if (!code)
        return fd;
    close(fd);
    return code;
}

/* --- file system -------------------------------------------------------------------------------------------------- */

/* Returns whether text begins with a path that bload makes in a dataset: .bload, shards/00000, or
 * plans/epoch-00001.safetensors. */
static bool path_is_own(const char *text)
{
    const size_t size = strlen(BL_WORK_FOLDER);
    if (strncmp(text, BL_WORK_FOLDER, size) == 0)
        return text[size] == '/' || text[size] == '\0';
    if (strncmp(text, "plans/epoch-", 12) == 0)
        return !strchr(text + 12, '/');
    return strncmp(text, "shards/", 7) == 0 && strspn(text + 7, "0123456789") == 5 &&
           (text[12] == '/' || text[12] == '\0');
}

/* Returns the offset in path from which no link is followed: that of the last part that path_is_own accepts, or the
 * end. "out/.bload/lock" has 4. */
static size_t path_own_part(const char *path)
{
    const size_t length = strlen(path);
    for (size_t at = length; at-- > 0;) {
        if ((at == 0 || path[at - 1] == '/') && path_is_own(path + at))
            return at;
    }
    return length;
}

/* Opens the folder path[0..end) and follows links only in path[0..own). flags are O_PATH or O_RDONLY and hold for the
 * last component. Returns the descriptor, which the caller closes, or BL_EFAIL with the errno of the failing call. */
static int folder_open(const char *path, size_t own, size_t end, int flags, struct bl_error *e)
{
    const int folder = O_DIRECTORY | O_CLOEXEC;
    char *copy = strndup(path, end);
    if (!copy)
        return bl_error_memory(e);
    /* One open() takes the part in which links are followed; an empty part is the current directory. */
    size_t at = own < end ? own : end;
    char first = copy[at];
    copy[at] = '\0';
    int fd = open(*copy ? copy : ".", (at == end ? flags : O_PATH) | folder);
    copy[at] = first;
    if (fd < 0)
        bl_error_errno(e, BL_EFAIL, "cannot open the directory %.*s", at > 1 ? (int)at - (path[at - 1] == '/') : 1,
                       at ? path : ".");
    while (fd >= 0 && at < end) {
        /* The other components follow one at a time. "a//b" has an empty component, for which dup() keeps the folder.
         */
        size_t size = strcspn(copy + at, "/"), next = at + size + strspn(copy + at + size, "/");
        copy[at + size] = '\0';
        int inner = size ? openat(fd, copy + at, (next >= end ? flags : O_PATH) | folder | O_NOFOLLOW) : dup(fd);
        int why = errno;
        close(fd); /* O_PATH or read only: no data to lose */
        errno = why;
        fd = inner;
        if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
            bl_error_set(e, BL_EFAIL,
                         "%.*s is a link, or no directory: bload never follows a link to its own folders in a dataset; "
                         "remove it",
                         (int)(at + size), path);
        else if (fd < 0)
            bl_error_errno(e, BL_EFAIL, "cannot open the directory %.*s", (int)(at + size), path);
        at = next;
    }
    int why = errno;
    free(copy);
    errno = why;
    return fd < 0 ? BL_EFAIL : fd;
}

/* Only the parent's descriptor is needed: O_PATH needs no right to read the folder. */
int bl_fs_open_parent(const char *path, const char **name, struct bl_error *e)
{
    *name = bl_path_name(path);
    return folder_open(path, path_own_part(path), (size_t)(*name - path), O_PATH, e);
}

/* Opens path and creates it if needed. The last component may not be a link. verb: for the message. Returns the
 * descriptor, or BL_EFAIL. */
static int fs_open(const char *path, int flags, const char *verb, struct bl_error *e)
{
    const char *name;
    int folder = bl_fs_open_parent(path, &name, e);
    if (folder < 0)
        return folder;
    /* O_NOFOLLOW covers the last component, which folder_open does not open. */
    int fd = openat(folder, name, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        fd = bl_error_errno(e, BL_EFAIL, "cannot %s %s", verb, path);
    close(folder);
    return fd;
}

/* O_EXCL: a file of that name was not made by this process. */
int bl_fs_create(const char *path, int access, struct bl_error *e)
{
    return fs_open(path, access | O_EXCL, "create", e);
}

int bl_fs_open_lock(const char *path, struct bl_error *e)
{
    /* O_NONBLOCK: the open must not block if another user has put a pipe there. */
    return fs_open(path, O_RDWR | O_NONBLOCK, "open", e);
}

int bl_fs_rename(const char *from, const char *to, struct bl_error *e)
{
    const char *old, *new;
    int here = bl_fs_open_parent(from, &old, e);
    /* The two parents may be different folders, so that both descriptors are needed. */
    if (here < 0)
        return BL_EFAIL;
    int there = bl_fs_open_parent(to, &new, e), code = there < 0 ? BL_EFAIL : BL_OK;
    /* rename(2) replaces an existing file at once, so that readers see the old file or the new one. */
    if (!code && renameat(here, old, there, new) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot rename %s to %s", from, to);
    close(here);
    if (there >= 0)
        close(there);
    return code;
}

/* Removes a file, or a folder with AT_REMOVEDIR. errno is that of the failing call, for bl_fs_unlink. */
static int fs_unlink(const char *path, int flags, struct bl_error *e)
{
    const char *name;
    int folder = bl_fs_open_parent(path, &name, e);
    if (folder < 0)
        return folder;
    int result = unlinkat(folder, name, flags), why = errno;
    if (result != 0)
        bl_error_errno(e, BL_EFAIL, "cannot remove %s", path);
    close(folder);
    errno = why;
    return result == 0 ? BL_OK : BL_EFAIL;
}

/* The caller has no error object and reads errno. */
int bl_fs_unlink(const char *path)
{
    return fs_unlink(path, 0, NULL) ? -1 : 0;
}

int bl_fs_rmdir(const char *path, struct bl_error *e)
{
    return fs_unlink(path, AT_REMOVEDIR, e);
}

/* A file that is gone already is what the caller wants: another process may have removed it. */
int bl_fs_remove(const char *path, struct bl_error *e)
{
    if (bl_fs_unlink(path) != 0 && errno != ENOENT)
        return bl_error_errno(e, BL_EFAIL, "cannot remove %s", path);
    return BL_OK;
}

int bl_fs_mkdir(const char *path, bool *made, struct bl_error *e)
{
    const char *name;
    struct stat status;
    int folder = bl_fs_open_parent(path, &name, e), code = BL_OK;
    if (folder < 0)
        return folder;
    /* EEXIST is no error if the name is a directory by itself; a link to a directory is refused. */
    *made = mkdirat(folder, name, 0777) == 0;
    if (!*made && errno != EEXIST)
        code = bl_error_errno(e, BL_EFAIL, "cannot make the directory %s", path);
    else if (!*made && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    else if (!*made && !S_ISDIR(status.st_mode))
        code = bl_error_set(e, BL_EFAIL, "%s is a link, or no directory: remove it", path);
    close(folder);
    return code;
}

int bl_fs_opendir(const char *path, DIR **list, struct bl_error *e)
{
    struct bl_error why = {0};
    *list = NULL;
    int fd = folder_open(path, path_own_part(path), strlen(path), O_RDONLY, &why);
    if (fd < 0)
        return errno == ENOENT ? BL_OK : bl_error_pass(e, BL_EFAIL, &why);
    /* fdopendir takes over the descriptor, and closedir closes it. */
    *list = fdopendir(fd);
    if (*list)
        return BL_OK;
    bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    close(fd);
    return BL_EFAIL;
}

/* --- directories that a user named; links are followed ---------------------------------------------------------- */

int bl_fs_exists(const char *path, bool *exists, struct bl_error *e)
{
    /* ENOENT and ENOTDIR say that the name does not exist; EIO says nothing about it. */
    *exists = access(path, F_OK) == 0;
    return *exists || !bl_errno_is_system(errno) ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
}

int bl_fs_find(const char *dir, const char *name, bool *found, struct bl_error *e)
{
    char *path = bl_path_join(dir, name);
    *found = false;
    int code = path ? bl_fs_exists(path, found, e) : bl_error_memory(e);
    free(path);
    return code;
}

int bl_fs_mkdirs(const char *path, struct bl_error *e)
{
    char *copy = strdup(path);
    /* mkdir changes a copy of the path in place: a NUL replaces each slash for a moment. */
    if (!copy)
        return bl_error_memory(e);
    int code = BL_OK;
    /* Makes each prefix of the path that ends before a slash, then the path itself: a, a/b, a/b/c. */
    for (char *at = copy + (*copy == '/'); !code; at++) {
        char c = *at;
        if (c != '/' && c != '\0')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            code = bl_error_errno(e, BL_EFAIL, "cannot make the directory %s", copy);
        *at = c;
        if (c == '\0')
            break;
    }
    /* EEXIST is also the answer for a file of that name, so that the result is looked at. */
    struct stat status;
    if (!code && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
        code = bl_error_set(e, BL_EFAIL, "%s is not a directory", path);
    free(copy);
    return code;
}

int bl_fs_sync_directory(const char *path, struct bl_error *e)
{
    /* A directory can be opened for reading only, and fsync accepts such a descriptor. */
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open the directory %s", path);
    int code = BL_OK;
    /* Some file systems cannot sync a directory and return EINVAL. Then there is nothing to make durable. */
    if (fsync(fd) != 0 && errno != EINVAL)
        code = bl_error_errno(e, BL_EFAIL, "cannot sync the directory %s", path);
    close(fd);
    return code;
}

int bl_fs_sync_parent(const char *path, struct bl_error *e)
{
    char *directory = bl_path_parent(path);
    if (!directory)
        return bl_error_memory(e);
    int code = bl_fs_sync_directory(directory, e);
    free(directory);
    return code;
}

int bl_fs_rename_durable(const char *from, const char *to, struct bl_error *e)
{
    /* The rename survives a power failure only after the directory that holds the new name is on disk. */
    BL_TRY(bl_fs_rename(from, to, e));
    return bl_fs_sync_parent(to, e);
}

int bl_fs_lock_directory(const char *path, const char *what, int *fd, struct bl_error *e)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return bl_error_errno(e, errno == ENOTDIR ? BL_EUSAGE : BL_EFAIL, "cannot open %s", path);
    /* Some network file systems support no locks. The run then goes on without one. */
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return BL_OK;
    /* The lock ends with the descriptor, also when the process is killed. */
    close(*fd);
    *fd = -1;
    return bl_error_set(e, BL_EFAIL, "%s: another %s is running there", path, what);
}
