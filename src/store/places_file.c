/* rows.safetensors: writing the places and mapping them. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "base/output.h"
#include "base/path.h"
#include "store/places.h"

#define TABLES_MAX (BL_ATTRIBUTES_MAX + 6)
#define CHUNK 4096 /* values converted at a time */

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* A table to be written: data, or the column of an attribute. */
struct table {
    struct bl_tensor tensor;
    const void *data;
    int attribute; /* -1: data */
};

struct tables {
    struct table table[TABLES_MAX];
    int count;
};

static void tables_add(struct tables *t, const char *name, enum bl_dtype dtype, int64_t size, const void *data,
                       int attribute)
{
    struct table *table = &t->table[t->count++];
    *table =
        (struct table){.tensor = {.dtype = dtype, .rank = 1, .shape = {size}}, .data = data, .attribute = attribute};
    snprintf(table->tensor.name, sizeof table->tensor.name, "%s%s", attribute < 0 ? "" : BL_PLACES_ATTRIBUTE, name);
}

static int attribute_write(struct bl_output *out, const struct bl_attribute_values *values, int attribute, int64_t rows,
                           struct bl_error *e)
{
    int64_t chunk[CHUNK];
    int code = BL_OK;
    for (int64_t row = 0; row < rows && !code;) {
        size_t n = 0;
        for (; n < CHUNK && row < rows; n++, row++)
            chunk[n] = values->value[row * values->count + attribute];
        code = bl_output_write(out, chunk, n * sizeof *chunk, e);
    }
    return code;
}

static int tables_write(struct tables *t, struct bl_output *out, const struct bl_attribute_values *values, int64_t rows,
                        struct bl_error *e)
{
    const struct bl_metadata metadata[] = {{"bload_format", "1"}};
    struct bl_tensor *order[TABLES_MAX];
    const struct bl_tensor *placed[TABLES_MAX];
    struct bl_buffer header = {0};
    for (int i = 0; i < t->count; i++)
        placed[i] = order[i] = &t->table[i].tensor;
    int code = bl_safetensors_place(order, t->count, e);
    if (!code)
        code = bl_safetensors_header(placed, t->count, metadata, 1, &header, e);
    if (!code)
        code = bl_output_write(out, header.data, header.size, e);
    for (int i = 0; i < t->count && !code; i++) {
        const struct table *table = &t->table[i];
        size_t size = (size_t)(table->tensor.end - table->tensor.begin);
        code = table->attribute < 0 ? bl_output_write(out, table->data, size, e)
                                    : attribute_write(out, values, table->attribute, rows, e);
    }
    bl_buffer_free(&header);
    return code;
}

int bl_places_write(const struct bl_places *p, const char *dir, const struct bl_format *format,
                    const struct bl_attribute_values *values, const int64_t *renamed, size_t renamed_count,
                    struct bl_error *e)
{
    struct tables tables = {.count = 0};
    struct bl_output out = {0};
    tables_add(&tables, "block", BL_I64, p->parts, p->block, -1);
    if (p->row_ptr)
        tables_add(&tables, "row_ptr", BL_I64, p->rows + 1, p->row_ptr, -1);
    if (p->source_start)
        tables_add(&tables, "source_start", BL_I64, p->parts, p->source_start, -1);
    for (int a = 0; a < format->attributes; a++)
        tables_add(&tables, format->attribute[a].name, format->attribute[a].dtype, p->rows, NULL, a);
    if (renamed_count)
        tables_add(&tables, "renamed", BL_I64, (int64_t)renamed_count, renamed, -1);
    tables_add(&tables, "length", BL_I32, p->parts, p->length, -1);
    tables_add(&tables, "start", BL_I32, p->parts, p->start, -1);
    char *path = bl_path_join(dir, BL_PLACES_FILE);
    int code = path ? bl_output_own(&out, path, e) : bl_error_memory(e);
    if (!code)
        code = tables_write(&tables, &out, values, p->rows, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    free(path);
    return code;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Maps the file. A file without a header is refused. */
static int places_map(struct bl_places *p, const char *path, struct bl_error *e)
{
    struct stat status;
    int fd = bl_regular_open(path, e), code = BL_OK;
    if (fd < 0)
        return fd;
    if (fstat(fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    else if (status.st_size < BL_SAFETENSORS_PREFIX)
        code = bl_error_set(e, BL_EDATA, "%s is too short for a safetensors file", path);
    if (code)
        goto out;
    p->map_size = (size_t)status.st_size;
    p->map = mmap(NULL, p->map_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p->map == MAP_FAILED) {
        p->map = NULL;
        code = bl_error_errno(e, BL_EFAIL, "cannot map %s", path);
    }
out:
    close(fd);
    return code;
}

/* The values of a table of `size` elements (-1: any number, which *found says); NULL: there is none of that type. */
static const void *places_table(const struct bl_places *p, const struct bl_safetensors *file, const char *name,
                                enum bl_dtype dtype, int64_t size, int64_t *found)
{
    const struct bl_tensor *t = bl_safetensors_find(file, name);
    if (!t || t->dtype != dtype || t->rank != 1 || (size >= 0 && t->shape[0] != size) ||
        (file->data + t->begin) % (int64_t)bl_dtype_size(dtype))
        return NULL;
    if (found)
        *found = t->shape[0];
    return (const char *)p->map + file->data + t->begin;
}

static int places_find_tables(struct bl_places *p, const struct bl_safetensors *file, const struct bl_manifest *m,
                              struct bl_error *e)
{
    const struct bl_format *format = &m->format;
    char name[BL_TENSOR_NAME_MAX];
    p->rows = m->rows;
    p->block = places_table(p, file, "block", BL_I64, -1, &p->parts);
    p->start = places_table(p, file, "start", BL_I32, p->parts, NULL);
    p->length = places_table(p, file, "length", BL_I32, p->parts, NULL);
    p->row_ptr = places_table(p, file, "row_ptr", BL_I64, p->rows + 1, NULL);
    p->source_start = places_table(p, file, "source_start", BL_I64, p->parts, NULL);
    p->renamed = places_table(p, file, "renamed", BL_I64, -1, &p->renamed_count);
    if (!p->block || !p->start || !p->length || (!p->row_ptr && p->parts != p->rows))
        return bl_error_set(e, BL_EDATA, "a table is missing, or has a wrong type or size");
    for (int a = 0; a < format->attributes; a++) {
        snprintf(name, sizeof name, BL_PLACES_ATTRIBUTE "%s", format->attribute[a].name);
        p->attribute[a] = places_table(p, file, name, format->attribute[a].dtype, p->rows, NULL);
        if (!p->attribute[a])
            return bl_error_set(e, BL_EDATA, "the table \"%s\" is missing, or has a wrong type or size", name);
    }
    return BL_OK;
}

int bl_places_open(struct bl_places *p, const char *dir, const struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_safetensors file = {0};
    int64_t data = 0;
    *p = (struct bl_places){0};
    char *path = bl_path_join(dir, BL_PLACES_FILE);
    int code = path ? places_map(p, path, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bl_safetensors_prefix(p->map, (int64_t)p->map_size, &data, e);
    if (!code)
        code = bl_safetensors_parse(p->map, (size_t)data, (int64_t)p->map_size, &file, e);
    if (!code)
        code = places_find_tables(p, &file, manifest, e);
    if (code)
        bl_error_prefix(e, "%s", path);
out:
    bl_safetensors_free(&file);
    free(path);
    if (code)
        bl_places_free(p);
    return code;
}
