/* Formats: the containers and the codecs of media that are read, an allow-list for each kind. FFmpeg knows hundreds
 * more: among them are lists of other files, scripts, games' own, and decoders that nobody has fed bad data.
 * docs/media.md has the same lists, for people; a test compares them. */
#ifndef BL_FORMATS_H
#define BL_FORMATS_H

#include <stdbool.h>

/* Names between commas, as libav takes lists. */
struct bl_formats {
    const char *containers; /* demuxers; some have several names */
    const char *decoders;   /* of the streams that the kind wants */
};

extern const struct bl_formats bl_formats_video, bl_formats_audio;

/* All decoders: where libav must look into the streams, it looks into those that are not wanted, too. */
extern const char *const bl_formats_decoders;

/* Whether a name, or one of several between commas, is in a list. */
bool bl_formats_have(const char *list, const char *name);

#endif
