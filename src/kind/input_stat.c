/* The identity of inputs: a digest of their content, their size and time, and the check of a file around each read.
 *
 * A run may take days, and an input may change in between. Size and time (mtime, in nanoseconds) are compared before
 * and after each piece, which costs two calls; the digest is compared once per open file, because it reads 128 KiB.
 * Only a change in the middle of a large file that keeps size and time remains unnoticed. */
#include "kind/input_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/archive.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"

/* --- content digest ----------------------------------------------------------------------------------------------- */

#define END ((size_t)64 << 10) /* bytes of each end: a header or an index lies there in nearly all formats */
#define DIGITS 16              /* hexadecimal, of 64 bits */

/* 0 means that a digest is not known, so that a hash of 0 becomes 1. */
uint64_t bl_content_hash(const void *data, size_t size)
{
    uint64_t content = XXH3_64bits(size ? data : "", size);
    return content ? content : 1;
}

/* Computes the digest of a file: of its size (8 bytes, little-endian), its first and its last 64 KiB. The ends of a
 * file under 128 KiB do not overlap: `last` is what remains after `first`. */
static int content_digest_ends(const struct bl_input_file *file, const char *path, uint64_t *content,
                               struct bl_error *e)
{
    uint8_t data[8 + 2 * END];
    uint64_t size = (uint64_t)file->status.st_size;
    size_t first = size < END ? (size_t)size : END, last = size - first < END ? (size_t)size - first : END;
    /* The size makes files different that differ only in the middle and in length. */
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)(size >> 8 * i);
    BL_TRY(bl_input_file_get(file, data + 8, first, 0, path, e));
    BL_TRY(bl_input_file_get(file, data + 8 + first, last, (int64_t)(size - last), path, e));
    *content = bl_content_hash(data, 8 + first + last);
    return BL_OK;
}

int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e)
{
    *content = 0;
    int64_t bytes;
    /* Size and ETag stand for an object's content, so that no byte of it is fetched. */
    if (bl_far_is(path))
        return bl_far_identify(path, &bytes, content, e);
    struct bl_input_file file;
    /* A file that cannot be opened has no digest; its kind reports why when it counts the file. */
    if (bl_input_file_open(&file, path) != 0)
        return bl_errno_is_system(errno) ? bl_error_errno(e, BL_EFAIL, "cannot open %s", path) : BL_OK;
    int code = content_digest_ends(&file, path, content, e);
    bl_input_file_close(&file);
    return code;
}

void bl_content_format(uint64_t content, struct bl_buffer *out)
{
    /* The digits run from the highest to the lowest. */
    char text[DIGITS];
    for (int i = 0; i < DIGITS; i++)
        text[i] = "0123456789abcdef"[content >> 4 * (DIGITS - 1 - i) & 15];
    if (content)
        bl_buffer_append(out, text, sizeof text);
}

bool bl_content_parse(const char *text, uint64_t *content)
{
    size_t size = strlen(text);
    *content = 0;
    if (size && size != DIGITS)
        return false;
    for (size_t i = 0; i < size; i++) {
        int digit = bl_text_hex_digit(text[i]);
        /* One content has one text: capital letters are refused. */
        if (digit < 0 || (text[i] >= 'A' && text[i] <= 'F'))
            return false;
        *content = *content << 4 | (uint64_t)digit;
    }
    return true;
}

/* --- size and time ------------------------------------------------------------------------------------------------ */

static bool kind_takes_folders(const struct bl_kind *kind)
{
    return kind && kind->scan->stat_folder;
}

/* Returns why a file is no folder of images. An archive is named as such, because users try to pack archives of images.
 * The file may be a pipe: O_NONBLOCK and S_ISREG prevent that the open blocks. */
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

int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e)
{
    struct stat status;
    *unusable = NULL;
    input->bytes = input->modified = 0;
    input->content = 0;
    /* Standard input has neither size nor content that could be read twice. */
    if (strcmp(input->path, "-") == 0)
        return BL_OK;
    /* A failing disk or an exhausted limit ends the run; a missing or forbidden file only makes a skipped row. */
    bool folders = kind_takes_folders(kind);
    bool is_far = folders && bl_input_folder_is_far(input->path);
    if (is_far) {
        status = (struct stat){.st_mode = S_IFDIR}; /* its list says whether there is one */
    } else if (bl_input_file_stat(input->path, &status) != 0) {
        if (bl_errno_is_system(errno))
            return bl_opener_fail("cannot stat", input->path, BL_EFAIL, e);
        *unusable = input->fault ? input->fault : errno == ENOENT ? BL_REASON_MISSING : strerror(errno);
        return BL_OK;
    }
    /* A folder needs both rights, to list its names and to open its files. */
    bool is_closed = !input->fault && !is_far && S_ISDIR(status.st_mode) && access(input->path, R_OK | X_OK) != 0;
    if (is_closed && bl_errno_is_system(errno))
        return bl_error_errno(e, BL_EFAIL, "cannot read the folder %s", input->path);
    if (input->fault)
        *unusable = input->fault;
    else if (is_closed)
        *unusable = "the folder cannot be read";
    else if (folders ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))
        *unusable = folders ? input_describe_file(input->path, &status) : "not a regular file";
    if (folders && !*unusable) {
        struct bl_error fault = {0};
        int code = kind->scan->stat_folder(input->path, &input->bytes, &input->content, &fault);
        if (code == BL_EDATA) /* the folder may have been replaced since */
            *unusable = is_far ? BL_REASON_MISSING : "not a folder";
        return code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &fault);
    }
    input->bytes = S_ISREG(status.st_mode) ? status.st_size : 0;
    input->modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return BL_OK;
}

int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e)
{
    BL_TRY(bl_input_stat(kind, input, unusable, e));
    if (*unusable || kind_takes_folders(kind) || strcmp(input->path, "-") == 0)
        return BL_OK;
    /* The digest is computed only for files that can be read. */
    return bl_content_hash_file(input->path, &input->content, e);
}

/* A file that changes during a scan would get a row that describes no version of it, so the run ends. */
int bl_input_report_changed(const struct bl_input *input, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s: changed while it was scanned (scan again when nobody writes to it)",
                        input->path);
}

int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e)
{
    struct bl_input now = {.path = input->path};
    const char *unusable;
    /* The digest of a folder already covers its images, and the reader compares each of them. */
    if (kind_takes_folders(kind) || strcmp(input->path, "-") == 0)
        return BL_OK;
    int code = bl_input_stat(kind, &now, &unusable, e);
    if (code || (!unusable && now.bytes == input->bytes && now.modified == input->modified))
        return code;
    return bl_input_report_changed(input, e);
}

/* --- check of files ----------------------------------------------------------------------------------------------- */

/* Sets a file's size in bytes and its time in nanoseconds. Returns false if the file does not exist. */
static bool file_check_stat(const char *path, int64_t *bytes, int64_t *modified)
{
    struct stat status;
    if (bl_input_file_stat(path, &status) != 0)
        return false;
    *bytes = status.st_size;
    *modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return true;
}

/* Checks that the file, which has this size and time, has the row's content. The last file that was right is
 * remembered: pieces of one file follow each other, and the digest is computed once for them. */
static int file_check_content(struct bl_file_check *check, const struct bl_row *row, int64_t bytes, int64_t modified,
                              struct bl_error *e)
{
    uint64_t content;
    if (!row->content)
        return BL_OK;
    if (check->content == row->content && check->bytes == bytes && check->modified == modified &&
        strcmp(check->path.data, row->path) == 0)
        return BL_OK;
    check->content = 0;
    BL_TRY(bl_content_hash_file(row->path, &content, e));
    if (content != row->content)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: different content", row->path);
    bl_buffer_clear(&check->path);
    bl_buffer_text(&check->path, row->path);
    BL_TRY(bl_buffer_check(&check->path, e));
    check->bytes = bytes;
    check->modified = modified;
    check->content = content;
    return BL_OK;
}

int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    const char *path = request->row.path;
    int64_t bytes, modified, bytes_after, modified_after;
    /* Kinds with a spool read no input at this point, and folders compare their own files. */
    if (kind->spool || kind->scan->stat_folder || !*path)
        return reader->piece(reader, request, note, e);
    /* Size and time are compared before and after the read: a change in between would go unnoticed otherwise. */
    bool exists = file_check_stat(path, &bytes, &modified);
    int code = reader->piece(reader, request, note, e);
    /* Failures of the system and cancellation end the run anyway. */
    if ((code && code != BL_EDATA) || !exists)
        return code;
    /* A changed file matters more than what was found in it. */
    struct bl_error changed = {0};
    int changed_code, reading_errno = errno; /* the caller recognizes an exhausted memory by it */
    if (!file_check_stat(path, &bytes_after, &modified_after) || bytes != bytes_after || modified != modified_after)
        changed_code = bl_error_set(&changed, BL_EFAIL, "%s: changed while it was read", path);
    else
        changed_code = file_check_content(check, &request->row, bytes_after, modified_after, &changed);
    if (changed_code) {
        *e = changed;
        return changed_code;
    }
    errno = reading_errno;
    return code;
}

void bl_file_check_free(struct bl_file_check *check)
{
    bl_buffer_free(&check->path);
    *check = (struct bl_file_check){0};
}
