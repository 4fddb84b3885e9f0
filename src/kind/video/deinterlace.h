/* Deinterlaces decoded frames by FFmpeg's filter bwdif, in its mode of one frame for each frame.
 *
 * The filter looks at a frame and at its neighbours on both sides, so it gives a frame after it got the next one. The
 * first and the last frame of a stream have one neighbour. A stream that is entered in the middle has to be decoded
 * from one frame before the wanted one on; the frame with which it is entered is not that of the whole stream.
 *
 * libavfilter depends on dozens of libraries, so that it is loaded only where --deinterlace asks for it. */
#ifndef BL_DEINTERLACE_H
#define BL_DEINTERLACE_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "base/error.h"

/* Which frames are deinterlaced; others stay as they are. Values of --deinterlace. */
enum bl_deinterlace_mode { BL_DEINTERLACE_OFF, BL_DEINTERLACE_INTERLACED, BL_DEINTERLACE_ALL };

/* Loads libavfilter, and leaves it loaded. Call it before decoder processes are started, which can open no file.
 * BL_EUSAGE: it is not installed, or belongs to another FFmpeg than the one that decodes. */
int bl_deinterlace_load(struct bl_error *e);

/* Returns the version of the loaded library, as avfilter_version does, or 0 if it is not loaded. */
unsigned bl_deinterlace_version(void);

struct bl_deinterlace; /* the filter of one stream */

/* bl_deinterlace_close accepts NULL. Errors of open are those of bl_deinterlace_load, and BL_EFAIL. */
int bl_deinterlace_open(struct bl_deinterlace **d, enum bl_deinterlace_mode mode, struct bl_error *e);
void bl_deinterlace_close(struct bl_deinterlace *d);

/* Forgets all frames, for decoding that goes on elsewhere. */
void bl_deinterlace_reset(struct bl_deinterlace *d);

/* Takes the next decoded frame, which is moved, or NULL at the end. Take all frames that are ready before the next
 * call. BL_EDATA: pictures of this format or size cannot be deinterlaced. BL_EFAIL: out of memory. */
int bl_deinterlace_push(struct bl_deinterlace *d, AVFrame *frame, struct bl_error *e);

/* Moves the next frame that is ready to `frame`, with the times that its decoded frame had. *got: false if none is. */
int bl_deinterlace_take(struct bl_deinterlace *d, AVFrame *frame, bool *got, struct bl_error *e);

/* Returns whether the end was pushed. */
bool bl_deinterlace_ended(const struct bl_deinterlace *d);

#endif
