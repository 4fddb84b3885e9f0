/* Reads a piece of a sequence: checks and describes the stream's pictures, decodes from the right place, and converts
 * the frames that the piece takes.
 *
 * A piece that begins in the middle is decoded from a random access point. Every frame's timestamp is then compared
 * with the one that the scan found; if one differs, the caller decodes again from the first frame. */
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

/* The geometry and the colours of the pictures of a stream or an image file, as the converter needs them. */

/* Returns the converter's options for these option values and this SIMD level. */
struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd);

/* Checks by the container's header whether the stream can be decoded and converted: its codec, size, rotation and
 * colours. BL_EDATA: it cannot (e has the reason). */
int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e);

/* Checks the colours that the stream's own headers name, as bit sets of H.273 code points (struct bl_packet_index).
 * BL_EDATA: one of them cannot be converted. */
int bl_picture_check_tags(const struct bl_video_config *config, enum AVCodecID codec, uint32_t transfers,
                          uint32_t matrices, struct bl_error *e);

/* Checks the format and the colours of a decoded frame, which no header can contradict. BL_EDATA: it cannot be
 * converted. */
int bl_picture_check_frame(const struct bl_video_config *config, const AVFrame *frame, struct bl_error *e);

/* Returns whether the headers are not enough, so that a frame must be decoded to learn if the stream can be converted.
 * This holds for codecs that may have XYZ pixels, Bayer patterns or constant luminance, and for every codec if 16-bit
 * grey is requested. */
bool bl_picture_is_told_by_frames(const struct bl_video_config *config, enum AVCodecID codec);

/* Computes the geometry of a decoded frame. d is NULL for an image file. EXIF rotates images as the display matrix
 * rotates videos, but their pixels count as square, because most files state a wrong density. Errors as
 * bl_geometry_make. */
int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e);

/* --- seek points -------------------------------------------------------------------------------------------------- */

/* A seek point tells where to begin to decode a clip, and how to verify that the decoded frames are the clip's.
 *
 * The column clip_seek has it as "FRAME TIME POSITION BEGIN END". The first three describe a random access point
 * (struct bl_access_point); "0 0 -1" is the beginning of the file. BEGIN and END are the times of the clip's first
 * frame and of the first frame after the clip, in ticks; END is "-" if the clip ends with the file. For example "250
 * 128000 4194304 130560 -" decodes from frame 250, at byte 4194304, and the clip begins at tick 130560. */

struct bl_seek_point {
    bool known;                          /* false: decode from the beginning of the file, and verify no times */
    struct bl_access_point access_point; /* position -1: the beginning of the file */
    int64_t begin, end;                  /* ticks; end is AV_NOPTS_VALUE if no frame follows the clip */
};

/* Makes the seek point for frames [begin, end) of an exact timeline. before_it: as of bl_timeline_find. */
void bl_seek_point_make(struct bl_seek_point *point, const struct bl_timeline *timeline, int64_t begin, int64_t end,
                        int before_it);

/* Appends the column's text; nothing if the point is not known. */
void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out);

/* Parses the column's text; "" and NULL give a point that is not known. Returns false if the text is invalid. */
bool bl_seek_point_parse(struct bl_seek_point *point, const char *text);

/* --- decoder cursor ----------------------------------------------------------------------------------------------- */

/* A decoder cursor is an open video, and the number of the frame that the decoder outputs next. It stays
 * open between clips.
 *
 * If the next clip begins at or after the cursor, decoding continues; otherwise the cursor seeks a random access point,
 * or starts again at the beginning of the file. A seek resets the decoder, so the frames of a clip do not depend on the
 * clips before it. */

struct bl_decoder_cursor {
    char *path; /* NULL: nothing is open; owned */
    int64_t bytes;
    int stream;
    enum bl_demux_mode mode;
    struct bl_decode decode;
    int64_t next;     /* the number of the next frame, in display order */
    AVFrame *waiting; /* the next frame, if it was decoded and put back; owned */
    bool seeked;      /* decoding began at a random access point */
    bool arriving;    /* the frame of that random access point was not decoded yet */
    int64_t arrival;  /* when that frame is shown, in ticks */
    bool lost; /* another frame came than expected, or a frame after a seek is concealed, so it depends on old state */
};

/* The ways to a clip, by the place where decoding begins, from the cheapest to the safest. */
enum bl_decoder_cursor_way {
    BL_CURSOR_ON,      /* at the cursor */
    BL_CURSOR_RESTART, /* at the random access point of the seek point */
    BL_CURSOR_START,   /* at the beginning of the file */
};

/* Moves the cursor to the first frame of the row's clip, or to an earlier frame from which the caller decodes on.
 * *there is false if this way is not possible. gpu decodes it, or, if NULL, the processor. Errors as
 * bl_decode_open_gpu; after an error nothing is open. */
int bl_decoder_cursor_go(struct bl_decoder_cursor *cursor, enum bl_decoder_cursor_way way, struct bl_gpu_worker *gpu,
                         const struct bl_row *row, const struct bl_seek_point *point, enum bl_demux_mode mode,
                         const struct bl_kind_env *env, bool *there, struct bl_error *e);

/* Closes the video, if one is open. A cursor is initialized with {0}. */
void bl_decoder_cursor_close(struct bl_decoder_cursor *cursor);

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* The state of a piece while it is read. Frames are converted straight into the block. The previous frame is held until
 * the picker knows how often it is taken, which depends on the time of the next frame. */

/* The objects of a worker that all its pieces use. */
struct bl_piece_tools {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_dimensions size; /* of a converted frame, in pixels */
    size_t bytes;              /* of a converted frame */
    struct bl_convert *convert;
    struct bl_gpu_worker *gpu; /* taken from the pool for this piece; NULL on the processor */
    AVFrame *frame, *held;     /* the current frame, and the previous one */
};

struct bl_piece {
    struct bl_piece_tools *tools;
    bool on_gpu;
    const struct bl_request *request;
    struct bl_decode own;     /* the decoder of a sequence that is a whole file */
    struct bl_decode *decode; /* &own, or the cursor's */
    struct bl_pick pick;
    int64_t seen;    /* steps of the sequence so far, also those before the piece */
    int64_t damaged; /* steps of the piece whose frames are damaged */
    struct bl_clock clock;

    /* For a sequence that is a whole file: */
    const struct bl_timeline *timeline; /* verifies the times of the frames; NULL: nothing is verified */
    size_t first_frame, next_frame;     /* numbers in the timeline: where decoding began, and the next frame */
    const struct bl_needed *needed;     /* the frames that are decoded; NULL: all of them */

    /* For a clip: */
    struct bl_decoder_cursor *cursor; /* NULL: the sequence is a whole file */
    struct bl_seek_point point;
    bool may_seek;       /* another way to the clip is left, if this one fails */
    int64_t time_behind; /* when the first frame after the clip is shown, or AV_NOPTS_VALUE */
    bool gpu_full;       /* see struct bl_decode */

    bool strayed; /* a decoded frame is not the expected one: this attempt must be discarded */
};

/* Prepares the clock and the picker. tick is the stream's time base, start the start of the file in ticks. BL_EDATA:
 * --fps cannot use the time base. */
int bl_piece_begin(struct bl_piece *piece, AVRational tick, int64_t start, struct bl_error *e);

/* Decodes and converts frames until the piece is full. For the last piece, and after damage that the scan does not know
 * of, it decodes to the end of the sequence, and compares the number of steps with the scan's: BL_EDATA if they differ.
 * If a frame is not the one that the timeline or the seek point announces, it sets piece->strayed and returns BL_OK
 * with an incomplete piece. */
int bl_piece_decode(struct bl_piece *piece, struct bl_error *e);

/* Writes a note about damage that the scan has not reported. */
void bl_piece_write_note(const struct bl_piece *piece, struct bl_note *note);

/* Releases the decoded frames; call it before their decoder is closed. On a GPU it waits for the pictures if code, the
 * result so far, is BL_OK, and drops them otherwise. Returns code, or the error of the readback. */
int bl_piece_finish(struct bl_piece *piece, int code, struct bl_error *e);

#endif
