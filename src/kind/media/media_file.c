#include "kind/media/media_file.h"

#include <errno.h>
#include <libavutil/error.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mem.h>
#include <stdbool.h>
#include <string.h>

/* --- metadata of PNG files ---------------------------------------------------------------------------------------- */

#define SIGNATURE 8 /* bytes; packets of APNG have none */
#define AROUND 12   /* bytes of a chunk beside its data: length, name, checksum */

size_t bl_png_drop_notes(uint8_t *data, size_t size)
{
    static const char notes[][5] = {"tEXt", "zTXt", "iTXt", "iCCP", "eXIf"};
    size_t at = size >= SIGNATURE && memcmp(data, "\x89PNG\r\n\x1a\n", SIGNATURE) == 0 ? SIGNATURE : 0, kept = at;
    while (size - at >= AROUND && AV_RB32(data + at) <= size - at - AROUND) {
        size_t chunk = AV_RB32(data + at) + AROUND;
        bool is_note = false;
        for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
            is_note = is_note || memcmp(data + at + 4, notes[i], 4) == 0;
        if (!is_note) {
            memmove(data + kept, data + at, chunk);
            kept += chunk;
        }
        at += chunk;
    }
    memmove(data + kept, data + at, size - at);
    return kept + size - at;
}

/* --- media files -------------------------------------------------------------------------------------------------- */

#define IO_BUFFER (64 << 10)
#define TAG_HEAD 10         /* bytes: name, version, flags, size */
#define TAGS_MAX 1000       /* one after the other */
#define TAGS_SIZE (1 << 28) /* bytes of all: the most that one can have */

ssize_t bl_media_file_read(const struct bl_media_file *file, void *buffer, size_t size, int64_t offset)
{
    return bl_input_file_pread(&file->input, buffer, size, offset);
}

/* How many bytes an ID3 tag claims (ID3v2.4, 3.1), with its head; 0: it is none. */
static int64_t tag_read(const uint8_t *head)
{
    if (memcmp(head, "ID3", 3) != 0 || head[3] == 0xff || head[4] == 0xff ||
        (head[6] | head[7] | head[8] | head[9]) & 0x80)
        return 0;
    int64_t size = (int64_t)head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9];
    return TAG_HEAD + size + (head[5] & 0x10 ? TAG_HEAD : 0);
}

/* Sets file->tags, the bytes of all ID3 tags at the beginning. They are hidden from libav,
 * because the tool needs nothing in them, and libav decompresses their compressed parts without limit. */
static int media_file_measure_tags(struct bl_media_file *file, struct bl_error *e)
{
    uint8_t head[TAG_HEAD];
    ssize_t got = sizeof head;
    int64_t size;
    memcpy(head, file->head, sizeof head);
    for (int tags = 1; got == (ssize_t)sizeof head && (size = tag_read(head)) > 0; tags++) {
        file->tags += size;
        if (tags > TAGS_MAX || file->tags > TAGS_SIZE)
            return bl_error_set(e, BL_EDATA, "more than %d ID3 tags, or %d MiB of them", TAGS_MAX, TAGS_SIZE >> 20);
        got = bl_media_file_read(file, head, sizeof head, file->tags);
    }
    return got < 0 ? bl_input_file_fail(file->path, "cannot be read", e) : BL_OK;
}

/* Replaces the part of the tags that lies in a buffer by one empty tag of the same size, so that all offsets stay. */
static void media_file_hide_tags(const struct bl_media_file *file, uint8_t *buffer, ssize_t size)
{
    int64_t inside = file->tags - TAG_HEAD;
    const uint8_t head[TAG_HEAD] = {
        'I', 'D', '3', 4, 0, 0, inside >> 21 & 127, inside >> 14 & 127, inside >> 7 & 127, inside & 127};
    for (ssize_t i = 0; i < size && file->offset + i < file->tags; i++)
        buffer[i] = file->offset + i < TAG_HEAD ? head[file->offset + i] : 0;
}

/* The callback of libav's I/O context. A file that ends before the size that it had when it was opened counts as a
 * failure of the system (ESTALE), not as damage: another process is changing it. */
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
    media_file_hide_tags(file, buffer, got);
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
    if (bl_input_file_open(&file->input, path) != 0) {
        if (bytes >= 0 || bl_errno_is_system(errno))
            return bl_input_file_fail(file->path, "cannot be opened", e);
        return bl_error_errno(e, BL_EDATA, "cannot be opened");
    }
    if (!S_ISREG(file->input.status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    file->bytes = file->input.status.st_size;
    if (bytes >= 0 && file->bytes != bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: %lld bytes then, %lld now", file->path,
                            (long long)bytes, (long long)file->bytes);
    if (file->bytes == 0)
        return bl_error_set(e, BL_EDATA, "empty file");
    ssize_t got = bl_media_file_read(file, file->head, sizeof file->head, 0);
    if (got < 0)
        return bl_input_file_fail(file->path, "cannot be read", e);
    const char *archive = bl_archive_detect(file->head, (size_t)got);
    if (archive)
        return bl_error_set(e, BL_EDATA, "%s", archive);
    BL_TRY(media_file_measure_tags(file, e));
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
    bl_input_file_close(&file->input);
}
