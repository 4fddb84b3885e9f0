/* Peeks into packets of H.264 and H.265, see peek.h: which pictures begin in them, and what their headers say. */
#ifndef BL_PEEK_NAL_H
#define BL_PEEK_NAL_H

#include "kind/video/peek.h"

/* The pictures that begin in a packet, at least 1. */
int bl_peek_h264(struct bl_peek *peek, const uint8_t *data, size_t size);
int bl_peek_hevc(struct bl_peek *peek, const uint8_t *data, size_t size);

/* Takes the headers that a container has, or a packet brings in their place. */
void bl_peek_nal_headers(struct bl_peek *peek, const uint8_t *record, size_t size);

#endif
