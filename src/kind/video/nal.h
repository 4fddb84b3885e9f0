/* NAL units of H.264 and H.265: a packet is an access unit, a chain of units, each behind its length or a start code.
 */
#ifndef BL_NAL_H
#define BL_NAL_H

#include <libavcodec/codec_par.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kind/video/bits.h"

struct bl_nal {
    const uint8_t *data;
    size_t size;
};

struct bl_access_unit {
    const uint8_t *at, *end;
    bool broken; /* a unit reaches beyond the packet */
};

/* The byte after the next start code that begins at data or later, or NULL. */
const uint8_t *bl_start_code_find(const uint8_t *data, const uint8_t *end);

/* Gives the next unit; false at the end, or where the chain of lengths is broken. length: bytes of a unit's length; 0:
 * start codes. */
bool bl_access_unit_next(struct bl_access_unit *unit, int length, struct bl_nal *nal);

/* The bits behind a unit's head of so many bytes. */
struct bl_bits bl_nal_bits(const struct bl_nal *nal, size_t head);

/* The bytes of a unit's length in packets, by the headers that the container has; 0: start codes. */
int bl_nal_length(enum AVCodecID codec, const uint8_t *record, size_t size);

/* Calls take(to, nal) for the parameter sets that a container has before the first packet: avcC, hvcC (ISO 14496-15
 * 5.3.3, 8.3.3) or start codes. */
void bl_nal_headers(enum AVCodecID codec, const uint8_t *record, size_t size,
                    void (*take)(void *to, const struct bl_nal *nal), void *to);

/* The transfer curve that a message prefers to the header's (H.264, H.265: payload type 147), or 0. */
uint8_t bl_nal_preferred_transfer(const struct bl_nal *nal, size_t head);

#endif
