/* Gives libav the bytes of a media file, without the parts that cost it too much. */
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

/* The parts of a PNG that have nothing to do with its pixels: texts and colour profiles. FFmpeg decompresses them
 * without limit, and puts each text into a list that it searches for every other one. */

/* Takes them out of a file, or of the packet of a stream of PNG or APNG, in place; returns the size of what is left.
 * Anything that is not made of whole parts stays as it is. */
size_t bl_png_drop_notes(uint8_t *data, size_t size);

/* --- media files -------------------------------------------------------------------------------------------------- */

/* A file of media as libav reads it: through our own descriptor, which tells system failures from bad content. */

struct bl_media_file {
    const char *path; /* the caller's */
    const struct bl_cancel *cancel;
    struct bl_input_file input;
    int64_t bytes;
    int64_t offset;                /* of the next read */
    int system_errno;              /* of the read that failed, or 0; ESTALE: the file ended before its size */
    int64_t tags;                  /* bytes of ID3 tags at its beginning, which libav is shown as one that is empty */
    uint8_t head[BL_ARCHIVE_HEAD]; /* its first bytes, padded with zeros */
    AVIOContext *io;
};

/* bytes: the size that the file must have, or -1. BL_EDATA: no regular file, or an empty one, or an archive. To be
 * closed also after a failure. */
int bl_media_file_open(struct bl_media_file *file, const char *path, int64_t bytes, const struct bl_cancel *cancel,
                       struct bl_error *e);
void bl_media_file_close(struct bl_media_file *file);

/* As pread. */
ssize_t bl_media_file_read(const struct bl_media_file *file, void *buffer, size_t size, int64_t offset);

#endif
