#define XXH_DISPATCH_DISABLE_REPLACE

#include "base/checksum.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"

/* --- checksum ----------------------------------------------------------------------------------------------------- */

#define CHUNK ((size_t)1 << 20)

/* The library's loops for the processor at hand, twice as fast as those for any x86-64. Only the shared library is sure
 * to have them. */
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#pragma weak XXH3_64bits_dispatch
#pragma weak XXH3_64bits_update_dispatch
#endif

uint64_t bl_checksum(const void *data, size_t size)
{
#if defined(__x86_64__)
    if (XXH3_64bits_dispatch)
        return XXH3_64bits_dispatch(data, size);
#endif
    return XXH3_64bits(data, size);
}

void bl_checksum_begin(struct bl_checksum_state *state)
{
    /* Neither call can fail: state is not NULL, nor is data unless size is 0. */
    (void)XXH3_64bits_reset(&state->state);
}

void bl_checksum_add(struct bl_checksum_state *state, const void *data, size_t size)
{
#if defined(__x86_64__)
    if (XXH3_64bits_update_dispatch) {
        (void)XXH3_64bits_update_dispatch(&state->state, data, size);
        return;
    }
#endif
    (void)XXH3_64bits_update(&state->state, data, size);
}

uint64_t bl_checksum_end(const struct bl_checksum_state *state)
{
    return XXH3_64bits_digest(&state->state);
}

int bl_checksum_range(int fd, int64_t offset, int64_t size, const char *path, uint64_t *checksum, struct bl_error *e)
{
    char *chunk = malloc(CHUNK);
    if (!chunk)
        return bl_error_memory(e);
    struct bl_checksum_state state;
    bl_checksum_begin(&state);
    int code = BL_OK;
    while (size > 0 && !code) {
        size_t part = size < (int64_t)CHUNK ? (size_t)size : CHUNK;
        code = bl_io_pread(fd, chunk, part, offset, path, e);
        if (!code)
            bl_checksum_add(&state, chunk, part);
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    *checksum = bl_checksum_end(&state);
    free(chunk);
    return code;
}

int bl_checksum_file(const char *path, int64_t *bytes, uint64_t *checksum, struct bl_error *e)
{
    int fd = bl_regular_open(path, e);
    if (fd < 0)
        return fd;
    struct stat status;
    int code = BL_OK;
    if (fstat(fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (code)
        goto out;
    *bytes = status.st_size;
    code = bl_checksum_range(fd, 0, status.st_size, path, checksum, e);
out:
    close(fd);
    return code;
}

void bl_checksum_format(uint64_t checksum, char digest[BL_DIGEST_SIZE])
{
    enum { DIGITS = BL_DIGEST_SIZE - 1 };
    for (int i = 0; i < DIGITS; i++)
        digest[i] = "0123456789abcdef"[checksum >> 4 * (DIGITS - 1 - i) & 15];
    digest[DIGITS] = '\0';
}

bool bl_checksum_parse(const char *text, uint64_t *checksum)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != BL_DIGEST_SIZE - 1)
        return false;
    uint64_t value = 0;
    for (; *text; text++) {
        const char *digit = strchr(digits, *text);
        if (!digit)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *checksum = value;
    return true;
}

/* --- sealed ------------------------------------------------------------------------------------------------------- */

/* Text files that end with their checksum, in a line of its own: "end 0123456789abcdef". */

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
