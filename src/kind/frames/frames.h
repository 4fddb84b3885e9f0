/* Folders of images: a folder is a sequence, its images in natural order are the steps. Size, fit and stride are
 * video's options. */
#ifndef BL_FRAMES_KIND_H
#define BL_FRAMES_KIND_H

#include "kind/kind.h"

extern const struct bl_kind bl_kind_frames;

#endif
