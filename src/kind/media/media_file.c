#include "kind/media/media_file.h"

#include <errno.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/opener.h"

#define IO_BUFFER (64 << 10)

ssize_t bl_media_file_read(const struct bl_media_file *file, void *buffer, size_t size, int64_t offset)
{
    ssize_t got;
    do
        got = pread(file->fd, buffer, size, offset);
    while (got < 0 && errno == EINTR);
    return got;
}

static int media_file_read_io(void *opaque, uint8_t *buffer, int size)
{
    struct bl_media_file *file = opaque;
    if (bl_cancelled(file->cancel))
        return AVERROR_EXIT;
    ssize_t got = bl_media_file_read(file, buffer, (size_t)size, file->offset);
    if (got < 0 || (got == 0 && file->offset < file->bytes)) {
        file->system_errno = got < 0 ? errno : ESTALE;
        return AVERROR(file->system_errno);
    }
    if (got == 0)
        return AVERROR_EOF;
    file->offset += got;
    return (int)got;
}

static int64_t media_file_seek_io(void *opaque, int64_t offset, int whence)
{
    struct bl_media_file *file = opaque;
    if (whence & AVSEEK_SIZE)
        return file->bytes;
    whence &= ~AVSEEK_FORCE;
    int64_t base = whence == SEEK_CUR ? file->offset : whence == SEEK_END ? file->bytes : 0;
    if (offset > INT64_MAX - base || base + offset < 0)
        return AVERROR(EINVAL);
    return file->offset = base + offset;
}

int bl_media_file_open(struct bl_media_file *file, const char *path, int64_t bytes, const struct bl_cancel *cancel,
                       struct bl_error *e)
{
    *file = (struct bl_media_file){.path = path, .cancel = cancel};
    file->fd = bl_opener_file(file->path);
    if (file->fd < 0 && (bytes >= 0 || bl_errno_is_system(errno)))
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be opened", file->path);
    if (file->fd < 0)
        return bl_error_errno(e, BL_EDATA, "cannot be opened");
    struct stat status;
    if (fstat(file->fd, &status) < 0)
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be examined", file->path);
    if (!S_ISREG(status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    if (bytes >= 0 && status.st_size != bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: %lld bytes then, %lld now", file->path,
                            (long long)bytes, (long long)status.st_size);
    file->bytes = status.st_size;
    if (file->bytes == 0)
        return bl_error_set(e, BL_EDATA, "empty file");
    ssize_t got = bl_media_file_read(file, file->head, sizeof file->head, 0);
    if (got < 0)
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be read", file->path);
    const char *archive = bl_archive_detect(file->head, (size_t)got);
    if (archive)
        return bl_error_set(e, BL_EDATA, "%s", archive);
    unsigned char *buffer = av_malloc(IO_BUFFER);
    if (!buffer)
        return bl_error_memory(e);
    file->io = avio_alloc_context(buffer, IO_BUFFER, 0, file, media_file_read_io, NULL, media_file_seek_io);
    if (!file->io) {
        av_free(buffer);
        return bl_error_memory(e);
    }
    return BL_OK;
}

void bl_media_file_close(struct bl_media_file *file)
{
    if (file->io)
        av_freep(&file->io->buffer);
    avio_context_free(&file->io);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
