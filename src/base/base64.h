/* Base64, as YAML's !!binary is written. */
#ifndef BL_BASE64_H
#define BL_BASE64_H

#include <stdint.h>

#include "base/buffer.h"

void bl_base64_append(struct bl_buffer *out, const void *data, size_t size);

/* Decodes in place; spaces and ends of lines mean nothing. Returns the bytes, or -1: it is none. */
int64_t bl_base64_decode(char *text, size_t size);

#endif
