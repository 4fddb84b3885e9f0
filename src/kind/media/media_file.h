/* Gives libav the bytes of a media file, without the metadata that would cost libav too much memory or time. */
#ifndef BL_MEDIA_FILE_H
#define BL_MEDIA_FILE_H

#include <libavformat/avio.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/archive.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"

/* --- metadata of PNG files ---------------------------------------------------------------------------------------- */

/* Texts, colour profiles and EXIF data of a PNG file do not affect its pixels. FFmpeg decompresses them without a
 * limit, and its list of texts takes quadratic time. */

/* Removes these chunks in place from a PNG file, or from a packet of a PNG or APNG stream. Returns the size of the
 * rest. From the first incomplete chunk on, the data stays as it is. */
size_t bl_png_drop_notes(uint8_t *data, size_t size);

/* --- media files -------------------------------------------------------------------------------------------------- */

/* A media file that libav reads through a descriptor of bload, so that a failing system and bad content are
 * distinguished. */

struct bl_media_file {
    const char *path; /* borrowed from the caller */
    const struct bl_cancel *cancel;
    struct bl_input_file input;
    int64_t bytes;                 /* the size of the file */
    int64_t offset;                /* byte offset of libav's next read */
    int system_errno;              /* errno of a failed read, or 0; ESTALE: the file ended before its size */
    int64_t tags;                  /* bytes of ID3 tags at the beginning; libav reads them as one empty tag */
    uint8_t head[BL_ARCHIVE_HEAD]; /* the first bytes of the file, padded with zeros */
    AVIOContext *io;
};

/* Opens a file. bytes is the size that it must have, or -1 for any. BL_EDATA: it is no regular file, it is empty, or it
 * is an archive; BL_EFAIL: it has another size, or the system failed. Close it after a failure, too. */
int bl_media_file_open(struct bl_media_file *file, const char *path, int64_t bytes, const struct bl_cancel *cancel,
                       struct bl_error *e);
void bl_media_file_close(struct bl_media_file *file);

/* Reads like pread(2), from an offset in the file. */
ssize_t bl_media_file_read(const struct bl_media_file *file, void *buffer, size_t size, int64_t offset);

#endif
