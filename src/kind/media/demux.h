/* Demuxing: opens a file by libavformat, chooses its best video or audio stream, and gives that stream's packets.
 *
 * The file is read through our own descriptor, which tells system failures from bad content: an error of read(2), a
 * missing file or one of another size is BL_EFAIL; whatever libavformat rejects is BL_EDATA, with a short reason. No
 * other file is ever opened: no playlists, no image sequences, no external references.
 *
 * FFmpeg reads through a descriptor of ours, so that a failing disk and bad content are told apart. */
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

/* What the packets are for; decides when streams are probed (avformat_find_stream_info), which is slow. */
enum bl_demux_mode {
    BL_DEMUX_COUNT,  /* counting: only if the container's header says too little */
    BL_DEMUX_DECODE, /* decoding: also if the decoder must know its delay in advance */
    BL_DEMUX_TIMES,  /* decoding with timestamps: also if the header has no frame rate */
    BL_DEMUX_START,  /* counting and decoding with bl_demux_start: always */
    BL_DEMUX_AUDIO,  /* decoding the audio stream */
};

struct bl_demux {
    struct bl_media_file file;
    const struct bl_kind_env *env;
    AVFormatContext *format;
    bool recognised;        /* by the file's content, not only by its name */
    bool first_is_short;    /* WAV: the first packet is kept short, see wave_limit_probe */
    bool maybe_dts;         /* WAV: the samples may be DTS */
    bool edits_ignored;     /* QuickTime: libav does not know of edits of sound, see extent.h */
    bool layout_stated;     /* the container says where the stream's channels are heard */
    AVStream *stream;       /* the chosen video or audio stream */
    bool probed;            /* avformat_find_stream_info was called */
    bool all_streams;       /* bl_demux_next gives the packets of all streams */
    struct bl_meter *meter; /* reports the position in the file; or NULL */
    int end_error;          /* libav's code if an error in the container ended the packets, or 0 */
};

/* The stream to open by the value of bl_option_stream_number: the best one, or one by its number among those of its
 * kind. */
#define BL_DEMUX_WANTED(number) (-1 - (number))

/* bytes: the size that the file must have, or -1. stream: an index, or BL_DEMUX_WANTED. Needs no close after a failure.
 */
int bl_demux_open(struct bl_demux *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                  const struct bl_kind_env *env, struct bl_error *e);
void bl_demux_close(struct bl_demux *d);

/* Makes bl_demux_next give the packets of all streams. */
void bl_demux_read_all_streams(struct bl_demux *d);

/* Reads the stream's next packet; *got is false at the end (see end_error). Errors: BL_EFAIL, BL_ECANCEL. */
int bl_demux_next(struct bl_demux *d, AVPacket *packet, bool *got, struct bl_error *e);

/* When the file starts, in ticks of the chosen stream, as the ffmpeg command has it (5.1 and later): the first time in
 * any of its streams, in transport streams and the like in the chosen one. The mode must be BL_DEMUX_START. 0 if no
 * stream has times. */
int64_t bl_demux_start(const struct bl_demux *d);

/* Packets of these containers (QuickTime, Matroska) carry the container's own timestamps and sizes. */
bool bl_demux_is_mov(const struct bl_demux *d);
bool bl_demux_is_matroska(const struct bl_demux *d);

/* Whether it is an MPEG transport stream: times and packets are found in the data. */
bool bl_demux_is_transport(const struct bl_demux *d);

/* Stops libav from logging: its return codes say enough, and printing would lose errno. */
void bl_demux_silence_logs(void);

/* Whether libav's code means that the system is out of memory. libav returns the same code for a damaged file that
 * requests more than its own limit (2 GiB at once), but only a failed malloc sets errno (bl_error_memory_watch). */
bool bl_demux_is_memory(int code);

/* Turns libav's error code into ours: BL_EFAIL if the system failed, BL_ECANCEL, or BL_EDATA with `what` as reason. */
int bl_demux_error(const struct bl_demux *d, int code, const char *what, struct bl_error *e);

/* --- seeking ------------------------------------------------------------------------------------------------------ */

/* Reads the stream's packet at a position in the file that is shown at a time, in ticks. *found: false if it is not
 * there, or cannot be reached. BL_EFAIL, BL_ECANCEL. */
int bl_demux_seek(struct bl_demux *d, int64_t position, int64_t time, AVPacket *packet, bool *found,
                  struct bl_error *e);

/* --- truncation --------------------------------------------------------------------------------------------------- */

/* Whether a file ends before its container says, or goes on behind it. */

/* Whether the container claims more bytes than the file has. */
bool bl_truncation_detect(const struct bl_demux *d);

/* Whether a second Matroska file follows in the same one, which libav reads with the headers of the first. */
bool bl_truncation_is_joined(const struct bl_demux *d);

/* Finds the header of a second file of the same container behind the first one, as `cat` joins them, which libav does
 * not read: of MP4 and QuickTime the second moov, of WAV, W64 and AIFF the first byte. *at is 0 where there is none.
 * BL_EFAIL: the file cannot be read. */
int bl_truncation_find_second(const struct bl_demux *d, int64_t *at, struct bl_error *e);

#endif
