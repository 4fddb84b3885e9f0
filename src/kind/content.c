#include "kind/content.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"

#define END ((size_t)64 << 10)
#define DIGITS 16

static uint64_t content_digest(const void *data, size_t size)
{
    uint64_t content = XXH3_64bits(data, size);
    return content ? content : 1;
}

uint64_t bl_content_hash(const void *data, size_t size)
{
    return size ? content_digest(data, size) : content_digest("", 0);
}

static int content_digest_ends(const struct bl_input_file *file, const char *path, uint64_t *content,
                               struct bl_error *e)
{
    uint8_t data[8 + 2 * END];
    uint64_t size = (uint64_t)file->status.st_size;
    size_t first = size < END ? (size_t)size : END, last = size - first < END ? (size_t)size - first : END;
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)(size >> 8 * i);
    int code = bl_io_pread(file->fd, data + 8, first, file->begin, path, e);
    if (code)
        return code;
    code = bl_io_pread(file->fd, data + 8 + first, last, file->begin + (int64_t)(size - last), path, e);
    if (code)
        return code;
    *content = content_digest(data, 8 + first + last);
    return BL_OK;
}

int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e)
{
    *content = 0;
    struct bl_input_file file;
    if (bl_input_file_open(&file, path) != 0)
        return bl_errno_is_system(errno) ? bl_error_errno(e, BL_EFAIL, "cannot open %s", path) : BL_OK;
    int code = content_digest_ends(&file, path, content, e);
    bl_input_file_close(&file);
    return code;
}

void bl_content_format(uint64_t content, struct bl_buffer *out)
{
    char text[DIGITS];
    for (int i = 0; i < DIGITS; i++)
        text[i] = "0123456789abcdef"[content >> 4 * (DIGITS - 1 - i) & 15];
    if (content)
        bl_buffer_append(out, text, sizeof text);
}

bool bl_content_parse(const char *text, uint64_t *content)
{
    size_t size = strlen(text);
    *content = 0;
    if (size && size != DIGITS)
        return false;
    for (size_t i = 0; i < size; i++) {
        int digit = bl_text_hex_digit(text[i]);
        if (digit < 0 || (text[i] >= 'A' && text[i] <= 'F'))
            return false;
        *content = *content << 4 | (uint64_t)digit;
    }
    return true;
}
