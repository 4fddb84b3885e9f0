/* The fields of a Protocol Buffers message, one by one. */
#ifndef BL_PROTOBUF_H
#define BL_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bl_protobuf {
    const uint8_t *at, *end;
};

struct bl_protobuf_field {
    uint32_t number;
    uint64_t value;      /* of a number; a float's bits */
    const uint8_t *data; /* of text, bytes or a message; else NULL */
    size_t size;
};

/* Reads the next field. *damaged: the message ends in its middle, or it is none. False at the end. */
bool bl_protobuf_next(struct bl_protobuf *message, struct bl_protobuf_field *field, bool *damaged);

#endif
