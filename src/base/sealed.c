#include "base/regular.h"
#include "base/sealed.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/io.h"

#define END_SIZE (sizeof "end 0123456789abcdef\n" - 1)

static void end_format(const void *data, size_t size, char end[END_SIZE + 1])
{
    snprintf(end, END_SIZE + 1, "end %016" PRIx64 "\n", bl_checksum(data, size));
}

int bl_sealed_close(struct bl_buffer *text, struct bl_error *e)
{
    char end[END_SIZE + 1];
    if (!text->size || text->data[text->size - 1] != '\n')
        bl_buffer_byte(text, '\n');
    int code = bl_buffer_check(text, e);
    if (code)
        return code;
    end_format(text->data, text->size, end);
    bl_buffer_append(text, end, END_SIZE);
    return bl_buffer_check(text, e);
}

int bl_sealed_open(struct bl_buffer *text, const char *path, struct bl_error *e)
{
    char end[END_SIZE + 1];
    bool good = text->size >= END_SIZE;
    if (good) {
        end_format(text->data, text->size - END_SIZE, end);
        good = memcmp(text->data + text->size - END_SIZE, end, END_SIZE) == 0;
    }
    if (!good)
        return bl_error_set(e, BL_EFAIL,
                            "%s was edited or damaged since it was written, or is of another version of bload "
                            "(restore it, or use another -o)",
                            path);
    text->size -= END_SIZE;
    text->data[text->size] = '\0';
    return BL_OK;
}

int bl_sealed_read(const char *path, size_t max, struct bl_buffer *text, struct bl_error *e)
{
    int code = bl_regular_check(path, e);
    if (!code)
        code = bl_io_read_file(path, max, text, e);
    return code ? code : bl_sealed_open(text, path, e);
}
