/* Draws on a canvas of pixels in memory, three bytes each, and writes it as PNG.
 *
 * Areas may lie partly or wholly outside the canvas: every operation clips them first, so that callers need no
 * checks. Rows follow each other without padding: pixel (x, y) begins at byte 3 * (y * width + x). */
#include "show/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "kind/frames/frames.h"
#include "show/html.h"

enum { HATCH = 6 }; /* pixels from line to line */

/* The caller frees the canvas with bl_canvas_free, also after errors. */
int bl_canvas_make(struct bl_canvas *canvas, int width, int height, bl_colour colour, struct bl_error *e)
{
    *canvas = (struct bl_canvas){.width = width, .height = height};
    canvas->pixel = malloc((size_t)width * (size_t)height * 3);
    if (!canvas->pixel)
        return bl_error_memory(e);
    bl_canvas_fill(canvas, (struct bl_area){0, 0, width, height}, colour);
    return BL_OK;
}

void bl_canvas_free(struct bl_canvas *canvas)
{
    free(canvas->pixel);
    *canvas = (struct bl_canvas){0};
}

/* Returns the three bytes of a pixel, red first. The pixel must lie on the canvas. */
static uint8_t *canvas_at(const struct bl_canvas *c, int x, int y)
{
    return c->pixel + ((size_t)y * (size_t)c->width + (size_t)x) * 3;
}

/* Sets the three bytes of a pixel from 0xRRGGBB. */
static void pixel_set(uint8_t *pixel, bl_colour colour)
{
    pixel[0] = (uint8_t)(colour >> 16);
    pixel[1] = (uint8_t)(colour >> 8);
    pixel[2] = (uint8_t)colour;
}

/* Returns the part of an area that lies on the canvas; its width or height is 0 if there is none. */
static struct bl_area area_clip(const struct bl_canvas *c, struct bl_area a)
{
    /* Negative widths must not remain: the loops of callers then draw nothing. */
    int right = a.x + a.width < c->width ? a.x + a.width : c->width;
    int bottom = a.y + a.height < c->height ? a.y + a.height : c->height;
    a.x = a.x > 0 ? a.x : 0;
    a.y = a.y > 0 ? a.y : 0;
    a.width = right > a.x ? right - a.x : 0;
    a.height = bottom > a.y ? bottom - a.y : 0;
    return a;
}

void bl_canvas_fill(struct bl_canvas *canvas, struct bl_area area, bl_colour colour)
{
    area = area_clip(canvas, area);
    for (int y = area.y; y < area.y + area.height; y++) {
        for (int x = area.x; x < area.x + area.width; x++)
            pixel_set(canvas_at(canvas, x, y), colour);
    }
}

/* The lines depend on the position on the canvas alone, so that the hatches of neighbouring areas continue each
 * other. */
void bl_canvas_hatch(struct bl_canvas *canvas, struct bl_area area, bl_colour line, bl_colour ground)
{
    area = area_clip(canvas, area);
    for (int y = area.y; y < area.y + area.height; y++) {
        for (int x = area.x; x < area.x + area.width; x++)
            pixel_set(canvas_at(canvas, x, y), (x + y) % HATCH ? ground : line);
    }
}

/* Sets cover to the range of pixels of the step that pixel i of `size` covers, at least one: from cover[0] to
 * cover[1] - 1. A step may be smaller than its area or larger; `pixels` is its size in this direction. */
static void step_cover(int i, int size, int64_t pixels, int cover[2])
{
    cover[0] = (int)(i * pixels / size);
    cover[1] = (int)((i + 1) * pixels / size);
    if (cover[1] == cover[0])
        cover[1]++;
}

/* Sets a pixel to the mean of the rows y[0] to y[1] - 1 and the columns x[0] to x[1] - 1 of a step, rounded. A grey
 * step has one channel for all three of the pixel. */
static void step_mean(const struct bl_field *field, const uint8_t *step, const int y[2], const int x[2], uint8_t *pixel)
{
    const size_t channels = field->rank == 3 ? (size_t)field->shape[2] : 1, row = (size_t)field->shape[1] * channels;
    const bool is_wide = field->dtype == BL_U16; /* little-endian: the high byte is the second */
    const uint64_t count = (uint64_t)(y[1] - y[0]) * (uint64_t)(x[1] - x[0]);
    for (size_t k = 0; k < 3; k++) {
        uint64_t sum = 0;
        for (int v = y[0]; v < y[1]; v++) {
            for (int u = x[0]; u < x[1]; u++) {
                size_t at = (size_t)v * row + (size_t)u * channels + (channels > 1 ? k : 0);
                sum += is_wide ? step[2 * at + 1] : step[at];
            }
        }
        pixel[k] = (uint8_t)((sum + count / 2) / count);
    }
}

/* Sets a pixel to the colour of a class: that of Pascal VOC's palette, which masks of many sets have. The bits of the
 * index, from the lowest, go to red, green and blue in turn, from their highest bit. */
static void index_colour(uint8_t index, uint8_t *pixel)
{
    memset(pixel, 0, 3);
    for (int bit = 0; bit < 8; bit++)
        pixel[bit % 3] = (uint8_t)(pixel[bit % 3] | (index >> bit & 1) << (7 - bit / 3));
}

/* Each pixel is the mean of the pixels that it covers, so that small pictures keep fine lines as grey instead of
 * losing some of them. The indices of masks have no mean: the one in the middle counts. */
void bl_canvas_draw(struct bl_canvas *canvas, struct bl_area area, const struct bl_field *field, const uint8_t *step)
{
    const struct bl_area seen = area_clip(canvas, area);
    /* The position counts from the area, not from its visible part: clipping must not shift the picture. */
    for (int y = seen.y; y < seen.y + seen.height; y++) {
        int rows[2], columns[2];
        step_cover(y - area.y, area.height, field->shape[0], rows);
        for (int x = seen.x; x < seen.x + seen.width; x++) {
            /* Rows are the same for the whole line of pixels, columns differ. */
            step_cover(x - area.x, area.width, field->shape[1], columns);
            size_t middle =
                (size_t)(rows[0] + rows[1]) / 2 * (size_t)field->shape[1] + (size_t)(columns[0] + columns[1]) / 2;
            if (field->lossless)
                index_colour(step[middle], canvas_at(canvas, x, y));
            else
                step_mean(field, step, rows, columns, canvas_at(canvas, x, y));
        }
    }
}

void bl_canvas_copy(const struct bl_canvas *from, struct bl_area area, struct bl_canvas *to, int x, int y)
{
    area = area_clip(from, area);
    /* room is clipped at both canvases: its offset to (x, y) is the offset in the source. */
    const struct bl_area room = area_clip(to, (struct bl_area){x, y, area.width, area.height});
    for (int row = room.y; row < room.y + room.height; row++)
        memcpy(canvas_at(to, room.x, row), canvas_at(from, area.x + room.x - x, area.y + row - y),
               (size_t)room.width * 3);
}

/* Comparing bytes replaces only pixels of exactly this colour. */
void bl_canvas_replace(struct bl_canvas *canvas, bl_colour from, bl_colour to)
{
    uint8_t old[3];
    pixel_set(old, from);
    for (uint8_t *at = canvas->pixel, *end = at + (size_t)canvas->width * (size_t)canvas->height * 3; at < end;
         at += 3) {
        if (memcmp(at, old, sizeof old) == 0)
            pixel_set(at, to);
    }
}

/* Appends a PNG, with a chunk tRNS behind its header if the paper is to be transparent. The header is the signature, 8
 * bytes, and the chunk IHDR, 25 bytes. A chunk is its length, type, content and CRC-32: here the colour of the paper,
 * 16 bits for red, green and blue each. */
static void png_append(const uint8_t *file, size_t size, bool is_clear, struct bl_buffer *out)
{
    enum { HEADER = 33 };
    static const uint8_t white[] = {0, 0, 0, 6, 't', 'R', 'N', 'S', 0, 255, 0, 255, 0, 255, 0x37, 0x58, 0x1b, 0x7d};
    _Static_assert(BL_COLOUR_PAPER == 0xffffff, "the chunk has the colour of the paper");
    bl_buffer_append(out, file, HEADER);
    if (is_clear)
        bl_buffer_append(out, white, sizeof white);
    bl_buffer_append(out, file + HEADER, size - HEADER);
}

int bl_canvas_append_png(const struct bl_canvas *canvas, struct bl_area area, bool is_clear, struct bl_buffer *out,
                         struct bl_error *e)
{
    const struct bl_field field = {
        .name = "the picture", .dtype = BL_U8, .rank = 3, .shape = {area.height, area.width, 3}};
    struct bl_canvas part = {0};
    struct bl_png *png = NULL;
    const uint8_t *file;
    size_t size;
    /* The encoder takes whole pictures only, so the area is copied. */
    int code = bl_canvas_make(&part, area.width, area.height, 0, e);
    if (code)
        goto out;
    bl_canvas_copy(canvas, area, &part, 0, 0);
    code = bl_png_open(&png, &field, e);
    if (!code)
        code = bl_png_encode(png, part.pixel, &file, &size, e);
    if (code)
        goto out;
    png_append(file, size, is_clear, out);
    code = bl_buffer_check(out, e);
out:
    bl_png_close(png);
    bl_canvas_free(&part);
    return code;
}
