/* The kind "labels": text files with one label a line, of which each line is a step.
 *
 * A label is a number, or a name to which a mapping gives a number. Counting reads every line, so that a file with a
 * malformed line is unusable before any step of it is packed. Files are read as a stream, and again for each piece:
 * labels are small beside the steps that they describe. */
#include "kind/labels/labels.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/input_stat.h"

#define BL_LABEL_MAX 4096 /* bytes of a label, without blanks at its ends */

struct bl_labels_config {
    const char *mapping;     /* file, or NULL: the lines are numbers */
    struct bl_mapping names; /* of that file, set by prepare; empty without it */
};

extern const struct bl_kind bl_kind_labels;

/* --- mappings ----------------------------------------------------------------------------------------------------- */

#define BYTES_MAX ((size_t)64 << 20) /* of a mapping, which stays in memory */

int bl_mapping_load(const char *path, size_t max, struct bl_buffer *text, uint64_t *digest, struct bl_error *e)
{
    BL_TRY(bl_io_check_path(path, e));
    bl_buffer_text(text, ""); /* an empty file, too, ends with a zero byte */
    BL_TRY(bl_io_read_file(path, max, text, e));
    *digest = XXH3_64bits(text->data, text->size);
    return BL_OK;
}

/* Returns the name in a line "NUMBER NAME", and sets its number; returns NULL for another line. */
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

/* Orders labels by name, for qsort and bsearch. */
static int mapping_compare_names(const void *a, const void *b)
{
    return strcmp(((const struct bl_label_name *)a)->name, ((const struct bl_label_name *)b)->name);
}

/* Parses the lines of m->text in place: the names stay where they are, ended by zero bytes. Empty lines do not count.
 */
static int mapping_parse_lines(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    bool numbered = false;
    int line_number = 0;
    for (char *line = m->text, *next; *line; line = next) {
        char *end = strchrnul(line, '\n');
        next = *end ? end + 1 : end;
        *end = '\0';
        line_number++;
        while (end > line && strchr(" \t\r", end[-1]))
            *--end = '\0';
        char *text = line + strspn(line, " \t");
        if (!*text)
            continue;
        int32_t number = 0;
        char *name = line_parse_numbered(text, &number);
        if (!m->count) /* the first line decides */
            numbered = name != NULL;
        if (numbered && !name)
            return bl_error_set(e, BL_EUSAGE, "%s:%d: expected \"NUMBER NAME\", as in the first line, not \"%.60s\"",
                                path, line_number, text);
        BL_TRY(BL_ARRAY_RESERVE(m->label, m->capacity, m->count + 1, e));
        m->label[m->count] = (struct bl_label_name){numbered ? name : text, numbered ? number : (int32_t)m->count};
        m->count++;
    }
    return BL_OK;
}

/* The names are sorted, since every line of every file looks one up. */
int bl_mapping_read(struct bl_mapping *m, const char *path, struct bl_error *e)
{
    struct bl_buffer text = {0};
    *m = (struct bl_mapping){0};
    int code = bl_mapping_load(path, BYTES_MAX, &text, &m->digest, e);
    m->text = text.data; /* bl_mapping_free frees it, also after an error */
    if (code)
        return code;
    if (strlen(m->text) != text.size)
        return bl_error_set(e, BL_EUSAGE, "%s: a zero byte: not a text file", path);
    BL_TRY(mapping_parse_lines(m, path, e));
    if (!m->count)
        return bl_error_set(e, BL_EUSAGE, "%s has no labels", path);
    qsort(m->label, m->count, sizeof *m->label, mapping_compare_names);
    for (size_t i = 1; i < m->count; i++) { /* duplicates are neighbours now */
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

/* --- lines of labels ---------------------------------------------------------------------------------------------- */

/* Reads the beginning at once, so that a file in UTF-16, whose bytes would be odd labels, is refused by its mark. */
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
    /* A mark of UTF-16 or UTF-32 at the beginning. */
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

/* Reads a line, without blanks at its ends. *found is false if the file ended before the line began. */
static int label_lines_next_line(struct bl_label_lines *lines, char text[BL_LABEL_MAX + 1], bool *found,
                                 struct bl_error *e)
{
    /* Blanks inside of a label belong to it; those at its ends do not. */
    size_t size = 0, used = 0; /* used: up to the last byte that is not blank */
    bool more;
    for (;;) {
        if (lines->at == lines->end) {
            lines->at = 0;
            BL_TRY(bl_instream_read(lines->in, lines->data, sizeof lines->data, &lines->end, e));
        }
        more = lines->at < lines->end;
        char byte = more ? lines->data[lines->at++] : '\n';
        if (byte == '\n')
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
    *found = more || size; /* the last line may have no line end */
    return BL_OK;
}

/* An empty line is an error, since it would move all later labels by one step. */
int bl_label_lines_next(struct bl_label_lines *lines, int32_t *label, bool *found, struct bl_error *e)
{
    char text[BL_LABEL_MAX + 1];
    int64_t number;
    BL_TRY(label_lines_next_line(lines, text, found, e));
    if (!*found)
        return BL_OK;
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

/* --- kind --------------------------------------------------------------------------------------------------------- */

/* Text files in folders are documents: labels must be requested by --kind labels. */
static const char *const extensions[] = {"txt", NULL};

static const struct bl_option options[] = {
    BL_OPTION_PATH(
        "mapping", struct bl_labels_config, mapping, BL_AFFECTS_BYTES,
        "numbers of the labels: lines \"NUMBER NAME\", or names, numbered from 0; without it lines are numbers"),
    {0},
};

/* Reads the mapping, if there is one. */
static int labels_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    (void)warning;
    struct bl_labels_config *config = values;
    return config->mapping ? bl_mapping_read(&config->names, config->mapping, e) : BL_OK;
}

static void labels_release(void *values)
{
    bl_mapping_free(&((struct bl_labels_config *)values)->names);
}

/* The digest makes a dataset another one if the mapping has changed, whatever its name is. */
static void labels_identify(const void *values, struct bl_buffer *out)
{
    const struct bl_labels_config *config = values;
    if (config->mapping)
        bl_buffer_printf(out, "mapping digest: %016" PRIx64 "\n", config->names.digest);
}

static void labels_sampling(const void *config, struct bl_buffer *out)
{
    (void)config;
    bl_buffer_text(out, "all");
}

/* Emits the row of a file: its lines are its steps, and all of them are checked. */
static int labels_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    struct bl_error fault = {0};
    struct bl_row row = {.status = BL_ROW_OK, .stream = -1, .offset = -1};
    const struct bl_labels_config *c = config;
    struct bl_label_lines lines;
    int32_t label;
    bool found = true;
    int code = bl_label_lines_open(&lines, chunk->input->path, &c->names, env->cancel, &fault);
    if (code)
        return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    while (!code && found) {
        code = bl_label_lines_next(&lines, &label, &found, &fault);
        row.length += !code && found;
    }
    if (!code && !row.length)
        code = bl_error_set(&fault, BL_EDATA, "no labels");
    bl_label_lines_close(&lines);
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

/* A step is one number, also of a label whose name was mapped. */
static int labels_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    (void)config, (void)env, (void)row, (void)e;
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.name = "labels", .kind = "labels", .dtype = BL_I32};
    return BL_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A reader, with the file of the present piece. */
struct labels_reader {
    struct bl_reader base;
    const struct bl_labels_config *config;
    const struct bl_kind_env *env;
    struct bl_label_lines lines;
};

/* Reads to the end of the piece. The last piece of a sequence reads to the end of the file, which may have got more
 * lines since the scan. BL_EDATA: the file has another number of lines. */
static int labels_read_lines(struct labels_reader *r, const struct bl_request *request, struct bl_error *e)
{
    /* Lines before the piece are read and dropped: a compressed file has no other way to its middle. */
    int64_t first = request->source_start, end = first + request->steps, line = 0;
    while (line < end || end == request->row.length) {
        int32_t label;
        bool found;
        BL_TRY(bl_label_lines_next(&r->lines, &label, &found, e));
        if (!found)
            break;
        if (line >= first && line < end)
            memcpy(request->out[0] + (size_t)(line - first) * sizeof label, &label, sizeof label);
        line++;
    }
    if (line < end || (end == request->row.length && line > end))
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " lines, there are %" PRId64, request->row.length,
                            line);
    return BL_OK;
}

/* Opens the file, whose size must be that of the scan, and reads the piece from it. */
static int labels_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                               struct bl_error *e)
{
    struct labels_reader *r = (struct labels_reader *)reader;
    struct bl_input input = {.path = request->row.path};
    const char *unusable;
    note->text[0] = '\0';
    BL_TRY(bl_input_stat(&bl_kind_labels, &input, &unusable, e));
    /* Another size means that the lines may be others; equal sizes are compared by their number of lines. */
    if (unusable || input.bytes != request->row.bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan", request->row.path);
    int code = bl_label_lines_open(&r->lines, request->row.path, &r->config->names, r->env->cancel, e);
    if (!code)
        code = labels_read_lines(r, request, e);
    bl_label_lines_close(&r->lines);
    return code;
}

static void labels_reader_close(struct bl_reader *reader)
{
    free(reader);
}

/* The reader keeps no file open: each piece opens its file. */
static int labels_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                              struct bl_reader **reader, struct bl_error *e)
{
    (void)fields;
    struct labels_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){labels_reader_piece, labels_reader_close};
    r->config = config;
    r->env = env;
    *reader = &r->base;
    return BL_OK;
}

/* Appends, for example, "one label a line, numbered by classes.txt". */
static void labels_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_labels_config *config = values;
    bl_buffer_text(out, "one label a line");
    if (config->mapping)
        bl_buffer_printf(out, ", numbered by %s", bl_path_name(config->mapping));
}

static const struct bl_kind_scan labels_scan = {
    .sampling = labels_sampling,
    .count = labels_count,
};

static const struct bl_kind_read labels_read = {
    .memory = (int64_t)1 << 20,
    .fields = labels_fields,
    .open = labels_reader_open,
    .describe = labels_describe,
};

const struct bl_kind bl_kind_labels = {
    .name = "labels",
    .title = "Labels",
    .steps = "lines",
    .extensions = extensions,
    .is_fallback = true,
    .options = {.table = options,
                .config_size = sizeof(struct bl_labels_config),
                .prepare = labels_prepare,
                .release = labels_release,
                .identify = labels_identify},
    .scan = &labels_scan,
    .read = &labels_read,
};
