#include "base/input_file.h"
#include "kind/text/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "kind/input_stat.h"
#include "kind/text/config.h"
#include "kind/text/options.h"
#include "kind/text/spool.h"
#include "kind/text/token_file.h"

#define OPEN_FILES_MAX 64 /* of the spool, for each worker, beside those that all share; and of flat files of ids */
#define IDS_MAX 4096      /* that are read at once */

/* A flat file of ids. */
struct open_tokens {
    char *path; /* NULL: none */
    struct bl_token_file file;
};

struct bl_reader {
    const struct bl_text_config *config;
    const struct bl_text_prepared *prepared;
    const struct bl_kind_env *env;
    const struct bl_fields *fields;
    struct bl_spool_window window;
    struct {
        uint64_t key;
        int fd; /* -1: none */
    } file[OPEN_FILES_MAX];
    struct open_tokens tokens[OPEN_FILES_MAX];
};

int bl_text_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                 struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_text_config *text = config;
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->config = text;
    r->prepared = &text->prepared;
    r->env = env;
    r->fields = fields;
    for (int i = 0; i < OPEN_FILES_MAX; i++)
        r->file[i].fd = -1;
    *reader = r;
    return BL_OK;
}

static void tokens_close(struct open_tokens *open)
{
    if (open->path)
        bl_token_file_close(&open->file);
    free(open->path);
    open->path = NULL;
}

void bl_text_close(struct bl_reader *r)
{
    for (int i = 0; i < OPEN_FILES_MAX; i++) {
        if (r->file[i].fd >= 0)
            close(r->file[i].fd);
        tokens_close(&r->tokens[i]);
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

/* --- flat files of ids ------------------------------------------------------------------------------------------ */

static int row_report_change(const struct bl_row *row, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s changed since the scan: the document at byte %" PRId64 " is another one",
                        row->path, row->offset > 0 ? row->offset : 0);
}

/* Opens the file of a row, unless it is open. It must have the size of the scan, and the time that it had when it was
 * opened. */
static int reader_open_tokens(struct bl_reader *r, const struct bl_row *row, const struct bl_token_file **t,
                              struct bl_error *e)
{
    struct open_tokens *open = &r->tokens[bl_content_hash(row->path, strlen(row->path)) % OPEN_FILES_MAX];
    struct stat status;
    if (!open->path || strcmp(open->path, row->path) != 0) {
        tokens_close(open);
        int code = bl_token_file_open(&open->file, &r->prepared->token_spec, row->path, e);
        if (code)
            return code == BL_EDATA ? row_report_mismatch(row, true, 0, e) : code;
        open->path = strdup(row->path);
        if (!open->path) {
            bl_token_file_close(&open->file);
            return bl_error_memory(e);
        }
    }
    const struct stat *was = &open->file.file.status;
    if (fstat(open->file.file.fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", row->path);
    if ((row->bytes >= 0 && was->st_size != row->bytes) || status.st_mtim.tv_sec != was->st_mtim.tv_sec ||
        status.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        return bl_error_set(e, BL_EFAIL, "%s changed since the scan", row->path);
    *t = &open->file;
    return BL_OK;
}

/* Puts ids as values of the field. */
static bool ids_put(const int32_t *id, size_t count, bool narrow, uint8_t *out)
{
    int32_t most = 0;
    if (!narrow) {
        memcpy(out, id, count * sizeof *id);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t value = (uint16_t)id[i];
        memcpy(out + i * sizeof value, &value, sizeof value);
        most = id[i] > most ? id[i] : most;
    }
    return most <= UINT16_MAX;
}

/* Reads count tokens of the document, of which the first is number `from`. all: they are all of it, and must have its
 * content. */
static int tokens_read(const struct bl_reader *r, const struct bl_token_file *t, const struct bl_row *row, int64_t from,
                       int64_t count, bool all, uint8_t *out, struct bl_error *e)
{
    int32_t id[IDS_MAX];
    struct bl_checksum_state sum;
    int64_t at = (row->offset < 0 ? t->begin : row->offset) + from * (int64_t)t->type.size;
    size_t step = r->prepared->step_bytes;
    bl_checksum_begin(&sum);
    for (int64_t done = 0; done < count; done += IDS_MAX) {
        size_t ids = count - done < IDS_MAX ? (size_t)(count - done) : IDS_MAX;
        int code = bl_token_file_read(t, row->path, at + done * (int64_t)t->type.size, (int64_t)ids, id, e);
        if (code)
            return code;
        if (!ids_put(id, ids, r->config->dtype, out + (size_t)done * step))
            return row_report_change(row, e);
        bl_checksum_add(&sum, id, ids * sizeof *id);
    }
    uint64_t content = bl_checksum_end(&sum);
    return all && row->content && (content ? content : 1) != row->content ? row_report_change(row, e) : BL_OK;
}

/* Puts the marks of those steps that are ones. first: the step of the first mark. */
static void marks_put(const struct bl_reader *r, const struct bl_document_marks *marks, int64_t first,
                      const struct bl_request *request)
{
    for (int i = 0; i < marks->count; i++) {
        int64_t at = first + i - request->source_start;
        if (at >= 0 && at < request->steps)
            (void)ids_put(&marks->id[i], 1, r->config->dtype, request->out[0] + (size_t)at * r->prepared->step_bytes);
    }
}

/* Reads the piece from the file itself. steps: of the document, at the scan. */
static int reader_read_tokens(struct bl_reader *r, const struct bl_request *request, bool found, int64_t steps,
                              struct bl_error *e)
{
    const struct bl_row *row = &request->row;
    const struct bl_token_file *t = NULL;
    /* The marks that the document does not have itself. */
    static const struct bl_document_marks none = {0};
    const struct bl_document_marks *before = bl_row_has_value(row, BL_TEXT_HAD_BOS, "1") ? &none : &r->prepared->begin;
    const struct bl_document_marks *behind = bl_row_has_value(row, BL_TEXT_HAD_EOS, "1") ? &none : &r->prepared->end;
    int64_t begin = before->count, tokens = row->length - begin - behind->count;
    int64_t first = request->source_start - begin, end = first + request->steps;
    if (!found || steps != row->length)
        return row_report_mismatch(row, found, steps, e);
    int code = reader_open_tokens(r, row, &t, e);
    if (code)
        return code;
    int64_t at = row->offset < 0 ? t->begin : row->offset, size = (int64_t)t->type.size;
    if (at < t->begin || at > t->end || (at - t->begin) % size || tokens < 0 || tokens > (t->end - at) / size)
        return row_report_change(row, e);
    int64_t skipped = first < 0 ? -first : 0;
    first = first < 0 ? 0 : first;
    end = end > tokens ? tokens : end;
    marks_put(r, before, 0, request);
    marks_put(r, behind, row->length - behind->count, request);
    if (end <= first)
        return BL_OK;
    return tokens_read(r, t, row, first, end - first, end - first == tokens,
                       request->out[0] + (size_t)skipped * r->prepared->step_bytes, e);
}

/* --- all else --------------------------------------------------------------------------------------------------- */

int bl_text_read(struct bl_reader *r, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    (void)note;
    const struct bl_row *row = &request->row;
    struct bl_spool_location place = {0};
    bool found = bl_spool_index_find(&r->prepared->spool_index, row->path, row->offset, &place);
    if (row->content && (!found || place.content != row->content)) {
        enum bl_text_format format = bl_text_format_of(r->config, row->path);
        if (row->offset < 0 && (format == BL_TEXT_JSON || format == BL_TEXT_CSV || format == BL_TEXT_TSV))
            return bl_error_set(
                e, BL_EFAIL,
                "%s is one sequence by the table, as earlier versions read it: scan again, or use that version",
                row->path);
        return row_report_change(row, e);
    }
    if (r->config->token_file)
        return reader_read_tokens(r, request, found, place.steps, e);
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
