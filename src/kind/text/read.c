#include "base/input_file.h"
#include "kind/text/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kind/text/config.h"
#include "kind/text/spool.h"

#define OPEN_FILES_MAX 64 /* of the spool, for each worker, beside those that all share */

struct bl_reader {
    const struct bl_text_prepared *prepared;
    const struct bl_kind_env *env;
    const struct bl_fields *fields;
    struct bl_spool_window window;
    struct {
        uint64_t key;
        int fd; /* -1: none */
    } file[OPEN_FILES_MAX];
};

int bl_text_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                 struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_text_config *text = config;
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->prepared = &text->prepared;
    r->env = env;
    r->fields = fields;
    for (int i = 0; i < OPEN_FILES_MAX; i++)
        r->file[i].fd = -1;
    *reader = r;
    return BL_OK;
}

void bl_text_close(struct bl_reader *r)
{
    for (int i = 0; i < OPEN_FILES_MAX; i++) {
        if (r->file[i].fd >= 0)
            close(r->file[i].fd);
    }
    free(r);
}

/* Opens the steps of a chunk, unless they are open. The descriptor, or a code. */
static int reader_open_spool(struct bl_reader *r, size_t chunk, struct bl_error *e)
{
    const struct bl_spool_index *index = &r->prepared->spool_index;
    uint64_t key = index->key[chunk];
    size_t at = chunk % OPEN_FILES_MAX;
    bool held;
    if (r->file[at].fd >= 0 && r->file[at].key == key)
        return r->file[at].fd;
    int fd = bl_spool_files_get(index->files_open, chunk, r->env->spool, key, &held, e);
    if (fd < 0 || held)
        return fd;
    if (r->file[at].fd >= 0)
        close(r->file[at].fd);
    r->file[at].key = key;
    return r->file[at].fd = fd;
}

/* The document is not what the table says: either the file changed since the scan, or the table is wrong. */
static int row_report_mismatch(const struct bl_row *row, bool found, int64_t length, struct bl_error *e)
{
    struct stat status;
    if (strcmp(row->path, "-") != 0 && bl_input_file_stat(row->path, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "%s is gone since the scan", row->path);
    if (strcmp(row->path, "-") != 0 && row->bytes >= 0 && status.st_size != row->bytes)
        return bl_error_set(e, BL_EFAIL, "%s changed since the scan: it has %" PRId64 " bytes, the table says %" PRId64,
                            row->path, (int64_t)status.st_size, row->bytes);
    if (!found)
        return bl_error_set(e, BL_EDATA, "no document begins there");
    return bl_error_set(e, BL_EDATA, "has %" PRId64 " tokens, the table says %" PRId64, length, row->length);
}

int bl_text_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    (void)note;
    const struct bl_row *row = &request->row;
    struct bl_spool_location place = {0};
    bool found = bl_spool_index_find(&r->prepared->spool_index, row->path, row->offset, &place);
    if (row->content && (!found || place.content != row->content))
        return bl_error_set(e, BL_EFAIL, "%s changed since the scan: the document at byte %" PRId64 " is another one",
                            row->path, row->offset > 0 ? row->offset : 0);
    int64_t length = place.bytes / (int64_t)r->prepared->step_bytes;
    if (!found || length != row->length)
        return row_report_mismatch(row, found, length, e);
    int fd = reader_open_spool(r, place.chunk, e);
    if (fd < 0)
        return fd;
    const struct bl_spool_steps steps = {
        r->env->spool, r->prepared->spool_index.key[place.chunk], fd, place.start, place.bytes,
    };
    /* The steps of a document: field after field. */
    int64_t at = 0;
    for (int f = 0; f < r->fields->count; f++) {
        int64_t step = (int64_t)bl_field_step_bytes(&r->fields->field[f]);
        int code = bl_spool_read(&r->window, &steps, at + request->source_start * step, request->out[f],
                                 (size_t)(request->steps * step), e);
        if (code)
            return code;
        at += row->length * step;
    }
    return BL_OK;
}
