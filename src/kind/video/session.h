/* A session: a codec context that decodes one stream after another on a GPU, without a new hardware decoder for each.
 *
 * Most of FFmpeg's decoders keep the hardware decoder when they are flushed. The one of H.264 does not, so its streams
 * are spliced: after the last packet of a stream its first packet is sent again, marked to be discarded, until all
 * frames are out; the next stream begins with an instant refresh, as after any splice.
 *
 * A stream may only follow if nothing of the previous one can show in it: both must begin alike (bl_session_matches),
 * and the context must end in the state in which it began. */
#ifndef BL_SESSION_H
#define BL_SESSION_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

/* What a context says of itself that a stream may change. Compared as bytes: no padding. */
struct bl_session_state {
    int width, height, delay; /* as coded; in frames */
    enum AVColorSpace space;
    enum AVColorRange range;
    enum AVColorTransferCharacteristic transfer;
    enum AVColorPrimaries primaries;
    enum AVChromaLocation location;
    AVRational aspect;
};

/* Which of a stream's times were in order so far. */
struct bl_session_times {
    int64_t last_pts, last_dts;     /* INT64_MIN: none yet */
    int64_t faulty_pts, faulty_dts; /* that were not later than the one before */
};

struct bl_session {
    AVCodecContext *codec;           /* its owner opens and closes it */
    AVCodecParameters *parameters;   /* of the stream that it was made for; owned */
    AVPacket *opening;               /* first packet of a stream that another may be spliced to, or NULL; owned */
    struct bl_session_state initial; /* after the first packet of the current stream */
    AVRational rate;                 /* frames per second by the stream's own header, or 0/1 */
    AVRational container_rate;       /* the same by the container */
    int streams;                     /* so far */
    struct bl_session_times times;   /* of the current stream's frames */
    int resent;                      /* how often `opening` was sent again */
    bool started;                    /* a packet of the current stream was sent */

    bool lent;     /* these two belong to the pool */
    uint64_t used; /* the pool's clock when it was last lent */
};

/* codec: opened for these parameters. BL_EFAIL: out of memory, and session is unchanged. */
int bl_session_begin(struct bl_session *session, AVCodecContext *codec, const AVCodecParameters *parameters);
void bl_session_end(struct bl_session *session); /* leaves the codec open */

/* Whether a stream of these parameters begins as the one that the session was made for, with pictures of the same size
 * (not only coded size). */
bool bl_session_matches(const struct bl_session *session, const AVCodecParameters *parameters);

/* Prepares for the next stream. rate: 0/1 if unknown. */
void bl_session_ready(struct bl_session *session, AVRational time_base, AVRational rate);

/* Sends the next packet, or NULL if there are no more. After NULL, *ended says whether that was all; if not, receive
 * all frames and call it with NULL again. clean: the decoder reported nothing unusual so far. Returns as
 * avcodec_send_packet. */
int bl_session_send(struct bl_session *session, AVPacket *packet, bool clean, bool *ended);

/* Sets the best effort timestamp of each frame in the order in which they come, as libavcodec does: its own knows the
 * streams before, of which it cannot be told to forget. */
void bl_session_guess_time(struct bl_session *session, AVFrame *frame);

/* Ends a stream that was read as far as needed; returns whether another may follow. clean: as above. */
bool bl_session_finish(struct bl_session *session, bool clean);

#endif
