/* Demuxes media files: opens a file with libavformat, chooses its best video or audio stream, and returns the packets
 * of that stream.
 *
 * libavformat reads the file through a descriptor of bload, which distinguishes a failing system from bad content. An
 * error of read(2), a missing file, or a file of another size is BL_EFAIL; whatever libavformat rejects is BL_EDATA
 * with a short reason. No other file is ever opened: no playlists, no image sequences, no external references. */
#ifndef BL_DEMUX_H
#define BL_DEMUX_H

#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/meter.h"
#include "kind/env.h"
#include "kind/media/media_file.h"

/* --- streams and packets ------------------------------------------------------------------------------------------ */

/* The purpose of the packets. It decides whether the streams are probed (avformat_find_stream_info), which is slow. */
enum bl_demux_mode {
    BL_DEMUX_COUNT,  /* to count: probed only if the container's header says too little */
    BL_DEMUX_DECODE, /* to decode: also probed if the decoder must know its delay in advance */
    BL_DEMUX_TIMES,  /* to decode with timestamps: also probed if the header has no frame rate */
    BL_DEMUX_START,  /* to use bl_demux_start: always probed */
    BL_DEMUX_AUDIO,  /* to decode audio: probed unless the header of the only audio stream says everything */
};

struct bl_demux {
    struct bl_media_file file;
    const struct bl_kind_env *env;
    AVFormatContext *format;
    bool recognised;        /* the content shows the container, not only the file's name */
    bool first_is_short;    /* WAV: the first packet is still to come, and is kept short: see wave_limit_probe */
    bool maybe_dts;         /* WAV: the samples may be DTS */
    bool edits_ignored;     /* QuickTime: libav ignores the edit lists, because extent.h covers them */
    bool stream_missing;    /* after an open that failed: the file is read, and has no stream of the wanted type */
    bool layout_stated;     /* the container states the channel layout of the stream */
    AVStream *stream;       /* the chosen video or audio stream */
    bool probed;            /* avformat_find_stream_info was called */
    bool all_streams;       /* bl_demux_next returns the packets of all streams */
    struct bl_meter *meter; /* reports the position in the file; or NULL */
    int end_error;          /* libav's code if an error in the container ended the packets, or 0 */
};

/* The argument `stream` of bl_demux_open for a value of bl_option_stream_number: 0 is the best stream, n is the stream
 * with number n - 1 among those of its kind. */
#define BL_DEMUX_WANTED(number) (-1 - (number))

/* Opens a file and chooses a stream. bytes is the size that the file must have, or -1 for any. stream is the index of
 * the container, or BL_DEMUX_WANTED. env must outlive *d. A failed open needs no close. Errors: BL_EDATA if the content
 * is bad or unsupported, BL_EFAIL, BL_ECANCEL. */
int bl_demux_open(struct bl_demux *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                  const struct bl_kind_env *env, struct bl_error *e);
void bl_demux_close(struct bl_demux *d);

/* Makes bl_demux_next return the packets of all streams. */
void bl_demux_read_all_streams(struct bl_demux *d);

/* Reads the stream's next packet; *got is false at the end (see end_error). Errors: BL_EFAIL, BL_ECANCEL. */
int bl_demux_next(struct bl_demux *d, AVPacket *packet, bool *got, struct bl_error *e);

/* Returns the start of the file in ticks of the chosen stream, as the ffmpeg command defines it (5.1 and later): the
 * first time in any stream, or, in containers whose clock may be reset, the first time in the chosen stream. Returns 0
 * if no stream has times. The mode must be BL_DEMUX_START. */
int64_t bl_demux_start(const struct bl_demux *d);

/* Return whether the container is QuickTime (MP4) or Matroska (WebM). Their packets have timestamps and sizes from the
 * container itself. */
bool bl_demux_is_mov(const struct bl_demux *d);
bool bl_demux_is_matroska(const struct bl_demux *d);

/* Returns whether the container is an MPEG transport stream, where libav finds packets and times in the data. */
bool bl_demux_is_transport(const struct bl_demux *d);

/* Stops libav from logging. Its return codes say enough, and printing would change errno. */
void bl_demux_silence_logs(void);

/* Returns whether libav's code means that the system is out of memory. libav returns the same code if a damaged file
 * requests more than the limit of one allocation, but only a failed malloc sets errno (bl_error_memory_watch). */
bool bl_demux_is_memory(int code);

/* Converts libav's error code: returns BL_EFAIL if the system failed, BL_ECANCEL, or BL_EDATA with `what` as reason. */
int bl_demux_error(const struct bl_demux *d, int code, const char *what, struct bl_error *e);

/* --- seeking ------------------------------------------------------------------------------------------------------ */

/* Seeks and reads the stream's packet that begins at byte `position` and is shown at `time`, in ticks. *found is false
 * if seeking does not reach such a packet. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_demux_seek(struct bl_demux *d, int64_t position, int64_t time, AVPacket *packet, bool *found,
                  struct bl_error *e);

/* --- truncation --------------------------------------------------------------------------------------------------- */

/* These functions detect files that end before the container's end, or continue after it. */

/* Returns whether the container claims more bytes than the file has. */
bool bl_truncation_detect(const struct bl_demux *d);

/* Returns whether a second Matroska file follows the first in this file. libav would read it with the headers of the
 * first. */
bool bl_truncation_is_joined(const struct bl_demux *d);

/* Finds the header of a second file that `cat` has appended, which libav ignores. *at is its byte offset: the second
 * moov box of MP4 and QuickTime, or the first byte of a second WAV, W64 or AIFF file; 0 if there is none. BL_EFAIL: the
 * file cannot be read. */
int bl_truncation_find_second(const struct bl_demux *d, int64_t *at, struct bl_error *e);

#endif
