#include "kind/array/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/archive.h"

#define CHUNK ((size_t)8 << 20) /* read at once: a cancel waits no longer */
#define SKIP ((size_t)64 << 10)

/* Reads the next bytes: as bl_npy_read asks for them. */
static int stream_read_next(void *context, void *data, size_t size, struct bl_error *e)
{
    struct bl_array_stream *s = context;
    int64_t bytes = s->npz ? bl_npz_bytes(s->npz) : s->bytes;
    for (size_t done = 0, part; done < size; done += part) {
        if (bl_cancelled(s->cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        part = size - done < CHUNK ? size - done : CHUNK;
        uint8_t *to = (uint8_t *)data + done;
        if ((int64_t)part > bytes - s->position)
            return bl_error_set(e, BL_EDATA, "truncated: it ends at byte %" PRId64, bytes);
        size_t got = part;
        int code =
            s->npz ? bl_npz_read(s->npz, to, part, &got, e) : bl_io_pread(s->fd, to, part, s->position, s->path, e);
        if (code)
            return code;
        if (got < part)
            return bl_error_set(e, BL_EDATA, "damaged archive: the array ends at byte %" PRId64,
                                s->position + (int64_t)got);
        s->position += (int64_t)part;
    }
    return BL_OK;
}

int bl_array_stream_rewind(struct bl_array_stream *s, struct bl_error *e)
{
    if (s->npz)
        bl_npz_close(s->npz);
    s->npz = NULL;
    s->position = 0;
    s->in_order = true;
    return bl_npz_open(&s->npz, s->fd, s->bytes, s->path, s->member, s->cancel, e);
}

/* Tells by the first bytes what the file is. */
static int stream_open_content(struct bl_array_stream *s, struct bl_error *e)
{
    uint8_t head[BL_ARCHIVE_HEAD] = {0};
    size_t size = s->bytes < (int64_t)sizeof head ? (size_t)s->bytes : sizeof head;
    if (!size)
        return bl_error_set(e, BL_EDATA, "empty file");
    int code = bl_io_pread(s->fd, head, size, 0, s->path, e);
    if (code)
        return code;
    if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)
        return bl_array_stream_rewind(s, e);
    if (memcmp(head, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) == 0)
        return BL_OK;
    if (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return bl_error_set(e, BL_EDATA, "a pickle, which is never read: save it with numpy.save");
    const char *archive = bl_archive_detect(head, size);
    return bl_error_set(e, BL_EDATA, "%s", archive ? archive : "neither an NPY file nor an NPZ archive");
}

static int stream_open_file(struct bl_array_stream *s, int64_t bytes, struct bl_error *e)
{
    struct stat status;
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (s->fd < 0 && (bytes >= 0 || bl_errno_is_system(errno)))
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be opened", s->path);
    if (s->fd < 0)
        return bl_error_errno(e, BL_EDATA, "cannot be opened");
    if (fstat(s->fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be examined", s->path);
    if (!S_ISREG(status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    s->bytes = status.st_size;
    if (bytes >= 0 && s->bytes != bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: %" PRId64 " bytes then, %" PRId64 " now", s->path,
                            bytes, s->bytes);
    return BL_OK;
}

static int stream_read_header(struct bl_array_stream *s, struct bl_error *e)
{
    int code = bl_npy_read(&s->npy, stream_read_next, s, e);
    if (code)
        return code;
    int64_t there = (s->npz ? bl_npz_bytes(s->npz) : s->bytes) - s->npy.begin;
    s->trailing = there - s->npy.bytes;
    if (s->trailing < 0)
        return bl_error_set(e, BL_EDATA,
                            "truncated: the header promises %" PRId64 " bytes of elements, %" PRId64 " are there",
                            s->npy.bytes, there);
    return BL_OK;
}

int bl_array_stream_open(struct bl_array_stream *s, const char *path, int64_t bytes, const char *member,
                         const struct bl_cancel *cancel, struct bl_error *e)
{
    *s = (struct bl_array_stream){.path = path, .member = member, .cancel = cancel, .fd = -1};
    int code = stream_open_file(s, bytes, e);
    if (code)
        goto out;
    code = stream_open_content(s, e);
    if (code)
        goto out;
    code = stream_read_header(s, e);
out:
    if (code)
        bl_array_stream_close(s);
    return code;
}

void bl_array_stream_close(struct bl_array_stream *s)
{
    if (s->npz)
        bl_npz_close(s->npz);
    if (s->fd >= 0)
        close(s->fd); /* read only: nothing can be lost by it */
    s->npz = NULL;
    s->fd = -1;
}

/* Goes to a place in an archive. */
static int stream_seek_archive(struct bl_array_stream *s, int64_t position, struct bl_error *e)
{
    uint8_t skipped[SKIP];
    if (position != s->position && bl_npz_is_stored(s->npz)) {
        s->in_order = false;
        s->position = position;
        return bl_npz_seek(s->npz, position, e);
    }
    int code = position < s->position ? bl_array_stream_rewind(s, e) : BL_OK;
    while (!code && s->position < position) {
        int64_t left = position - s->position;
        code = stream_read_next(s, skipped, left < (int64_t)SKIP ? (size_t)left : SKIP, e);
    }
    return code;
}

static int stream_read_copy(const struct bl_array_stream *s, uint8_t *data, size_t size, int64_t offset,
                            struct bl_error *e)
{
    for (size_t done = 0, part; done < size; done += part) {
        if (bl_cancelled(s->cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        part = size - done < CHUNK ? size - done : CHUNK;
        int code = bl_io_pread(s->copy->fd, data + done, part, s->copy->begin + offset + (int64_t)done,
                               "an inflated array", e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_array_stream_read(struct bl_array_stream *s, void *data, size_t size, int64_t offset, struct bl_error *e)
{
    if (s->copy && offset + (int64_t)size <= s->copy->bytes)
        return stream_read_copy(s, data, size, offset, e);
    if (s->npz) {
        int code = stream_seek_archive(s, s->npy.begin + offset, e);
        if (code)
            return code;
    }
    s->position = s->npy.begin + offset;
    return stream_read_next(s, data, size, e);
}

bool bl_array_stream_is_deflated(const struct bl_array_stream *s)
{
    return s->npz && !bl_npz_is_stored(s->npz);
}

int bl_array_stream_verify(struct bl_array_stream *s, struct bl_error *e)
{
    uint8_t rest[SKIP];
    size_t got;
    if (!s->npz || (s->copy && s->copy->sound))
        return BL_OK;
    int code = s->in_order ? BL_OK : bl_array_stream_rewind(s, e);
    if (code)
        return code;
    do {
        code = bl_npz_read(s->npz, rest, sizeof rest, &got, e);
        if (code)
            return code;
        s->position += (int64_t)got;
    } while (got);
    return BL_OK;
}
