/* Demuxing: a file opened by libavformat, its best video or audio stream, that stream's packets.
 *
 * The file is read through a descriptor of our own, so that what fails is known for sure: an error of read(2) or a file
 * that is gone or has another size is BL_EFAIL; everything that libavformat objects to is BL_EDATA, with a short
 * reason. Nothing else is ever opened: no playlists, no sequences of images, no references to other files. */
#ifndef BL_DEMUX_H
#define BL_DEMUX_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/meter.h"
#include "kind/archive.h"

/* What the packets are for. */
enum bl_demux_mode {
    BL_DEMUX_COUNT,  /* to be counted: streams are probed only where the container says too little */
    BL_DEMUX_DECODE, /* to be decoded: streams are probed also where the decoder has to know its delay beforehand */
    BL_DEMUX_TIMES,  /* to be decoded, and their times matter: probed also where the header tells no frame rate */
    BL_DEMUX_AUDIO,  /* the audio stream's, to be decoded */
};

struct bl_demux {
    const char *path; /* the caller's */
    const struct bl_cancel *cancel;
    int fd;
    int64_t bytes;                 /* of the file */
    int64_t offset;                /* of the next read */
    int system_errno;              /* of the read that failed, or 0; ESTALE when the file ended before its size */
    uint8_t head[BL_ARCHIVE_HEAD]; /* its first bytes, zeros when it has fewer */
    AVIOContext *io;
    AVFormatContext *format;
    bool recognised;       /* by the file's content, not only by its name */
    bool looks;            /* libavformat is going to look for other codecs in the first packet */
    bool disguised;        /* a wav file whose samples may be those of another codec */
    AVStream *stream;      /* the video; the audio of BL_DEMUX_AUDIO */
    bool probed;           /* libavformat looked into the streams, not only at the header */
    bool every_stream;     /* bl_demux_next gives every stream's packets, not only that one's */
    struct bl_meter *pace; /* to be told where packets lie; or NULL */
    int end_error;         /* libav's code when the packets ended by a fault in the container, or 0 */
};

/* bytes: the size that the file must have, or -1. stream: an index, or -1 for the best stream. After a failure
 * there is nothing to close. */
int bl_demux_open(struct bl_demux *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                  const struct bl_cancel *cancel, struct bl_error *e);
void bl_demux_close(struct bl_demux *d);

/* From now on the packets of all streams are wanted. */
void bl_demux_read_all_streams(struct bl_demux *d);

/* The stream's next packet: 1, 0 at the end (see end_error), or BL_EFAIL, BL_ECANCEL. */
int bl_demux_next(struct bl_demux *d, AVPacket *packet, struct bl_error *e);

/* True for the demuxers whose packets carry the container's own timestamps and sizes (QuickTime, Matroska). */
bool bl_demux_is_mov(const struct bl_demux *d);
bool bl_demux_is_matroska(const struct bl_demux *d);

/* Whether the container's own figures reach beyond the end of the file. */
bool bl_demux_is_truncated(const struct bl_demux *d);

/* From now on libav prints nothing: what it is asked is answered, and printing would lose errno. */
void bl_demux_silence_logs(void);

/* Whether libav's code means that memory could not be had. It says the same of a damaged file that asks for more than
 * libav gives anyone (FFmpeg's limit is 2 GiB at once), but only the C library sets errno, to 0 before
 * (bl_error_memory_watch). */
bool bl_demux_is_memory(int code);

/* libav's code for a failure as ours: BL_EFAIL where the system failed, BL_ECANCEL, or BL_EDATA saying what. */
int bl_demux_error(const struct bl_demux *d, int code, const char *what, struct bl_error *e);

#endif
