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

#define END ((size_t)64 << 10)
#define DIGITS 16

/* 0 stands for a digest that is not known, so a hash of 0 becomes 1. */
uint64_t bl_content_hash(const void *data, size_t size)
{
    uint64_t content = XXH3_64bits(size ? data : "", size);
    return content ? content : 1;
}

/* Computes the digest of a file: of its size and of both ends. */
static int content_digest_ends(const struct bl_input_file *file, const char *path, uint64_t *content,
                               struct bl_error *e)
{
    uint8_t data[8 + 2 * END];
    uint64_t size = (uint64_t)file->status.st_size;
    size_t first = size < END ? (size_t)size : END, last = size - first < END ? (size_t)size - first : END;
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)(size >> 8 * i);
    BL_TRY(bl_io_pread(file->fd, data + 8, first, file->begin, path, e));
    BL_TRY(bl_io_pread(file->fd, data + 8 + first, last, file->begin + (int64_t)(size - last), path, e));
    *content = bl_content_hash(data, 8 + first + last);
    return BL_OK;
}

int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e)
{
    *content = 0;
    struct bl_input_file file;
    if (bl_input_file_open(&file, path) != 0)
        return bl_errno_is_system(errno) ? bl_error_errno(e, BL_EFAIL, "cannot open %s", path) : BL_OK;
    int code = content_digest_ends(&file, path, content, e);
    bl_input_file_close(&file);
    return code;
}

void bl_content_format(uint64_t content, struct bl_buffer *out)
{
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
    if (folders && !*unusable) {
        struct bl_error fault = {0};
        int code = kind->scan->stat_folder(input->path, &input->bytes, &input->content, &fault);
        if (code == BL_EDATA) /* the folder may have been replaced since */
            *unusable = "not a folder";
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

/* --- check of files ----------------------------------------------------------------------------------------------- */

/* Sets a file's size and time; false: it does not exist. */
static bool file_check_stat(const char *path, int64_t *bytes, int64_t *modified)
{
    struct stat status;
    if (bl_input_file_stat(path, &status) != 0)
        return false;
    *bytes = status.st_size;
    *modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return true;
}

/* The file, of this size and time, must have the row's content. */
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
    if (kind->spool || kind->scan->stat_folder || !*path)
        return reader->piece(reader, request, note, e);
    bool exists = file_check_stat(path, &bytes, &modified);
    int code = reader->piece(reader, request, note, e);
    if ((code && code != BL_EDATA) || !exists)
        return code;
    /* A changed file matters more than what was found in it. */
    struct bl_error changed = {0};
    int changed_code, reading_errno = errno; /* by which the caller recognizes a lack of memory */
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
