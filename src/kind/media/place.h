/* The place where a program looks for the media module. */
#ifndef BL_MEDIA_PLACE_H
#define BL_MEDIA_PLACE_H

/* The module's folder, relative to the folder of the program, such as "../lib/bload". Each program is linked with its
 * own value (mk/build.mk). */
extern const char bl_media_place[];

#endif
