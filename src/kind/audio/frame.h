/* Decoded frames of sound, cut. */
#ifndef BL_FRAME_H
#define BL_FRAME_H

#include <libavutil/frame.h>

#include "base/error.h"

/* Drops the frame's first samples, fewer than it has. */
void bl_frame_drop_first(AVFrame *frame, int samples);

/* Makes a frame of so many samples of silence, of the rate, channels and format of another. */
int bl_frame_silence(AVFrame *frame, const AVFrame *like, int samples, struct bl_error *e);

#endif
