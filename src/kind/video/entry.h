/* Where decoding can begin. Some decoders output pictures although they lack what these refer to: of their codecs,
 * packets say themselves whether they need others. */
#ifndef BL_ENTRY_H
#define BL_ENTRY_H

#include <libavcodec/avcodec.h>

enum bl_entry {
    BL_ENTRY_NO,      /* the decoder would output garbage */
    BL_ENTRY_YES,     /* or the decoder itself outputs nothing that lacks its references */
    BL_ENTRY_UNKNOWN, /* only the container tells */
};

/* nal_length: H.265: as of bl_nal_headers. */
enum bl_entry bl_entry_find(enum AVCodecID codec, int nal_length, const AVPacket *packet);

#endif
