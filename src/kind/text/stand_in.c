#include "kind/text/stand_in.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "kind/text/stand_in_table.h"

#define LEAD_OF_THREE 0xe0 /* the first byte of UTF-8 from U+0800 on; no byte that follows one is as high */

static int points_add(struct bl_pattern_points *points, uint32_t point, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(points->point, points->capacity, points->count + 1, e);
    if (code)
        return code;
    points->point[points->count++] = point;
    return BL_OK;
}

int bl_pattern_points_read(struct bl_pattern_points *points, const char *pattern, size_t size, struct bl_error *e)
{
    const char *end = pattern + size;
    int code = BL_OK;
    for (const char *p = pattern; p < end && !code;) {
        uint32_t point;
        if (*p == '\\' && end - p > 3 && p[1] == 'x' && p[2] == '{') {
            char *stop;
            unsigned long value = strtoul(p + 3, &stop, 16);
            p = stop;
            code = value <= UINT32_MAX ? points_add(points, (uint32_t)value, e) : BL_OK;
        } else if (*p == '\\') {
            p += 1 + (end - p > 1 && !(p[1] & 0x80));
        } else {
            p += bl_utf8_decode(p, &point);
            code = point >= 0x80 ? points_add(points, point, e) : BL_OK;
        }
    }
    return code;
}

void bl_pattern_points_free(struct bl_pattern_points *points)
{
    free(points->point);
    *points = (struct bl_pattern_points){0};
}

/* Whether no character and no range of the pattern tells the two apart. */
static bool points_are_alike(const struct bl_pattern_points *points, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < points->count; i++) {
        uint32_t limit = points->point[i];
        if ((a < limit) != (b < limit) || (a > limit) != (b > limit))
            return false;
    }
    return true;
}

/* The row of a table that has a code point, or NULL. */
static const struct bl_stand_in *row_find(const struct bl_stand_in *rows, size_t count, uint32_t point)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].last < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && rows[low].first <= point ? &rows[low] : NULL;
}

static bool page_has(const uint8_t *page, uint32_t point)
{
    return page[point >> 11] >> (point >> 8 & 7) & 1;
}

/* What stands for a code point: itself if there is nothing. */
static uint32_t stand_in_find(const struct bl_pattern_points *points, uint32_t point)
{
    const struct bl_stand_in *found = NULL;
    if (page_has(bl_stand_in_page, point))
        found = row_find(bl_stand_in, bl_stand_in_count, point);
    if (!found && points->newer && page_has(bl_unassigned_page, point))
        found = row_find(bl_unassigned, bl_unassigned_count, point);
    for (size_t i = 0; found && i < found->count; i++) {
        uint32_t candidate = bl_stand_in_point[found->at + i];
        if (points_are_alike(points, point, candidate))
            return candidate;
    }
    return point;
}

/* Past the bytes that are below LEAD_OF_THREE, eight at a time while they are ASCII. */
static size_t low_skip(const char *text, size_t size, size_t at)
{
    const uint64_t high = 0x8080808080808080;
    uint64_t eight;
    for (; size - at >= sizeof eight; at += sizeof eight) {
        memcpy(&eight, text + at, sizeof eight);
        if (eight & high)
            break;
    }
    while (at < size && (uint8_t)text[at] < LEAD_OF_THREE)
        at++;
    return at;
}

/* The offset from at on of a code point that has a stand-in, or size. */
static size_t stand_in_next(const struct bl_pattern_points *points, const char *text, size_t size, size_t at,
                            uint32_t *stands)
{
    uint32_t point;
    for (at = low_skip(text, size, at); at < size; at = low_skip(text, size, at)) {
        size_t bytes = bl_utf8_decode(text + at, &point);
        *stands = stand_in_find(points, point);
        if (*stands != point)
            return at;
        at += bytes;
    }
    return size;
}

int bl_stand_in_apply(const struct bl_pattern_points *points, const char *text, size_t size, struct bl_buffer *copy,
                      const char **seen, struct bl_error *e)
{
    uint32_t stands;
    *seen = text;
    size_t at = stand_in_next(points, text, size, 0, &stands);
    if (at == size)
        return BL_OK;
    bl_buffer_clear(copy);
    bl_buffer_append(copy, text, size);
    if (copy->failed)
        return bl_error_memory(e);
    for (; at < size; at = stand_in_next(points, text, size, at, &stands)) {
        char bytes[BL_UTF8_MAX];
        size_t count = bl_utf8_encode(stands, bytes);
        memcpy(copy->data + at, bytes, count);
        at += count;
    }
    *seen = copy->data;
    return BL_OK;
}
