/* Plain lists: a path in each line, or a path and a label. */
#include "scan/plain_list.h"

#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

bool bl_plain_list_has_name(const char *path)
{
    static const char *const extensions[] = {"txt", "txt.gz", "txt.zst", NULL};
    return bl_path_has_extension(path, extensions);
}

/* Removes the byte order mark, which Windows programs write at the beginning of the first line. */
void bl_list_skip_mark(struct bl_document *line)
{
    if (line->offset == 0 && !line->too_long && line->size >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
        line->text += 3;
        line->size -= 3;
    }
}

/* Removes blanks at both ends, and the carriage return of Windows at the end. */
void bl_plain_list_trim(const char **line, size_t *size)
{
    while (*size && (is_blank((*line)[*size - 1]) || (*line)[*size - 1] == '\r'))
        --*size;
    for (; *size && is_blank(**line); ++*line)
        --*size;
}

/* Splits a line at its last blank: "a b.mp4 3" is the path "a b.mp4" and the label "3". Returns false if there is no
 * blank with something before it. */
bool bl_plain_list_split(const char *line, size_t size, size_t *path_size, size_t *label)
{
    /* The label is the last word. */
    size_t at = size;
    while (at && !is_blank(line[at - 1]))
        at--;
    *label = at;
    while (at && is_blank(line[at - 1]))
        at--;
    *path_size = at;
    return at > 0;
}

/* Sets *exists: there is a file or folder of this name, relative to the folder of the list. */
static int plain_name_exists(bool *exists, const char *list, const char *name, size_t size, struct bl_error *e)
{
    struct bl_buffer path = {0};
    const char *slash = strrchr(list, '/');
    /* The names in a list are relative to its folder. */
    if (size && *name != '/' && slash)
        bl_buffer_append(&path, list, (size_t)(slash + 1 - list));
    bl_buffer_append(&path, name, size);
    bl_buffer_text(&path, "");
    int code = bl_buffer_check(&path, e);
    *exists = false;
    if (!code)
        code = bl_input_file_exists(path.data, exists, e);
    bl_buffer_free(&path);
    return code;
}

/* Returns whether a word is a whole number, such as a class or a number of frames, with or without a minus. */
static bool word_is_number(const char *word, size_t size)
{
    int64_t number;
    size_t sign = size && *word == '-';
    return bl_text_to_int(word + sign, size - sign, 0, INT64_MAX, &number);
}

/* Decides whether the lines of a plain list have labels. The line has none if it names a file as a whole; it has one
 * if the part before the last blank names a file, or if the last word is a number. BL_EUSAGE: two numbers at the
 * end, as in lists of some video data sets, have no names. */
int bl_plain_list_decide(bool *labelled, const char *list, const char *line, size_t size, struct bl_error *e)
{
    size_t before, label, further, second;
    bool exists;
    *labelled = false;
    /* A line that names a file is a path, even if it ends with a blank and a number. */
    int code = plain_name_exists(&exists, list, line, size, e);
    if (code || exists || !bl_plain_list_split(line, size, &before, &label))
        return code;
    code = plain_name_exists(labelled, list, line, before, e);
    if (code || *labelled)
        return code;
    *labelled = word_is_number(line + label, size - label);
    /* With two numbers, nobody could say which one is the label. */
    if (*labelled && bl_plain_list_split(line, before, &further, &second) &&
        word_is_number(line + second, before - second))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%.*s\": the lines of a .txt are a path, or a path and a label: write a .csv with a "
                            "first line that names the columns, such as path,frames,label",
                            size > 200 ? 200 : (int)size, line);
    return BL_OK;
}
