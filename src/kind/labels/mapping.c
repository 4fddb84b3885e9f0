#include "kind/labels/mapping.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/io.h"
#include "base/text.h"

#define SIZE_LIMIT ((size_t)64 << 20)

/* Takes blanks from both ends of a line. */
static char *mapping_trim_line(char *line)
{
    size_t size = strlen(line);
    while (size && strchr(" \t\r", line[size - 1]))
        line[--size] = '\0';
    return line + strspn(line, " \t");
}

/* "NUMBER NAME": the name, and its number. NULL where the line is another. */
static char *mapping_parse_numbered(char *line, int32_t *number)
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
    if ((m->count & (m->count - 1)) == 0) { /* a power of two: it is full */
        size_t capacity = m->count ? 2 * m->count : 1;
        struct bl_label_name *label = realloc(m->label, capacity * sizeof *label);
        if (!label)
            return bl_error_memory(e);
        m->label = label;
    }
    m->label[m->count++] = (struct bl_label_name){name, number};
    return BL_OK;
}

static int mapping_parse_lines(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    bool with_numbers = false;
    int number_of_line = 0, code = BL_OK;
    for (char *line = m->text; *line && !code;) {
        char *end = strchrnul(line, '\n'), *next = *end ? end + 1 : end;
        *end = '\0';
        char *name = mapping_trim_line(line);
        int32_t number = 0;
        number_of_line++;
        line = next;
        if (!*name)
            continue;
        char *rest = mapping_parse_numbered(name, &number);
        if (!m->count)
            with_numbers = rest != NULL;
        if (with_numbers && !rest)
            return bl_error_set(e, BL_EUSAGE, "%s:%d: \"%.60s\" is no \"NUMBER NAME\", as the first line is", path,
                                number_of_line, name);
        code = mapping_add(m, with_numbers ? rest : name, with_numbers ? number : (int32_t)m->count, e);
    }
    return code;
}

int bl_mapping_read(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    struct bl_buffer text = {0};
    *m = (struct bl_mapping){0};
    bl_buffer_text(&text, "");
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_io_read_file(path, SIZE_LIMIT, &text, e);
    if (!code)
        code = bl_buffer_check(&text, e);
    if (code) {
        bl_buffer_free(&text);
        return code;
    }
    m->text = text.data;
    m->digest = XXH3_64bits(text.data, text.size);
    if (strlen(text.data) != text.size)
        code = bl_error_set(e, BL_EUSAGE, "%s: a zero byte: not a text", path);
    if (!code)
        code = mapping_parse_lines(m, path, e);
    if (!code && !m->count)
        code = bl_error_set(e, BL_EUSAGE, "%s has no labels", path);
    if (!code)
        qsort(m->label, m->count, sizeof *m->label, mapping_compare_names);
    for (size_t i = 1; i < m->count && !code; i++) {
        if (mapping_compare_names(&m->label[i - 1], &m->label[i]) == 0)
            code = bl_error_set(e, BL_EUSAGE, "%s: the label \"%.60s\" is there twice", path, m->label[i].name);
    }
    return code;
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
    const struct bl_label_name *found =
        m->count ? bsearch(&wanted, m->label, m->count, sizeof *m->label, mapping_compare_names) : NULL;
    return found ? found->number : -1;
}
