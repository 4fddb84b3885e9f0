#include "store/index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "base/io.h"
#include "base/path.h"
#include "store/format.h"
#include "store/index_layout.h"
#include "store/jansson.h"
#include "store/safetensors.h"

#define CHUNK 4096 /* elements read at a time */

/* The tables must be those that follow from the number of blocks, of fields, and of the file's pieces. */
static int index_check_tables(struct bl_index *index, const struct bl_safetensors *file, struct bl_error *e)
{
    struct bl_tensor expected[BL_INDEX_TABLES];
    const struct bl_tensor *sequence = bl_safetensors_find(file, bl_index_table_types[BL_INDEX_SEQUENCE].name);
    index->pieces = sequence && sequence->rank == 1 ? sequence->shape[0] : 0;
    const struct bl_tensor *block_ptr = bl_safetensors_find(file, bl_index_table_types[BL_INDEX_BLOCK_PTR].name);
    if (!index->fields && !index->blocks && block_ptr && block_ptr->rank == 1 && block_ptr->shape[0] > 1)
        index->blocks = block_ptr->shape[0] - 1;
    int code = bl_index_place(expected, index->blocks, index->pieces, index->fields, e);
    if (code)
        return code;
    int skip = bl_index_first_table(index->fields);
    for (int t = skip; t < BL_INDEX_TABLES; t++) {
        const struct bl_tensor *found = bl_safetensors_find(file, expected[t].name);
        bool same = found && found->dtype == expected[t].dtype && found->rank == expected[t].rank &&
                    memcmp(found->shape, expected[t].shape, sizeof found->shape) == 0 &&
                    found->begin == expected[t].begin;
        if (!same)
            return bl_error_set(e, BL_EDATA, "table \"%s\" is missing, or has a wrong type, shape or place",
                                expected[t].name);
        index->offset[t] = file->data + expected[t].begin;
        index->offset[t + 1] = file->data + expected[t].end;
    }
    if (file->count != BL_INDEX_TABLES - skip)
        return bl_error_set(e, BL_EDATA, "unknown tables");
    return BL_OK;
}

/* Copies strings of __metadata__ from the header; "" where one is missing or too long. */
static int index_read_metadata(struct bl_index *index, const char *head, size_t size, struct bl_error *e)
{
    const struct {
        const char *name;
        char *out;
        size_t room;
    } members[] = {
        {"T", index->T, sizeof index->T},
        {"align", index->align, sizeof index->align},
        {"plan_digest", index->plan_digest, sizeof index->plan_digest},
        {"lengths_digest", index->table, sizeof index->table},
        {"words", index->plan_info, sizeof index->plan_info},
    };
    json_t *root = json_loadb(head + BL_SAFETENSORS_PREFIX, size - BL_SAFETENSORS_PREFIX, 0, NULL);
    if (!root)
        return bl_error_memory(e); /* it was parsed before */
    const json_t *metadata = json_object_get(root, "__metadata__");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *text = json_string_value(json_object_get(metadata, members[i].name));
        snprintf(members[i].out, members[i].room, "%s", text && strlen(text) < members[i].room ? text : "");
    }
    json_decref(root);
    return BL_OK;
}

static int index_read_header(struct bl_index *index, struct bl_error *e)
{
    struct stat status;
    char prefix[BL_SAFETENSORS_PREFIX], *head = NULL;
    struct bl_safetensors file = {0};
    int64_t data = 0;
    if (fstat(index->fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat");
    if (status.st_size < BL_SAFETENSORS_PREFIX)
        return bl_error_set(e, BL_EDATA, "too short for a safetensors file");
    int code = bl_io_pread(index->fd, prefix, sizeof prefix, 0, index->path, e);
    if (code)
        goto out;
    code = bl_safetensors_prefix(prefix, status.st_size, &data, e);
    if (code)
        goto out;
    if (!(head = malloc((size_t)data)))
        code = bl_error_memory(e);
    if (code)
        goto out;
    code = bl_io_pread(index->fd, head, (size_t)data, 0, index->path, e);
    if (code)
        goto out;
    code = bl_safetensors_parse(head, (size_t)data, status.st_size, &file, e);
    if (code)
        goto out;
    code = index_check_tables(index, &file, e);
    if (code)
        goto out;
    code = index_read_metadata(index, head, (size_t)data, e);
out:
    bl_safetensors_free(&file);
    free(head);
    return code;
}

/* Opens the file at index->path. On error *index is closed. */
static int index_open_path(struct bl_index *index, struct bl_error *e)
{
    int code = BL_OK;
    index->fd = bl_regular_open(index->path, e);
    if (index->fd < 0)
        code = index->fd;
    else if ((code = index_read_header(index, e)))
        bl_error_prefix(e, "%s", index->path);
    if (code)
        bl_index_close(index);
    return code;
}

int bl_index_open(struct bl_index *index, const char *dir, int64_t blocks, int fields, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .path = bl_path_join(dir, BL_INDEX_FILE), .blocks = blocks, .fields = fields};
    return index->path ? index_open_path(index, e) : bl_error_memory(e);
}

int bl_index_open_plan(struct bl_index *index, const char *path, struct bl_error *e)
{
    *index = (struct bl_index){.fd = -1, .path = strdup(path)};
    return index->path ? index_open_path(index, e) : bl_error_memory(e);
}

int bl_index_check_plan(const struct bl_index *index, const char *digest, struct bl_error *e)
{
    if (strcmp(index->plan_digest, digest) == 0)
        return BL_OK;
    return bl_error_set(e, BL_EDATA, "%s: its plan has the digest %s, the manifest says %s: it is another dataset's",
                        index->path, *index->plan_digest ? index->plan_digest : "(none)", digest);
}

void bl_index_close(struct bl_index *index)
{
    if (index->fd >= 0)
        close(index->fd); /* opened for reading only: there is nothing to lose */
    free(index->path);
    *index = (struct bl_index){.fd = -1};
}

int bl_index_read(const struct bl_index *index, enum bl_index_table table, int64_t first, int64_t count, void *out,
                  struct bl_error *e)
{
    int64_t size = (int64_t)bl_dtype_size(bl_index_table_types[table].dtype);
    int64_t elements = (index->offset[table + 1] - index->offset[table]) / size;
    if (first < 0 || count < 0 || first > elements || count > elements - first)
        return bl_error_set(e, BL_EUSAGE, "the table \"%s\" has no elements %" PRId64 " to %" PRId64,
                            bl_index_table_types[table].name, first, first + count);
    return bl_io_pread(index->fd, out, (size_t)(count * size), index->offset[table] + first * size, index->path, e);
}

int bl_index_plan_digest(const struct bl_index *index, int64_t T, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    bl_checksum_add(&sum, &T, sizeof T);
    char chunk[CHUNK * sizeof(int64_t)];
    int64_t at = index->offset[BL_INDEX_BLOCK_PTR], end = index->offset[BL_INDEX_TABLES];
    int code = BL_OK;
    while (at < end && !code) {
        size_t part = end - at < (int64_t)sizeof chunk ? (size_t)(end - at) : sizeof chunk;
        code = bl_io_pread(index->fd, chunk, part, at, index->path, e);
        if (!code)
            bl_checksum_add(&sum, chunk, part);
        at += (int64_t)part;
    }
    bl_checksum_format(bl_checksum_end(&sum), digest);
    return code;
}
