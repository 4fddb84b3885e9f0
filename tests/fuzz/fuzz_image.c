/* What looks into image files itself: the tags of TIFF, EXIF in all formats, and reduced JPEG. */
#include <string.h>

#include "fuzz.h"
#include "kind/frames/image.h"
#include "kind/frames/image_header.h"

/* Pictures of more would only take time. */
#define SIZE_MAX_TRIED 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_error e = {0};
    AVFrame *frame = av_frame_alloc();
    uint8_t *copy = malloc(size ? size : 1); /* of just that size, so that a read past its end is seen */
    bool done;
    never(!frame || !copy);
    memcpy(copy, data, size);
    int orientation = bl_tiff_orientation(copy, size);
    never(orientation < 1 || orientation > 8 || bl_image_orientation(copy, size, &orientation, &e) || orientation < 1 ||
          orientation > 8);
    never(size <= SIZE_MAX_TRIED &&
          bl_jpeg_decode_reduced(copy, size, (int)(size % 4), size / 4 % 2, frame, &done, &e) == 0 && done &&
          (frame->width < 1 || frame->height < 1));
    bl_tiff_drop_notes(copy, size);
    bl_tiff_keep_numbers(copy, size);
    bl_tiff_widen_palette(copy, size);
    free(copy);
    av_frame_free(&frame);
    return 0;
}
