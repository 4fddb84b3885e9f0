#include "kind/labels/label_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

int bl_label_lines_open(struct bl_label_lines *lines, const char *path, const struct bl_mapping *mapping,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    lines->mapping = mapping;
    lines->in = NULL;
    lines->at = lines->end = 0;
    lines->line = 0;
    int code = bl_instream_open(&lines->in, path, 0, cancel, e);
    if (!code)
        code = bl_instream_read(lines->in, lines->data, sizeof lines->data, &lines->end, e);
    const char *other = code ? NULL : bl_utf8_other_mark(lines->data, lines->end);
    if (other)
        code = bl_error_set(e, BL_EDATA, "%s", other);
    if (code)
        bl_label_lines_close(lines);
    return code;
}

void bl_label_lines_close(struct bl_label_lines *lines)
{
    if (lines->in)
        bl_instream_close(lines->in);
    lines->in = NULL;
}

static int label_lines_next_byte(struct bl_label_lines *lines, char *byte, bool *found, struct bl_error *e)
{
    if (lines->at == lines->end) {
        int code = bl_instream_read(lines->in, lines->data, sizeof lines->data, &lines->end, e);
        lines->at = 0;
        if (code)
            return code;
    }
    *found = lines->at < lines->end;
    if (*found)
        *byte = lines->data[lines->at++];
    return BL_OK;
}

/* Reads a line, without blanks at its ends. */
static int label_lines_next_line(struct bl_label_lines *lines, char text[BL_LABEL_MAX + 1], bool *found,
                                 struct bl_error *e)
{
    size_t size = 0, used = 0;
    char byte = '\0';
    bool more;
    for (;;) {
        int code = label_lines_next_byte(lines, &byte, &more, e);
        if (code)
            return code;
        if (!more || byte == '\n')
            break;
        bool blank = byte == ' ' || byte == '\t' || byte == '\r';
        if (blank && !size)
            continue;
        if (size == BL_LABEL_MAX || !byte)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": %s", lines->line + 1,
                                byte ? "the label is too long" : "a zero byte");
        text[size++] = byte;
        if (!blank)
            used = size;
    }
    text[used] = '\0';
    lines->line++;
    *found = more || size; /* the last line may lack its end */
    return BL_OK;
}

int bl_label_lines_next(struct bl_label_lines *lines, int32_t *label, bool *found, struct bl_error *e)
{
    char text[BL_LABEL_MAX + 1];
    int64_t number;
    int code = label_lines_next_line(lines, text, found, e);
    if (code || !*found)
        return code;
    if (!*text)
        return bl_error_set(e, BL_EDATA, "line %" PRId64 " is empty", lines->line);
    if (lines->mapping->count) {
        *label = bl_mapping_find(lines->mapping, text);
        if (*label < 0)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": \"%.60s\" is not in the mapping", lines->line, text);
        return BL_OK;
    }
    if (!bl_text_to_int(text, strlen(text), INT32_MIN, INT32_MAX, &number))
        return bl_error_set(e, BL_EDATA, "line %" PRId64 ": \"%.60s\" is not a number (names need a mapping)",
                            lines->line, text);
    *label = (int32_t)number;
    return BL_OK;
}
