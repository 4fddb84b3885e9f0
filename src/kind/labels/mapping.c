#include "kind/labels/mapping.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/io.h"
#include "base/text.h"

#define BYTES_MAX ((size_t)64 << 20)

int bl_mapping_load(const char *path, size_t max, struct bl_buffer *text, uint64_t *digest, struct bl_error *e)
{
    int code = bl_io_check_path(path, e);
    if (code)
        return code;
    bl_buffer_text(text, ""); /* an empty file, too, ends with a zero byte */
    code = bl_io_read_file(path, max, text, e);
    if (code)
        return code;
    *digest = XXH3_64bits(text->data, text->size);
    return BL_OK;
}

static char *line_trim(char *line)
{
    size_t size = strlen(line);
    while (size && strchr(" \t\r", line[size - 1]))
        line[--size] = '\0';
    return line + strspn(line, " \t");
}

/* The name of "NUMBER NAME", and its number; NULL for another line. */
static char *line_parse_numbered(char *line, int32_t *number)
{
    size_t digits = strspn(line, "0123456789");
    char *name = line + digits + strspn(line + digits, " \t");
    int64_t value;
    if (name == line + digits || !*name || !bl_text_to_int(line, digits, 0, INT32_MAX, &value))
        return NULL;
    *number = (int32_t)value;
    return name;
}

static int mapping_compare_names(const void *a, const void *b)
{
    return strcmp(((const struct bl_label_name *)a)->name, ((const struct bl_label_name *)b)->name);
}

static int mapping_add(struct bl_mapping *m, const char *name, int32_t number, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(m->label, m->capacity, m->count + 1, e))
        return BL_EFAIL;
    m->label[m->count++] = (struct bl_label_name){name, number};
    return BL_OK;
}

static int mapping_parse_lines(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    bool numbered = false;
    int line_number = 0, code = BL_OK;
    for (char *line = m->text, *next; *line && !code; line = next) {
        char *end = strchrnul(line, '\n');
        next = *end ? end + 1 : end;
        *end = '\0';
        line_number++;
        char *text = line_trim(line);
        if (!*text)
            continue;
        int32_t number = 0;
        char *name = line_parse_numbered(text, &number);
        if (!m->count)
            numbered = name != NULL;
        if (numbered && !name)
            return bl_error_set(e, BL_EUSAGE, "%s:%d: expected \"NUMBER NAME\", as in the first line, not \"%.60s\"",
                                path, line_number, text);
        code = numbered ? mapping_add(m, name, number, e) : mapping_add(m, text, (int32_t)m->count, e);
    }
    return code;
}

int bl_mapping_read(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    struct bl_buffer text = {0};
    *m = (struct bl_mapping){0};
    int code = bl_mapping_load(path, BYTES_MAX, &text, &m->digest, e);
    m->text = text.data;
    if (code)
        return code;
    if (strlen(m->text) != text.size)
        return bl_error_set(e, BL_EUSAGE, "%s: a zero byte: not a text file", path);
    code = mapping_parse_lines(m, path, e);
    if (code)
        return code;
    if (!m->count)
        return bl_error_set(e, BL_EUSAGE, "%s has no labels", path);
    qsort(m->label, m->count, sizeof *m->label, mapping_compare_names);
    for (size_t i = 1; i < m->count; i++) {
        if (mapping_compare_names(&m->label[i - 1], &m->label[i]) == 0)
            return bl_error_set(e, BL_EUSAGE, "%s: duplicate label \"%.60s\"", path, m->label[i].name);
    }
    return BL_OK;
}

void bl_mapping_free(struct bl_mapping *m)
{
    free(m->text);
    free(m->label);
    *m = (struct bl_mapping){0};
}

int32_t bl_mapping_find(const struct bl_mapping *m, const char *name)
{
    struct bl_label_name wanted = {name, 0};
    if (!m->count)
        return -1;
    const struct bl_label_name *found = bsearch(&wanted, m->label, m->count, sizeof *m->label, mapping_compare_names);
    return found ? found->number : -1;
}
