/* Where programs look for the media module. */
#ifndef BL_MEDIA_PLACE_H
#define BL_MEDIA_PLACE_H

/* Its folder, from the folder of the program: "build/release", "../lib/bload". Each program is linked with its own
 * (mk/build.mk). */
extern const char bl_media_place[];

#endif
