#include "kind/labels/label_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

int bl_label_lines_open(struct bl_label_lines *lines, const char *path, const struct bl_mapping *mapping,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    lines->mapping = mapping;
    lines->feed = NULL;
    lines->at = lines->end = 0;
    lines->line = 0;
    return bl_instream_open(&lines->feed, path, 0, cancel, e);
}

void bl_label_lines_close(struct bl_label_lines *lines)
{
    if (lines->feed)
        bl_instream_close(lines->feed);
    lines->feed = NULL;
}

/* The next byte: 1, 0 at the end, or a code. */
static int label_lines_next_byte(struct bl_label_lines *lines, char *byte, struct bl_error *e)
{
    if (lines->at == lines->end) {
        int code = bl_instream_read(lines->feed, lines->data, sizeof lines->data, &lines->end, e);
        lines->at = 0;
        if (code || !lines->end)
            return code;
    }
    *byte = lines->data[lines->at++];
    return 1;
}

/* A line without blanks at its ends: 1, 0 at the end, or a code. */
static int label_lines_next_line(struct bl_label_lines *lines, char text[BL_LABEL_MAX + 1], struct bl_error *e)
{
    size_t size = 0, used = 0;
    char byte = '\0';
    int more;
    while ((more = label_lines_next_byte(lines, &byte, e)) > 0 && byte != '\n') {
        bool blank = byte == ' ' || byte == '\t' || byte == '\r';
        if (blank && !size)
            continue;
        if (size == BL_LABEL_MAX || !byte)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 " is no label: %s", lines->line + 1,
                                byte ? "it is too long" : "a zero byte");
        text[size++] = byte;
        used = blank ? used : size;
    }
    text[used] = '\0';
    lines->line++;
    return more < 0 ? more : more || size;
}

int bl_label_lines_next(struct bl_label_lines *lines, int32_t *label, struct bl_error *e)
{
    char text[BL_LABEL_MAX + 1];
    int64_t number;
    int more = label_lines_next_line(lines, text, e);
    if (more <= 0)
        return more;
    if (!*text)
        return bl_error_set(e, BL_EDATA, "line %" PRId64 " is empty", lines->line);
    if (lines->mapping->count) {
        *label = bl_mapping_find(lines->mapping, text);
        if (*label < 0)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": \"%.60s\" is not in the mapping", lines->line, text);
        return 1;
    }
    if (!bl_text_to_int(text, strlen(text), INT32_MIN, INT32_MAX, &number))
        return bl_error_set(e, BL_EDATA, "line %" PRId64 ": \"%.60s\" is no number (names need mapping)", lines->line,
                            text);
    *label = (int32_t)number;
    return 1;
}
