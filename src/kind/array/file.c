#include "kind/array/file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "base/archive.h"

#define CHUNK ((size_t)8 << 20) /* read at once: a cancel waits no longer */
#define SKIP ((size_t)64 << 10)

/* Reads the next bytes: as bl_npy_read asks for them. */
static int file_read_next(void *context, void *data, size_t size, struct bl_error *e)
{
    struct bl_array_file *f = context;
    int64_t bytes = f->npz ? bl_npz_bytes(f->npz) : f->bytes;
    for (size_t done = 0, part; done < size; done += part) {
        if (bl_cancelled(f->cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        part = size - done < CHUNK ? size - done : CHUNK;
        uint8_t *to = (uint8_t *)data + done;
        if ((int64_t)part > bytes - f->position)
            return bl_error_set(e, BL_EDATA, "truncated: it ends at byte %" PRId64, bytes);
        size_t got = part;
        int code = f->npz ? bl_npz_read(f->npz, to, part, &got, e)
                          : bl_io_pread(f->input.fd, to, part, f->input.begin + f->position, f->path, e);
        if (code)
            return code;
        if (got < part)
            return bl_error_set(e, BL_EDATA, "damaged archive: the array ends at byte %" PRId64,
                                f->position + (int64_t)got);
        f->position += (int64_t)part;
    }
    return BL_OK;
}

int bl_array_file_rewind(struct bl_array_file *f, struct bl_error *e)
{
    if (f->npz)
        bl_npz_close(f->npz);
    f->npz = NULL;
    f->position = 0;
    f->in_order = true;
    return bl_npz_open(&f->npz, &f->input, f->bytes, f->path, f->member, f->cancel, e);
}

/* Tells by the first bytes what the file is. */
static int file_open_content(struct bl_array_file *f, struct bl_error *e)
{
    uint8_t head[BL_ARCHIVE_HEAD] = {0};
    size_t size = f->bytes < (int64_t)sizeof head ? (size_t)f->bytes : sizeof head;
    if (!size)
        return bl_error_set(e, BL_EDATA, "empty file");
    int code = bl_io_pread(f->input.fd, head, size, f->input.begin, f->path, e);
    if (code)
        return code;
    if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)
        return bl_array_file_rewind(f, e);
    if (memcmp(head, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) == 0)
        return BL_OK;
    if (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return bl_error_set(e, BL_EDATA, "a pickle, which is never read: save it with numpy.save");
    const char *archive = bl_archive_detect(head, size);
    return bl_error_set(e, BL_EDATA, "%s", archive ? archive : "neither an NPY file nor an NPZ archive");
}

static int file_open_regular(struct bl_array_file *f, int64_t bytes, struct bl_error *e)
{
    if (bl_input_file_open(&f->input, f->path) != 0) {
        if (bytes >= 0 || bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "%s: cannot be opened", f->path);
        return bl_error_errno(e, BL_EDATA, "cannot be opened");
    }
    if (!S_ISREG(f->input.status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    f->bytes = f->input.status.st_size;
    if (bytes >= 0 && f->bytes != bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: %" PRId64 " bytes then, %" PRId64 " now", f->path,
                            bytes, f->bytes);
    return BL_OK;
}

static int file_read_header(struct bl_array_file *f, struct bl_error *e)
{
    int code = bl_npy_read(&f->npy, file_read_next, f, e);
    if (code)
        return code;
    int64_t there = (f->npz ? bl_npz_bytes(f->npz) : f->bytes) - f->npy.begin;
    f->trailing = there - f->npy.bytes;
    if (f->trailing < 0)
        return bl_error_set(e, BL_EDATA,
                            "truncated: the header promises %" PRId64 " bytes of elements, %" PRId64 " are there",
                            f->npy.bytes, there);
    return BL_OK;
}

int bl_array_file_open(struct bl_array_file *f, const char *path, int64_t bytes, const char *member,
                       const struct bl_cancel *cancel, struct bl_error *e)
{
    *f = (struct bl_array_file){.path = path, .member = member, .cancel = cancel, .input.fd = -1};
    int code = file_open_regular(f, bytes, e);
    if (code)
        goto out;
    code = file_open_content(f, e);
    if (code)
        goto out;
    code = file_read_header(f, e);
out:
    if (code)
        bl_array_file_close(f);
    return code;
}

void bl_array_file_close(struct bl_array_file *f)
{
    if (f->npz)
        bl_npz_close(f->npz);
    bl_input_file_close(&f->input);
    f->npz = NULL;
}

/* Goes to a place in an archive. */
static int file_seek_archive(struct bl_array_file *f, int64_t position, struct bl_error *e)
{
    uint8_t skipped[SKIP];
    if (position != f->position && bl_npz_is_stored(f->npz)) {
        f->in_order = false;
        f->position = position;
        return bl_npz_seek(f->npz, position, e);
    }
    int code = position < f->position ? bl_array_file_rewind(f, e) : BL_OK;
    while (!code && f->position < position) {
        int64_t left = position - f->position;
        code = file_read_next(f, skipped, left < (int64_t)SKIP ? (size_t)left : SKIP, e);
    }
    return code;
}

static int file_read_copy(const struct bl_array_file *f, uint8_t *data, size_t size, int64_t offset, struct bl_error *e)
{
    for (size_t done = 0, part; done < size; done += part) {
        if (bl_cancelled(f->cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        part = size - done < CHUNK ? size - done : CHUNK;
        int code = bl_array_copy_read(f->copy, data + done, part, offset + (int64_t)done, e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_array_file_read(struct bl_array_file *f, void *data, size_t size, int64_t offset, struct bl_error *e)
{
    if (f->copy && offset + (int64_t)size <= f->copy->bytes)
        return file_read_copy(f, data, size, offset, e);
    if (f->npz) {
        int code = file_seek_archive(f, f->npy.begin + offset, e);
        if (code)
            return code;
    }
    f->position = f->npy.begin + offset;
    return file_read_next(f, data, size, e);
}

bool bl_array_file_is_deflated(const struct bl_array_file *f)
{
    return f->npz && !bl_npz_is_stored(f->npz);
}

int bl_array_file_verify(struct bl_array_file *f, struct bl_error *e)
{
    uint8_t rest[SKIP];
    size_t got;
    if (!f->npz || (f->copy && f->copy->sound))
        return BL_OK;
    int code = f->in_order ? BL_OK : bl_array_file_rewind(f, e);
    if (code)
        return code;
    do {
        code = bl_npz_read(f->npz, rest, sizeof rest, &got, e);
        if (code)
            return code;
        f->position += (int64_t)got;
    } while (got);
    return BL_OK;
}
