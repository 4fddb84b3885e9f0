/* Reads a piece of a sequence: the picture that its stream shows, the video that stays open between clips, and the
 * decoded frames that the piece takes. */
#ifndef BL_KIND_VIDEO_PIECE_H
#define BL_KIND_VIDEO_PIECE_H

#include <libavcodec/codec_id.h>
#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"
#include "kind/media/demux.h"
#include "kind/row.h"
#include "kind/video/convert.h"
#include "kind/video/decode.h"
#include "kind/video/geometry.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/options.h"
#include "kind/video/timeline.h"

/* --- pictures ----------------------------------------------------------------------------------------------------- */

/* The picture that a video stream or an image shows: its geometry and colours, as the converter needs them. */

struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd);

/* Whether the stream can be used, as far as the container says: its decoder, size, angle, colours. BL_EDATA. */
int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e);

/* The same for what the stream's own headers say: bits by the numbers of H.273 that occur (timeline.h). */
int bl_picture_check_tags(const struct bl_video_config *config, enum AVCodecID codec, uint32_t transfers,
                          uint32_t matrices, struct bl_error *e);

/* The same for a decoded frame, which knows best. */
int bl_picture_check_frame(const struct bl_video_config *config, const AVFrame *frame, struct bl_error *e);

/* Whether only a decoded frame tells if it can be converted (of some codecs, which may have XYZ, Bayer patterns or
 * constant luminance; of all where 16-bit grey is wanted), or is one at all. */
bool bl_picture_is_told_by_frames(const struct bl_video_config *config, enum AVCodecID codec);

/* The geometry of a decoded frame; d NULL: of an image. Images are turned as EXIF says, as videos are, but their pixels
 * are square: most densities are wrong. BL_EDATA as bl_geometry_make. */
int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e);

/* --- seek points -------------------------------------------------------------------------------------------------- */

/* Where to begin to decode for a clip, and how to know that it is the clip that comes: the column clip_seek.
 *
 * "FRAME TIME POSITION BEGIN END": a restart (timeline.h), or "0 0 -1": the beginning of the file; then the times of
 * the clip's first frame and of the one behind its last, in ticks of the stream; END is - where the clip ends with the
 * file. */

struct bl_seek_point {
    bool known;                /* else decoding begins with the file, and nothing is known of times */
    struct bl_restart restart; /* position -1: the beginning of the file */
    int64_t begin, end;        /* ticks; end AV_NOPTS_VALUE: there is no frame behind the clip */
};

/* The point for frames [begin, end) of an exact timeline. */
void bl_seek_point_make(struct bl_seek_point *point, const struct bl_timeline *timeline, int64_t begin, int64_t end);

void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out);

/* Parses the column; "" or NULL: not known. False: it is no seek point. */
bool bl_seek_point_parse(struct bl_seek_point *point, const char *text);

/* --- playhead ----------------------------------------------------------------------------------------------------- */

/* A playhead: a video that stays open from clip to clip, and the number of the frame that comes next.
 *
 * It goes on where the next clip begins a little further on, and else seeks a restart (timeline.h) or begins anew.
 * After a seek the decoder is a new one: what comes of a clip does not depend on those before it. */

struct bl_playhead {
    char *path; /* NULL: nothing is open */
    int64_t bytes;
    int stream;
    enum bl_demux_mode mode;
    struct bl_decode decode;
    int64_t next;     /* frame that comes next, by its number in display order */
    AVFrame *waiting; /* that frame, if it is decoded already; owned */
    bool seeked;      /* the present place was reached from a restart, */
    bool arriving;    /* whose frame has not come yet; it is shown at */
    int64_t arrival;
    bool lost; /* another frame came, or after a seek a concealed one: decoders conceal by what they decoded before */
};

/* Where a playhead may begin. */
enum bl_playhead_way {
    BL_PLAYHEAD_ON,      /* where it is */
    BL_PLAYHEAD_RESTART, /* at the point's restart */
    BL_PLAYHEAD_START,   /* with the file */
};

/* Goes to the row's clip, or before it; the rest is decoded. *there: false where this way leads nowhere. sessions: of a
 * GPU, or NULL. Errors as bl_decode_open_gpu's; then nothing is open. */
int bl_playhead_go(struct bl_playhead *playhead, enum bl_playhead_way way, struct bl_session_pool *sessions,
                   const struct bl_row *row, const struct bl_seek_point *point, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, bool *there, struct bl_error *e);

/* Start from {0}. */
void bl_playhead_close(struct bl_playhead *playhead);

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* A piece while it is read: which of the decoded frames it takes, and where they go.
 *
 * Frames are converted straight into the block. The previous frame is held until the picker knows how often it is
 * taken. */

/* What a worker has for all pieces. */
struct bl_piece_tools {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_dimensions size; /* of the frames */
    size_t bytes;              /* of one */
    struct bl_convert *convert;
    struct bl_gpu_worker *gpu; /* taken from the pool for this piece, or NULL */
    AVFrame *frame, *held;     /* the current and the previous one */
};

struct bl_piece {
    struct bl_piece_tools *tools;
    bool on_gpu;
    const struct bl_request *request;
    struct bl_decode own;     /* of a sequence that is all of its file */
    struct bl_decode *decode; /* this, or the playhead's */
    struct bl_pick pick;
    int64_t seen;    /* steps of the sequence so far */
    int64_t damaged; /* of the piece's steps */
    struct bl_clock clock;

    /* All of a file: */
    const struct bl_timeline *timeline; /* NULL when decoding from the beginning */
    size_t first_frame, next_frame;     /* by the timeline: the restart's, and the one to come next */
    const struct bl_needed *needed;     /* the frames that come; NULL: all of them */

    /* A clip: */
    struct bl_playhead *playhead; /* NULL: the sequence is all of its file */
    struct bl_seek_point point;
    bool may_seek;       /* there is another way to the clip, if this one fails */
    int64_t time_behind; /* of the frame behind the clip, or AV_NOPTS_VALUE */
    bool gpu_full;       /* see decode.h */

    bool strayed; /* another frame came than was expected */
};

/* Prepares the picker; tick: of the stream; start: of the file, in ticks. BL_EDATA. */
int bl_piece_begin(struct bl_piece *piece, AVRational tick, int64_t start, struct bl_error *e);

/* Decodes until the piece is full, or to the end of the sequence: more frames than the scan counted are an error, as
 * fewer are. Sets strayed, and leaves the piece incomplete, where what comes is not what timeline or point say. */
int bl_piece_decode(struct bl_piece *piece, struct bl_error *e);

/* Notes faults that the scan has not reported. */
void bl_piece_write_note(const struct bl_piece *piece, struct bl_note *note);

/* Ends the use of decoded frames, before their decoder is closed; code is the result so far. */
int bl_piece_finish(struct bl_piece *piece, int code, struct bl_error *e);

#endif
