/* The images of a folder, in natural order: img_2.png comes before img_10.png.
 *
 * The numbers in the names are used in two ways: as the field frame_number, and to count the images that are missing
 * between others. Both need numbers that count pictures, which the numbers of times and sizes do not. */
#ifndef BL_IMAGE_FOLDER_H
#define BL_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_IMAGE_TIME_UNKNOWN INT64_MIN

struct bl_image {
    char *name;     /* in its folder */
    int32_t number; /* the last digits before the extension; -1: none, or not a 32-bit number */
    int64_t bytes;
    int64_t modified; /* nanoseconds since 1970, or BL_IMAGE_TIME_UNKNOWN: the caller compares the time */
};

extern const char *const bl_image_extensions[];

struct bl_image_folder {
    struct bl_image *image;
    size_t count, capacity;
    int64_t bytes;    /* of all its images, also those that do not match the pattern */
    bool numbered;    /* the numbers in the names count pictures: most follow each other, or all of them rise */
    bool consecutive; /* most follow each other, so that others are missing */
    bool rising;      /* every image has a number, greater than that of the one before */
};

/* The number of image i, or -1: it has none, or the numbers are times or sizes. */
int32_t bl_image_folder_number(const struct bl_image_folder *folder, size_t i);

/* The position of image i among the frames that the images were taken from: number 1 is the first, as in files that
 * ffmpeg writes. Where numbers do not count pictures, it is that in the folder. BL_EDATA: it has no number, though
 * others have. */
int bl_image_folder_position(const struct bl_image_folder *folder, size_t i, double *position, struct bl_error *e);

/* Lists the files with the extension of an image, or, in a folder without images, the .flo files. Their names match the
 * pattern, if that is not NULL; hidden files are left out. BL_EDATA: not a folder; BL_EFAIL: it cannot be read. To be
 * freed also after an error. */
int bl_image_folder_list(struct bl_image_folder *folder, const char *path, const char *pattern, struct bl_error *e);
void bl_image_folder_free(struct bl_image_folder *folder);

/* Bytes and content (kind/input_stat.h) of all images in a folder. Codes as above. */
int bl_image_folder_stat(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

/* Finds the images whose numbers are first to last: from *begin on, below *end. -1 for first or last: the folder's own.
 * BL_EDATA: there is none; the numbers count no pictures; or images of other numbers lie between them. */
int bl_image_folder_find_numbers(const struct bl_image_folder *folder, int64_t first, int64_t last, size_t *begin,
                                 size_t *end, struct bl_error *e);

/* Returns how many numbers are missing between those of the images begin to end - 1, or 0 if most numbers do not follow
 * each other. Images 1, 2, 3 and 6 have 2 missing numbers. */
int64_t bl_image_folder_count_missing(const struct bl_image_folder *folder, size_t begin, size_t end);

#endif
