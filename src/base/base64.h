/* Base64, as in YAML's !!binary. */
#ifndef BL_BASE64_H
#define BL_BASE64_H

#include <stdint.h>

#include "base/buffer.h"

void bl_base64_append(struct bl_buffer *out, const void *data, size_t size);

/* Decodes in place and skips spaces and line ends. Returns the number of bytes, or -1 if the text is not base64. */
int64_t bl_base64_decode(char *text, size_t size);

#endif
