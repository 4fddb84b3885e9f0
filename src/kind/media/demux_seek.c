#include "kind/media/demux_seek.h"

int bl_demux_seek(struct bl_demux *d, int64_t position, int64_t time, AVPacket *packet, bool *found, struct bl_error *e)
{
    /* Transport streams have no index, and a search for a time would end behind the packet. */
    bool bytes = bl_demux_is_transport(d);
    *found = false;
    if (av_seek_frame(d->format, d->stream->index, bytes ? position : time,
                      bytes ? AVSEEK_FLAG_BYTE : AVSEEK_FLAG_BACKWARD) < 0)
        return d->file.system_errno ? bl_demux_error(d, 0, "", e) : BL_OK;
    d->end_error = 0;
    for (;;) {
        bool got;
        int code = bl_demux_next(d, packet, &got, e);
        if (code || !got || packet->pos > position)
            return code;
        *found = packet->pos == position && packet->pts == time;
        if (*found)
            return BL_OK;
    }
}
