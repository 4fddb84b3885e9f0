/* Formats: the containers and the codecs of media that are read, an allow-list for each kind. FFmpeg knows hundreds
 * more: among them are lists of other files, scripts, games' own, and decoders that nobody has fed bad data.
 * docs/media.md has the same lists, for people; a test compares them. */
#ifndef BL_ALLOWLIST_H
#define BL_ALLOWLIST_H

#include <stdbool.h>

/* Names between commas, as libav takes lists. */
struct bl_allowlist {
    const char *containers; /* demuxers; some have several names */
    const char *decoders;   /* of the streams that the kind wants */
};

extern const struct bl_allowlist bl_allowlist_video, bl_allowlist_audio;

/* All decoders: where libav must look into the streams, it looks into those that are not wanted, too. */
extern const char *const bl_allowlist_decoders;

/* Whether a name, or one of several between commas, is in a list. */
bool bl_allowlist_has(const char *list, const char *name);

#endif
