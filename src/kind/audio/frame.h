/* Decoded frames of sound, cut. */
#ifndef BL_FRAME_H
#define BL_FRAME_H

#include <libavutil/frame.h>

/* Drops the frame's first samples, fewer than it has. */
void bl_frame_drop_first(AVFrame *frame, int samples);

#endif
