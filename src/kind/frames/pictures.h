/* Files with one picture each, as the kind of images has them: an own field (kind/own) takes them, a step each. Part of
 * the media module. */
#ifndef BL_KIND_PICTURES_H
#define BL_KIND_PICTURES_H

#include "kind/kind.h"

/* The functions of the kind of images that the media module has, for struct bl_decoding. The counter is a struct
 * bl_list_counter: a line of a list names a picture. */
bl_counter_open bl_pictures_counter_open;
bl_kind_count bl_pictures_decoding_count;
bl_reader_open bl_pictures_read_open;

#endif
