#include "store/delta.h"

#include <stdbool.h>
#include <string.h>

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* Adds the other row, or subtracts it. Always inlined, so that neither has a branch in its loop. */
static inline __attribute__((always_inline)) void row_combine(uint8_t *row, const uint8_t *other, size_t n, bool add)
{
    bytes16 a, b;
    size_t i = 0;
    for (; i + sizeof a <= n; i += sizeof a) {
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, other + i, sizeof b);
        a = add ? a + b : a - b;
        memcpy(row + i, &a, sizeof a);
    }
    for (; i < n; i++)
        row[i] = (uint8_t)(add ? row[i] + other[i] : row[i] - other[i]);
}

/* Along the row and the colours in one pass: the last pixel stays in registers. */
static void row_differences_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        unsigned r = pixel[0], g = pixel[1], b = pixel[2];
        pixel[0] = (uint8_t)(r - red);
        pixel[1] = (uint8_t)((g - green) - (r - red));
        pixel[2] = (uint8_t)((b - blue) - (g - green));
        red = r;
        green = g;
        blue = b;
    }
}

static void row_sums_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        red += pixel[0];
        green += pixel[1];
        blue += pixel[2];
        pixel[0] = (uint8_t)red;
        pixel[1] = (uint8_t)(red + green);
        pixel[2] = (uint8_t)(red + green + blue);
    }
}

static void row_differences_grey(uint8_t *pixel, size_t width)
{
    for (size_t x = width; x-- > 1;)
        pixel[x] = (uint8_t)(pixel[x] - pixel[x - 1]);
}

static void row_sums_grey(uint8_t *pixel, size_t width)
{
    for (size_t x = 1; x < width; x++)
        pixel[x] = (uint8_t)(pixel[x] + pixel[x - 1]);
}

/* From the last row up, since each row needs the original of the row above. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = height; y-- > 0;) {
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, false);
            if (shape[2] == 1)
                row_differences_grey(data + y * row, width);
            else
                row_differences_rgb(data + y * row, width);
        }
    }
}

void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = 0; y < height; y++) {
            if (shape[2] == 1)
                row_sums_grey(data + y * row, width);
            else
                row_sums_rgb(data + y * row, width);
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, true);
        }
    }
}
