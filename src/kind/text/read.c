/* Reading text: the open files of the spool, the index that finds a document in them, and the reader, which takes steps
 * from the spool or, of flat files of ids, from the files themselves.
 *
 * A piece takes these steps: bl_spool_index_find (path and offset of the row give the chunk and the place in it),
 * reader_open_spool (the chunk gives a descriptor), bl_spool_read (the bytes, compared with their checksums). For a
 * flat file of ids reader_read_tokens does the last two. All workers share the index, which does not change once they
 * run, and the table of descriptors, which uses atomic operations instead of a lock. Each worker has its own reader. */
#include "kind/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/checksum.h"
#include "base/input_file.h"
#include "kind/input_stat.h"
#include "kind/text/config.h"
#include "kind/text/options.h"
#include "kind/text/spool.h"
#include "kind/text/token_file.h"

/* --- spool files -------------------------------------------------------------------------------------------------- */

/* Two threads may open the same file at the same time. The compare-and-exchange lets one of them put its descriptor
 * into the table; the other one closes its own and takes that from the table. */
int bl_spool_files_get(struct bl_spool_files *f, size_t i, const char *dir, const char *url, uint64_t key, bool *held,
                       struct bl_error *e)
{
    int none = -1, fd = atomic_load(&f->descriptor[i]);
    bool is_copy;
    *held = true;
    if (fd >= 0)
        return fd;
    fd = bl_spool_open(dir, url, key, &is_copy, e);
    if (fd < 0)
        return fd;
    if (is_copy) {
        *held = false;
        return fd;
    }
    if (atomic_fetch_sub(&f->left, 1) <= 0) {
        atomic_fetch_add(&f->left, 1);
        *held = false;
        return fd;
    }
    if (atomic_compare_exchange_strong(&f->descriptor[i], &none, fd))
        return fd;
    close(fd); /* another thread was first */
    atomic_fetch_add(&f->left, 1);
    return none;
}

/* A descriptor that is closed gives its place back to the limit. */
void bl_spool_files_close(struct bl_spool_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        int fd = atomic_exchange(&f->descriptor[i], -1);
        if (fd < 0)
            continue;
        close(fd);
        atomic_fetch_add(&f->left, 1);
    }
}

/* --- spool index -------------------------------------------------------------------------------------------------- */

/* The state of adding the rows of a chunk. */
struct adding {
    struct bl_spool_index *index;
    const struct bl_chunk *chunk;
    int input;     /* of the last row, or -1 before the first row */
    int64_t bytes; /* of the chunk's steps so far, with their checksums; or the steps, if it has rows alone */
};

/* Paths are compared by their hashes alone: that any two of a million files share a hash of 64 bits has a probability
 * of 3e-8. */
static uint64_t path_hash(const char *path)
{
    return XXH3_64bits(path, strlen(path));
}

/* Returns the file with this hash of its path, or NULL. The index owns it. */
static struct bl_spool_file *file_find(const struct bl_spool_index *p, uint64_t hash)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&p->by_path, hash); bl_hash_next(&p->by_path, &probe, &number);) {
        if (p->file[number].hash == hash)
            return &p->file[number];
    }
    return NULL;
}

/* Adds the document of an ok row. Other rows have no steps. */
static int adding_row(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    struct adding *a = context;
    struct bl_spool_index *p = a->index;
    if (row->status != BL_ROW_OK)
        return BL_OK;
    /* Rows of an input follow each other, so a change of the input begins a segment: of a new file, or of the next part
     * of the last file. The segments of a file follow each other, since chunks come in the order of the files. */
    if (input != a->input) {
        uint64_t hash = path_hash(a->chunk->input[input].path);
        BL_TRY(BL_ARRAY_RESERVE(p->segment, p->segments_capacity, p->segments + 1, e));
        struct bl_spool_file *file = file_find(p, hash);
        if (!file) {
            BL_TRY(BL_ARRAY_RESERVE(p->file, p->files_capacity, p->files + 1, e));
            BL_TRY(bl_hash_add(&p->by_path, hash, p->files, e));
            file = &p->file[p->files++];
            *file = (struct bl_spool_file){hash, p->segments, 0};
        }
        file->segments++;
        p->segment[p->segments++] = (struct bl_spool_segment){p->keys - 1, p->documents, 0, a->bytes};
        a->input = input;
    }
    BL_TRY(BL_ARRAY_RESERVE(p->document, p->documents_capacity, p->documents + 1, e));
    p->document[p->documents++] = (struct bl_spool_document){row->offset, a->bytes, row->content};
    struct bl_spool_segment *segment = &p->segment[p->segments - 1];
    a->bytes += bytes ? bl_spool_stored(bytes) : row->length;
    segment->count++;
    segment->end = a->bytes;
    return BL_OK;
}

/* The receipt of a chunk is its key in the spool. Only one thread may call this function, before the workers start: it
 * may move the array of descriptors. The spool takes at most half of the descriptors that the process may have; the
 * others are left for other files. */
int bl_spool_index_add(struct bl_spool_index *p, const char *dir, const struct bl_chunk *chunk, struct bl_error *e)
{
    struct adding a = {.index = p, .chunk = chunk, .input = -1};
    BL_TRY(BL_ARRAY_RESERVE(p->key, p->keys_capacity, p->keys + 1, e));
    if (!p->files_open && !(p->files_open = calloc(1, sizeof *p->files_open)))
        return bl_error_memory(e);
    struct bl_spool_files *f = p->files_open;
    BL_TRY(BL_ARRAY_RESERVE(f->descriptor, f->capacity, f->count + 1, e));
    if (!f->count)
        atomic_init(&f->left, sysconf(_SC_OPEN_MAX) / 2);
    atomic_init(&f->descriptor[f->count++], -1);
    p->key[p->keys++] = chunk->receipt;
    return bl_spool_each(dir, chunk->receipt, chunk->inputs, adding_row, &a, e);
}

void bl_spool_index_free(struct bl_spool_index *p)
{
    if (p->files_open) {
        bl_spool_files_close(p->files_open);
        free(p->files_open->descriptor);
    }
    free(p->files_open);
    free(p->key);
    free(p->segment);
    free(p->document);
    free(p->file);
    bl_hash_free(&p->by_path);
    *p = (struct bl_spool_index){0};
}

/* Returns the index of the document at offset among those of a segment, or, if there is none, of one before or after
 * it.
 *
 * A binary search would touch memory all over the segment. The documents are about equally long, so the index is
 * interpolated first: each guess is off by about the square root of the error of the guess before. Then steps of 4, 8,
 * 16 ... find bounds around offset, and a binary search between these bounds ends it. */
static size_t segment_find_document(const struct bl_spool_document *document, size_t count, int64_t offset)
{
    double span = (double)document[count - 1].offset - (double)document[0].offset;
    double per_byte = span > 0 ? (double)(count - 1) / span : 0;
    size_t low = 0, high = count, step;
    for (int guess = 0; guess < 3; guess++) {
        double at = (double)low + ((double)offset - (double)document[low].offset) * per_byte;
        low = at <= 0 ? 0 : at >= (double)(count - 1) ? count - 1 : (size_t)at;
    }
    for (step = 4; low && document[low].offset > offset; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    for (step = 4; high - low > step && document[low + step].offset <= offset; step *= 2)
        low += step;
    high = high - low > step ? low + step : high;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (document[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The end of a document is the start of the next one in its segment, so that the index stores no length. */
bool bl_spool_index_find(const struct bl_spool_index *p, const char *path, int64_t offset,
                         struct bl_spool_location *location)
{
    const struct bl_spool_file *file = file_find(p, path_hash(path));
    if (!file)
        return false;
    /* The last of the file's segments that begins at or before offset, or the first one if none does: the chunks of a
     * large file are its segments. */
    size_t low = 0, high = file->segments;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->document[p->segment[file->segment + middle].first].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    const struct bl_spool_segment *segment = &p->segment[file->segment + low];
    const struct bl_spool_document *document = p->document + segment->first;
    size_t at = segment_find_document(document, segment->count, offset);
    if (document[at].offset != offset)
        return false;
    location->chunk = segment->chunk;
    location->start = document[at].start;
    location->content = document[at].content;
    location->steps = (at + 1 < segment->count ? document[at + 1].start : segment->end) - location->start;
    location->bytes = bl_spool_plain(location->steps);
    return true;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

#define AHEAD_MAX 8       /* files of the spool in a store that are fetched before they are needed */
#define OPEN_FILES_MAX 64 /* of the spool, for each worker, beside those that all share; and of flat files of ids */
#define IDS_MAX 4096      /* ids that are read at once: 16 KiB on the stack */

/* A flat file of ids that a reader keeps open. */
struct open_tokens {
    char *path; /* NULL: none */
    struct bl_token_file file;
};

/* The reader of one worker. It owns the descriptors in file and the files in tokens; the rest belongs to its caller. */
struct text_reader {
    struct bl_reader base;
    const struct bl_text_config *config;
    const struct bl_text_prepared *prepared;
    const struct bl_kind_env *env;
    const struct bl_fields *fields;
    struct bl_spool_window window; /* the units of the spool that were read last */
    struct {
        uint64_t key;
        int fd; /* -1: none */
    } file[OPEN_FILES_MAX];
    struct open_tokens tokens[OPEN_FILES_MAX];
    size_t announced, announced_end; /* chunks whose steps are fetched ahead, if the spool is in a store */
};

/* Closes the file, if it is open. */
static void tokens_close(struct open_tokens *open)
{
    if (open->path)
        bl_token_file_close(&open->file);
    free(open->path);
    open->path = NULL;
}

/* Has the steps of chunks from first on, as far as there are any before end, fetched ahead, and no others. */
static void reader_announce(struct text_reader *r, size_t first, size_t end)
{
    const uint64_t *key = r->prepared->spool_index.key;
    size_t keys = r->prepared->spool_index.keys;
    for (; r->announced < r->announced_end && (r->announced < first || r->announced_end > end); r->announced++)
        bl_spool_announce(r->env->spool_url, key[r->announced], false);
    if (r->announced == r->announced_end)
        r->announced = r->announced_end = first;
    for (; r->announced_end < end && r->announced_end < keys; r->announced_end++)
        bl_spool_announce(r->env->spool_url, key[r->announced_end], true);
}

/* Closes the files of the reader; those of the shared table stay open. */
static void text_reader_close(struct bl_reader *reader)
{
    struct text_reader *r = (struct text_reader *)reader;
    if (r->env->spool_url)
        reader_announce(r, 0, 0);
    for (int i = 0; i < OPEN_FILES_MAX; i++) {
        if (r->file[i].fd >= 0)
            close(r->file[i].fd);
        tokens_close(&r->tokens[i]);
    }
    free(r);
}

/* Returns the descriptor of the steps of a chunk, or an error code. The descriptor belongs to the table that all
 * workers share or, once that table has reached its limit, to the reader: then the number of the chunk gives the place
 * in r->file, and the file that was there is closed. A reader has one copy of a file in a store at a time.
 * *dir: where the file is. */
static int reader_open_spool(struct text_reader *r, size_t chunk, const char **dir, struct bl_error *e)
{
    const struct bl_spool_index *index = &r->prepared->spool_index;
    uint64_t key = index->key[chunk];
    size_t at = r->env->spool_url ? 0 : chunk % OPEN_FILES_MAX;
    bool held;
    *dir = r->env->spool_url ? r->env->spool_url : r->env->spool;
    if (r->file[at].fd >= 0 && r->file[at].key == key)
        return r->file[at].fd;
    if (r->env->spool_url)
        reader_announce(r, chunk, chunk + AHEAD_MAX);
    int fd = bl_spool_files_get(index->files_open, chunk, r->env->spool, r->env->spool_url, key, &held, e);
    *dir = held ? r->env->spool : *dir;
    if (fd < 0 || held)
        return fd;
    if (r->file[at].fd >= 0)
        close(r->file[at].fd);
    r->file[at].key = key;
    return r->file[at].fd = fd;
}

/* Returns an error for a document that differs from its row. BL_EFAIL: the file changed since the scan; BL_EDATA: it
 * has the size of the scan, so the table is wrong. length: tokens found. */
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

/* Returns BL_EFAIL for a document whose content is not that of the scan, in a file of the same size. */
static int row_report_change(const struct bl_row *row, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s changed since the scan: the document at byte %" PRId64 " is another one",
                        row->path, row->offset > 0 ? row->offset : 0);
}

/* Opens the file of a row, unless it is open: *t belongs to the reader. It must have the size of the scan, and the time
 * of change that it had when it was opened. The hash of the path gives the place in r->tokens. */
static int reader_open_tokens(struct text_reader *r, const struct bl_row *row, const struct bl_token_file **t,
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
    if (bl_input_file_restat(&open->file.file, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", row->path);
    if ((row->bytes >= 0 && was->st_size != row->bytes) || status.st_mtim.tv_sec != was->st_mtim.tv_sec ||
        status.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        return bl_error_set(e, BL_EFAIL, "%s changed since the scan", row->path);
    *t = &open->file;
    return BL_OK;
}

/* Writes ids as values of the field, 32 bits or, if narrow, 16 bits each. False: an id is too large for 16 bits. */
static bool reader_put_ids(const int32_t *id, size_t count, bool narrow, uint8_t *out)
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

/* Writes those marks that lie within the requested steps. first: the step of the first mark. */
static void marks_put(const struct text_reader *r, const struct bl_document_marks *marks, int64_t first,
                      const struct bl_request *request)
{
    for (int i = 0; i < marks->count; i++) {
        int64_t at = first + i - request->source_start;
        if (at >= 0 && at < request->steps)
            (void)reader_put_ids(&marks->id[i], 1, r->config->common.dtype,
                                 request->out[0] + (size_t)at * r->prepared->step_bytes);
    }
}

/* Reads the piece from the file itself. steps: of the document, at the scan. Steps of the row count the marks of --bos
 * and --eos, which are not in the file: source_start - begin is the number of the token in the file. */
static int reader_read_tokens(struct text_reader *r, const struct bl_request *request, bool found, int64_t steps,
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
    BL_TRY(reader_open_tokens(r, row, &t, e));
    int64_t at = row->offset < 0 ? t->begin : row->offset, size = (int64_t)t->type.size;
    if (at < t->begin || at > t->end || (at - t->begin) % size || tokens < 0 || tokens > (t->end - at) / size)
        return row_report_change(row, e);
    /* The piece may begin with marks; the tokens of the file then follow behind them. */
    int64_t skipped = first < 0 ? -first : 0;
    first = first < 0 ? 0 : first;
    end = end > tokens ? tokens : end;
    marks_put(r, before, 0, request);
    marks_put(r, behind, row->length - behind->count, request);
    int32_t id[IDS_MAX];
    struct bl_checksum_state sum;
    bl_checksum_begin(&sum);
    for (int64_t done = first; done < end; done += IDS_MAX) {
        size_t ids = end - done < IDS_MAX ? (size_t)(end - done) : IDS_MAX;
        BL_TRY(bl_token_file_read(t, row->path, at + done * size, (int64_t)ids, id, e));
        uint8_t *out = request->out[0] + (size_t)(skipped + done - first) * r->prepared->step_bytes;
        if (!reader_put_ids(id, ids, r->config->common.dtype, out))
            return row_report_change(row, e);
        bl_checksum_add(&sum, id, ids * sizeof *id);
    }
    /* A whole document is compared with the content hash of the scan, which is 0 if it is not known: the scan stores 1
     * instead of 0. */
    uint64_t content = bl_checksum_end(&sum);
    bool is_whole = end > first && end - first == tokens;
    return is_whole && row->content && (content ? content : 1) != row->content ? row_report_change(row, e) : BL_OK;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Reads a piece, as in struct bl_reader. A content hash that differs from that of the row shows a table of an earlier
 * scan, whose documents may begin at other offsets. */
static int text_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                             struct bl_error *e)
{
    (void)note;
    struct text_reader *r = (struct text_reader *)reader;
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
    const char *dir;
    int fd = reader_open_spool(r, place.chunk, &dir, e);
    if (fd < 0)
        return fd;
    const struct bl_spool_steps steps = {
        dir, r->prepared->spool_index.key[place.chunk], fd, place.start, place.bytes,
    };
    /* The steps of a document: field after field. */
    int64_t at = 0;
    for (int f = 0; f < r->fields->count; f++) {
        int64_t step = (int64_t)bl_field_step_bytes(&r->fields->field[f]);
        BL_TRY(bl_spool_read(&r->window, &steps, at + request->source_start * step, request->out[f],
                             (size_t)(request->steps * step), e));
        at += row->length * step;
    }
    return BL_OK;
}

/* The reader opens files only when a piece needs them. It refers to config, env and fields, which outlive it. */
int bl_text_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                 struct bl_reader **reader, struct bl_error *e)
{
    const struct bl_text_config *text = config;
    struct text_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){text_reader_piece, text_reader_close};
    r->config = text;
    r->prepared = &text->prepared;
    r->env = env;
    r->fields = fields;
    for (int i = 0; i < OPEN_FILES_MAX; i++)
        r->file[i].fd = -1;
    *reader = &r->base;
    return BL_OK;
}
