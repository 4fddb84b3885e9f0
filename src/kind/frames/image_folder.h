/* The images of a folder, in natural order. */
#ifndef BL_IMAGE_FOLDER_H
#define BL_IMAGE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_image {
    char *name;     /* in the folder */
    int32_t number; /* the last digits before the extension; -1: there are none, or they are no 32-bit number */
    int64_t bytes;
    int64_t modified; /* nanoseconds since 1970 */
};

struct bl_image_folder {
    struct bl_image *image;
    size_t count, capacity;
    int64_t bytes; /* of all its images, wanted or not */
};

/* Lists the files whose extension is that of an image, and whose name matches the pattern, where that is not NULL;
 * hidden ones are none. BL_EDATA: path leads to no folder; BL_EFAIL: it cannot be read. Free what is there in any case.
 */
int bl_image_folder_list(struct bl_image_folder *folder, const char *path, const char *pattern, struct bl_error *e);
void bl_image_folder_free(struct bl_image_folder *folder);

/* Bytes and content (kind/content.h) of all images in a folder. Codes as above. */
int bl_image_folder_stat(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

/* The image's place among the frames of what it was taken from: number 1 is the first, so ffmpeg counts, and whoever
 * uses it. BL_EDATA: it has none. */
int bl_image_position(const struct bl_image *image, double *place, struct bl_error *e);

/* How many numbers between the first image's and the last one's no image has. */
int64_t bl_image_folder_count_missing(const struct bl_image_folder *folder);

#endif
