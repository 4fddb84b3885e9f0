#include "scan/plain_list.h"

#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"
#include "kind/kind.h"

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

bool bl_plain_list_has_name(const char *path)
{
    static const char *const extensions[] = {"txt", "txt.gz", "txt.zst", NULL};
    return bl_extensions_match(extensions, path);
}

void bl_list_skip_mark(struct bl_document *line)
{
    if (line->offset == 0 && !line->too_long && line->size >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
        line->text += 3;
        line->size -= 3;
    }
}

void bl_plain_list_trim(const char **line, size_t *size)
{
    while (*size && (is_blank((*line)[*size - 1]) || (*line)[*size - 1] == '\r'))
        --*size;
    for (; *size && is_blank(**line); ++*line)
        --*size;
}

bool bl_plain_list_split(const char *line, size_t size, size_t *path_size, size_t *label)
{
    size_t at = size;
    while (at && !is_blank(line[at - 1]))
        at--;
    *label = at;
    while (at && is_blank(line[at - 1]))
        at--;
    *path_size = at;
    return at > 0;
}

/* Whether there is a file or folder of that name. */
static int plain_name_exists(bool *exists, const char *list, const char *name, size_t size, struct bl_error *e)
{
    struct bl_buffer path = {0};
    const char *slash = strrchr(list, '/');
    if (size && *name != '/' && slash)
        bl_buffer_append(&path, list, (size_t)(slash + 1 - list));
    bl_buffer_append(&path, name, size);
    bl_buffer_text(&path, "");
    int code = bl_buffer_check(&path, e);
    *exists = false;
    if (!code)
        code = bl_fs_exists(path.data, exists, e);
    bl_buffer_free(&path);
    return code;
}

static bool word_is_number(const char *word, size_t size)
{
    int64_t number;
    size_t sign = size && *word == '-';
    return bl_text_to_int(word + sign, size - sign, 0, INT64_MAX, &number);
}

int bl_plain_list_decide(bool *labelled, const char *list, const char *line, size_t size, struct bl_error *e)
{
    size_t before, label, further, second;
    bool exists;
    *labelled = false;
    int code = plain_name_exists(&exists, list, line, size, e);
    if (code || exists || !bl_plain_list_split(line, size, &before, &label))
        return code;
    code = plain_name_exists(labelled, list, line, before, e);
    if (code || *labelled)
        return code;
    *labelled = word_is_number(line + label, size - label);
    if (*labelled && bl_plain_list_split(line, before, &further, &second) &&
        word_is_number(line + second, before - second))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%.*s\": the lines of a .txt are a path, or a path and a label: write a .csv with a "
                            "first line that names the columns, such as path,frames,label",
                            size > 200 ? 200 : (int)size, line);
    return BL_OK;
}
