/* The sequence header of AV1, as far as it tells which colours pictures have (AV1 specification 5.5.1, 5.5.2). */
#ifndef BL_AV1_SEQUENCE_H
#define BL_AV1_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kind/video/picture_tags.h"

/* data: the payload of the OBU. False if it ends too early. */
bool bl_av1_sequence_read(const uint8_t *data, size_t size, struct bl_picture_tags *tags);

#endif
