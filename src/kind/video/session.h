/* A session: a codec context that decodes one stream after the other on a GPU, without the hardware's decoder being
 * made anew between them.
 *
 * Most of FFmpeg's decoders keep it when they are flushed. That of H.264 does not, so its streams follow on one another
 * as if they were one: behind the last packet of each its opening picture is sent again, marked to be discarded, as
 * often as it takes to have all frames out, and the next stream begins with an instant refresh, as any splice does.
 *
 * A stream may only follow where nothing of the one before can show in it: where both begin alike (bl_session_matches)
 * and where the context says of itself at the end what it said at the beginning. */
#ifndef BL_SESSION_H
#define BL_SESSION_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

/* What a context says of itself that a stream may change. */
struct bl_session_state {
    int width, height, delay; /* as coded; in frames */
    enum AVColorSpace space;
    enum AVColorRange range;
    enum AVColorTransferCharacteristic transfer;
    enum AVColorPrimaries primaries;
    enum AVChromaLocation location;
    AVRational aspect;
};

struct bl_session {
    AVCodecContext *codec;         /* its owner opens and closes it */
    AVCodecParameters *parameters; /* of the stream that it was made for; owned */
    AVPacket *opening;             /* of a stream that another may follow without a flush, or NULL; owned */
    struct bl_session_state begun; /* behind the first packet of the stream at hand */
    AVRational rate;               /* frames a second, by the stream's own header; 0/1: it does not tell */
    AVRational told;               /* the same, by the container */
    int streams;                   /* that went through */
    int closing;                   /* times that the opening was sent again */
    bool under_way;                /* a packet of the stream at hand was sent */

    bool lent;     /* these two are for session_pool.h */
    uint64_t used; /* the clock when it last was */
};

/* For a codec context that was opened for these parameters. BL_EFAIL for no memory, and then it is as before. */
int bl_session_begin(struct bl_session *session, AVCodecContext *codec, const AVCodecParameters *parameters);
void bl_session_end(struct bl_session *session); /* but for the codec */

/* Whether a stream of these parameters begins as the one that it was made for. The size is that of the picture, not of
 * the blocks it is coded in. */
bool bl_session_matches(const struct bl_session *session, const AVCodecParameters *parameters);

/* Makes it ready for a stream, whose time base and rate (0/1: unknown) these are. */
void bl_session_ready(struct bl_session *session, AVRational time_base, AVRational rate);

/* Sends the next packet, or NULL when there are no more. Then *ended tells whether that was all: otherwise, when all
 * frames were received, it wants to be called with NULL again. whole: nothing was objected to so far. Returns as
 * avcodec_send_packet. */
int bl_session_send(struct bl_session *session, AVPacket *packet, bool whole, bool *ended);

/* When a stream was read as far as it was wanted: whether another may follow. whole as above. */
bool bl_session_finish(struct bl_session *session, bool whole);

#endif
