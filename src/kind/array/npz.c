/* See npz.h. libarchive reads through a descriptor of our own, so that it is known for sure whether the disk failed or
 * the archive is damaged. */
#include "kind/array/npz.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"

#define IO_BUFFER ((size_t)256 << 10)
#define DEFLATE_MOST 1032 /* bytes that a deflated one can become (zlib's technical details) */
#define NAMES_TOLD 5

struct bl_npz {
    struct archive *archive;
    const struct bl_cancel *cancel;
    const char *path;
    int fd;
    int64_t bytes, offset; /* of the file; of the next read */
    int system_errno;      /* of the read that failed, or 0; ESTALE when the file ended before its size */
    int64_t member_bytes;
    uint8_t buffer[IO_BUFFER];
};

static la_ssize_t take(struct archive *archive, void *context, const void **data)
{
    struct bl_npz *z = context;
    (void)archive;
    *data = z->buffer;
    if (bl_cancelled(z->cancel))
        return -1;
    ssize_t got;
    do
        got = pread(z->fd, z->buffer, IO_BUFFER, z->offset);
    while (got < 0 && errno == EINTR);
    if (got < 0 || (got == 0 && z->offset < z->bytes)) {
        z->system_errno = got < 0 ? errno : ESTALE;
        return -1;
    }
    z->offset += got;
    return got;
}

static la_int64_t seek(struct archive *archive, void *context, la_int64_t offset, int whence)
{
    struct bl_npz *z = context;
    (void)archive;
    int64_t base = whence == SEEK_CUR ? z->offset : whence == SEEK_END ? z->bytes : 0;
    if (__builtin_add_overflow(base, offset, &base) || base < 0)
        return ARCHIVE_FATAL;
    return z->offset = base;
}

static int fault(const struct bl_npz *z, struct bl_error *e)
{
    if (bl_cancelled(z->cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    if (z->system_errno) {
        errno = z->system_errno;
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be read", z->path);
    }
    const char *text = archive_error_string(z->archive);
    return bl_error_set(e, BL_EDATA, "damaged archive: %s", text ? text : "it cannot be read");
}

/* Begins with the archive's first member. */
static int start(struct bl_npz *z, struct bl_error *e)
{
    if (z->archive)
        archive_read_free(z->archive);
    z->offset = 0;
    z->archive = archive_read_new();
    if (!z->archive)
        return bl_error_memory(e);
    if (archive_read_support_format_zip_seekable(z->archive) != ARCHIVE_OK ||
        archive_read_set_read_callback(z->archive, take) != ARCHIVE_OK ||
        archive_read_set_seek_callback(z->archive, seek) != ARCHIVE_OK ||
        archive_read_set_callback_data(z->archive, z) != ARCHIVE_OK || archive_read_open1(z->archive) != ARCHIVE_OK)
        return fault(z, e);
    return BL_OK;
}

/* The next member: 1, 0 when there are no more, or a code. Names in other characters than the system's are no fault. */
static int next(struct bl_npz *z, struct archive_entry **entry, struct bl_error *e)
{
    int result = bl_cancelled(z->cancel) ? ARCHIVE_FATAL : archive_read_next_header(z->archive, entry);
    if (result == ARCHIVE_EOF)
        return 0;
    return result < ARCHIVE_WARN ? fault(z, e) : 1;
}

/* In UTF-8, as Python writes names that are not ASCII, whatever the locale is; NULL for one that is neither. */
static const char *member_path(struct archive_entry *entry)
{
    const char *path = archive_entry_pathname_utf8(entry);
    return path ? path : archive_entry_pathname(entry);
}

/* Bytes of the array's name, without ".npy"; 0 for what is no array. */
static size_t name_size(const char *path)
{
    size_t size = path ? strlen(path) : 0;
    return size > 4 && strcmp(path + size - 4, ".npy") == 0 ? size - 4 : 0;
}

static bool is_named(const char *path, const char *name)
{
    size_t size = name_size(path);
    return size && ((strlen(name) == size && memcmp(path, name, size) == 0) || strcmp(path, name) == 0);
}

/* Goes to the member of that name, or to the first array where any will do: 1, 0 for none, or a code. arrays: how many
 * it passed; names: theirs. */
static int find(struct bl_npz *z, const char *name, bool any, struct archive_entry **entry, int64_t *arrays,
                struct bl_buffer *names, struct bl_error *e)
{
    int code = start(z, e), more = 0;
    while (!code && (more = next(z, entry, e)) > 0) {
        const char *path = member_path(*entry);
        size_t size = name_size(path);
        if (size && (any || (name && is_named(path, name))))
            return 1;
        if (!size || ++*arrays > NAMES_TOLD)
            continue;
        bl_buffer_text(names, *arrays > 1 ? ", " : "");
        bl_text_escape(names, path, size);
    }
    return code ? code : more ? more : bl_buffer_check(names, e);
}

/* What the entry's size and form say must be possible. */
static int check(struct bl_npz *z, struct archive_entry *entry, struct bl_error *e)
{
    const char *format = archive_format_name(z->archive);
    if (!format || (!strstr(format, "(deflation)") && !strstr(format, "(uncompressed)")))
        return bl_error_set(e, BL_EDATA, "an array that is neither stored nor deflated");
    if (archive_entry_is_data_encrypted(entry))
        return bl_error_set(e, BL_EDATA, "an array that is encrypted");
    z->member_bytes = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;
    if (z->member_bytes < 0 || z->member_bytes / DEFLATE_MOST > z->bytes)
        return bl_error_set(e, BL_EDATA, "damaged archive: an array of %" PRId64 " bytes in a file of %" PRId64,
                            z->member_bytes, z->bytes);
    return BL_OK;
}

/* The only array is known once all members were seen; then they are gone through again. */
static int choose(struct bl_npz *z, const char *name, struct bl_error *e)
{
    struct archive_entry *entry = NULL;
    struct bl_buffer names = {0};
    int64_t arrays = 0;
    int found = find(z, name, false, &entry, &arrays, &names, e);
    const char *more = arrays > NAMES_TOLD ? "..." : "";
    if (!found && !arrays)
        found = bl_error_set(e, BL_EDATA, "an archive without arrays");
    else if (!found && name)
        found = bl_error_set(e, BL_EDATA, "no array \"%s\" in the archive, but %s%s", name, names.data, more);
    else if (!found && arrays > 1)
        found =
            bl_error_set(e, BL_EDATA, "%" PRId64 " arrays (%s%s): choose one with --array", arrays, names.data, more);
    else if (!found)
        found = find(z, NULL, true, &entry, &arrays, &names, e);
    bl_buffer_free(&names);
    if (!found)
        return bl_error_set(e, BL_EDATA, "damaged archive: it says something else each time");
    return found < 0 ? found : check(z, entry, e);
}

int bl_npz_open(struct bl_npz **npz, int fd, int64_t bytes, const char *path, const char *name,
                const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_npz *z = calloc(1, sizeof *z);
    if (!z)
        return bl_error_memory(e);
    *z = (struct bl_npz){.cancel = cancel, .path = path, .fd = fd, .bytes = bytes};
    int code = choose(z, name, e);
    if (code)
        bl_npz_close(z);
    else
        *npz = z;
    return code;
}

void bl_npz_close(struct bl_npz *z)
{
    if (z->archive)
        archive_read_free(z->archive); /* read only: nothing can be lost by it */
    free(z);
}

int64_t bl_npz_bytes(const struct bl_npz *z)
{
    return z->member_bytes;
}

int bl_npz_read(struct bl_npz *z, void *data, size_t size, size_t *got, struct bl_error *e)
{
    la_ssize_t n = archive_read_data(z->archive, data, size);
    *got = n > 0 ? (size_t)n : 0;
    return n < 0 ? fault(z, e) : BL_OK;
}
