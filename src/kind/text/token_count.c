/* Counting flat files of token ids: each document becomes a row. An index or a mark shows where a document ends.
 *
 * A file is read once, in windows of ids, and no document is in memory as a whole. With eos=0, these ids of u16 are two
 * documents, at bytes 0 and 6, and the second one is not marked:
 *
 *     15 27 0 8 9
 *
 * A file with an index is counted by one thread. A file with marks may be divided: the chunk that has the first byte of
 * a document counts the document, and reads on behind its end for the rest. */
#include "kind/text/token_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/io.h"
#include "kind/text/npy_ids.h"

/* Ids that are read at once: 64 KiB to 256 KiB of a file, of which a disk reads one as fast as several smaller pieces.
 */
#define WINDOW_IDS ((size_t)1 << 15)

/* --- index of documents ------------------------------------------------------------------------------------------- */

/* An index of documents: the number of tokens before the end of each document, in 64 bits, or the entries of an .idx
 * file of Megatron. The index owns pair and file. */
struct index {
    struct bl_megatron_documents *pair; /* or NULL: */
    const struct bl_token_file *t;      /* of the ids */
    struct bl_input_file file;
    int64_t count; /* documents */
    struct bl_id_table table;
};

/* Finds the byte of the file at which document i ends. An entry with more tokens than the file has gives a byte behind
 * the end of the file, which index_open reports: the multiplication must not overflow. */
static int index_find_end(struct index *x, int64_t i, int64_t *end, struct bl_error *e)
{
    int64_t tokens = 0, size = (int64_t)x->t->type.size, all = (x->t->end - x->t->begin) / size;
    if (x->pair) {
        int code = bl_megatron_documents_end(x->pair, i, end, e);
        *end += x->t->begin;
        return code;
    }
    BL_TRY(bl_id_table_read(&x->table, &x->file, x->t->index, i, &tokens, e));
    *end = x->t->begin + (tokens <= all ? tokens : all + 1) * size;
    return BL_OK;
}

/* Opens the index, and checks that the documents follow each other without gaps, up to the end of the ids. The caller
 * closes it, also after an error. sequences: each sequence of Megatron is a document. BL_EDATA: the index is damaged.
 */
static int index_open(struct index *x, const struct bl_token_file *t, bool sequences, const struct bl_cancel *cancel,
                      struct bl_error *e)
{
    *x = (struct index){.t = t, .file.fd = -1};
    if (t->is_pair) {
        int code = bl_megatron_documents_open(&x->pair, t->index, t->end - t->begin, sequences, cancel, e);
        if (!code && x->pair)
            x->count = bl_megatron_documents_count(x->pair);
        return code;
    }
    /* An index of datatrove has numbers of 64 bits, and nothing else. */
    if (bl_input_file_open(&x->file, t->index) != 0)
        return bl_opener_fail("cannot open", x->t->index, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, e);
    int64_t bytes = x->file.status.st_size;
    if (!S_ISREG(x->file.status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    x->table.type = (struct bl_id_number){8, false, false};
    x->table.count = x->count = bytes / 8;
    if (bytes % 8)
        return bl_error_set(e, BL_EDATA, "byte %" PRId64 ": cut off: an entry has 8 bytes", bytes - bytes % 8);
    int64_t size = (int64_t)t->type.size, before = t->begin, end = before;
    for (int64_t i = 0; i < x->count; i++, before = end) {
        if (i % BL_ID_TABLE_WINDOW == 0 && bl_cancelled(cancel))
            return BL_ECANCEL;
        BL_TRY(index_find_end(x, i, &end, e));
        if (end > t->end)
            return bl_error_set(e, BL_EDATA,
                                "byte %" PRId64 ": document %" PRId64 " ends behind the last of the %" PRId64 " tokens",
                                8 * i, i, (t->end - t->begin) / size);
        if (end < before)
            return bl_error_set(e, BL_EDATA,
                                "byte %" PRId64 ": document %" PRId64 " ends at token %" PRId64
                                ", and the one before at %" PRId64,
                                8 * i, i, (end - t->begin) / size, (before - t->begin) / size);
    }
    if (end == t->end)
        return BL_OK;
    return bl_error_set(e, BL_EDATA,
                        "byte %" PRId64 ": the last document ends at token %" PRId64 ", and there are %" PRId64,
                        x->count ? 8 * (x->count - 1) : 0, (end - t->begin) / size, (t->end - t->begin) / size);
}

/* --- counting --------------------------------------------------------------------------------------------------- */

/* The state of reading a file document by document. */
struct id_scan {
    struct bl_item *item;
    const struct bl_token_file *t;
    const struct bl_token_spec *spec;
    const struct bl_chunk *chunk;
    const struct bl_cancel *cancel;
    const char *path;
    int64_t before; /* bytes of the inputs before this file, minus the begin of the chunk, for the meter */
    int64_t max;    /* the largest id */
    bl_item_emit *emit;
    void *context;
    /* The window: ids that are in memory. */
    int64_t first; /* byte of the file */
    size_t count;
    bool is_right; /* all of them are ids */
    int32_t id[WINDOW_IDS];
    uint8_t raw[WINDOW_IDS * 8];
};

/* A document that was read. */
struct token_document {
    int64_t begin, end; /* bytes */
    bool is_marked;     /* it has the mark that ends it, or begins it */
    bool is_whole_file; /* by no rule: nothing divides the file */
    int64_t empties;    /* documents without tokens that an index has beside it */
    int32_t head, last; /* its first and its last id */
    int64_t wrong;      /* byte of the first number that is no id, or -1 */
    int64_t number;     /* that */
    uint64_t content;
};

/* Gives the ids from byte `at` on, which must not be the end: *id and *count of them, at least one. They are in the
 * window until the next call. */
static int scan_ids(struct id_scan *s, int64_t at, const int32_t **id, size_t *count, struct bl_error *e)
{
    int64_t size = (int64_t)s->t->type.size, ids = (at - s->first) / size;
    if (at < s->first || ids >= (int64_t)s->count) {
        int64_t left = (s->t->end - at) / size;
        size_t take = left < (int64_t)WINDOW_IDS ? (size_t)left : WINDOW_IDS;
        if (bl_cancelled(s->cancel))
            return BL_ECANCEL;
        bl_meter_report(s->chunk->meter, s->before + at);
        BL_TRY(bl_input_file_get(&s->t->file, s->raw, take * (size_t)size, at, s->path, e));
        s->is_right = bl_token_ids(&s->t->type, s->raw, take, s->max, s->id);
        s->first = at;
        s->count = take;
        ids = 0;
    }
    *id = s->id + ids;
    *count = s->count - (size_t)ids;
    return BL_OK;
}

/* Returns the index of the first id that equals wanted, or count. It compares whole groups so that the compiler can
 * vectorize the loop: most documents are longer than a group. */
static size_t ids_find(const int32_t *id, size_t count, int32_t wanted)
{
    enum { GROUP = 64 };
    size_t i = 0;
    int found = 0;
    for (; count - i >= GROUP; i += GROUP) {
        for (int k = 0; k < GROUP; k++)
            found |= id[i + (size_t)k] == wanted;
        if (found)
            break;
    }
    while (i < count && id[i] != wanted)
        i++;
    return i;
}

/* Reads the document that begins at d->begin, up to byte limit, or, if by_mark, up to a mark before that. The content
 * hash is that of the ids, so it does not depend on the type in which a file stores them. */
static int scan_document(struct id_scan *s, struct token_document *d, int64_t limit, bool by_mark, struct bl_error *e)
{
    int64_t size = (int64_t)s->t->type.size;
    struct bl_checksum_state sum;
    bool ended = false;
    bl_checksum_begin(&sum);
    d->wrong = -1;
    for (d->end = d->begin; d->end < limit && !ended;) {
        const int32_t *id;
        size_t count;
        BL_TRY(scan_ids(s, d->end, &id, &count, e));
        int64_t left = (limit - d->end) / size;
        count = (int64_t)count < left ? count : (size_t)left;
        if (d->end == d->begin) {
            d->head = id[0];
            d->is_marked = by_mark && s->spec->mark_begins && id[0] == s->spec->mark;
        }
        if (by_mark) {
            /* A mark that begins documents ends this one, unless it is the document's own at its begin; a mark that
             * ends documents belongs to this one. */
            size_t skip = s->spec->mark_begins && d->end == d->begin && count;
            size_t found = skip + ids_find(id + skip, count - skip, (int32_t)s->spec->mark);
            ended = found < count;
            count = found + (ended && !s->spec->mark_begins);
        }
        if (!s->is_right && d->wrong < 0) {
            size_t wrong = ids_find(id, count, -1);
            d->wrong = wrong < count ? d->end + (int64_t)wrong * size : -1;
            if (wrong < count)
                d->number = bl_id_number_read(&s->t->type, s->raw + (d->wrong - s->first));
        }
        bl_checksum_add(&sum, id, count * sizeof *id);
        d->end += (int64_t)count * size;
        d->last = count ? id[count - 1] : d->last;
    }
    if (by_mark && !s->spec->mark_begins)
        d->is_marked = ended;
    d->content = bl_checksum_end(&sum);
    /* 0 means "not known" in a row. */
    d->content = d->content ? d->content : 1;
    return BL_OK;
}

/* Emits a row of the document: skipped if a number of it is no id, or if it is longer than --max-document. */
static int scan_emit(struct id_scan *s, const struct token_document *d, bool by_mark, struct bl_error *e)
{
    struct bl_item *item = s->item;
    const struct bl_text_config *config = item->config;
    int64_t size = (int64_t)s->t->type.size, tokens = (d->end - d->begin) / size;
    bl_item_begin(item, d->is_whole_file ? -1 : d->begin);
    bl_buffer_printf(&item->extra, "\t%d\t%" PRId64 "\t%d", by_mark && !d->is_marked, d->empties, d->is_whole_file);
    item->row.extra = item->extra.data;
    BL_TRY(bl_buffer_check(&item->extra, e));
    if (d->wrong >= 0)
        bl_item_skip(item,
                     "token %" PRId64 ", at byte %" PRId64 ", is %" PRId64 ": an id is a number from 0 to %" PRId64,
                     (d->wrong - d->begin) / size, d->wrong, d->number, s->max);
    else if (config->max_document != BL_MAX_DOCUMENT && d->end - d->begin > config->max_document)
        bl_item_skip_long(item);
    else {
        /* The document may have the tokens of --bos and --eos already, as in bl_item_end_ids. A document of one id does
         * not count as both. */
        const struct bl_text_prepared *p = &config->prepared;
        item->had_bos = config->bos && d->head == p->begin.id[0];
        item->had_eos = config->eos && d->last == p->end.id[0] && tokens > item->had_bos;
        item->row.length = tokens + (item->had_bos ? 0 : p->begin.count) + (item->had_eos ? 0 : p->end.count);
    }
    item->row.content = d->content;
    return s->emit(s->context, item, e);
}

/* Finds the byte at which the first document begins that begins at byte `from` or later, or end if that comes first. A
 * document begins at the begin of the ids, behind a mark that ends one, or at a mark that begins one. */
static int scan_find_first(struct id_scan *s, int64_t from, int64_t end, int64_t *found, struct bl_error *e)
{
    int64_t size = (int64_t)s->t->type.size, behind = s->spec->mark_begins ? 0 : size;
    *found = s->t->begin;
    if (from <= s->t->begin)
        return BL_OK;
    /* The first whole id from `from` on. With marks that end documents, the id before it is looked at as well: it may
     * be the mark. */
    int64_t at = s->t->begin + (from - s->t->begin + size - 1) / size * size - behind;
    for (*found = end; at + behind < end;) {
        const int32_t *id;
        size_t count;
        BL_TRY(scan_ids(s, at, &id, &count, e));
        size_t i = ids_find(id, count, (int32_t)s->spec->mark);
        at += (int64_t)i * size;
        if (i < count) {
            *found = at + behind < end ? at + behind : end;
            break;
        }
    }
    return BL_OK;
}

/* Emits a row for each document of a file in which a mark separates documents. */
static int scan_by_mark(struct id_scan *s, struct bl_error *e)
{
    int64_t end = s->chunk->end < s->t->end ? s->chunk->end : s->t->end, at = 0;
    BL_TRY(scan_find_first(s, s->chunk->begin, end, &at, e));
    while (at < end) {
        struct token_document d = {.begin = at};
        BL_TRY(scan_document(s, &d, s->t->end, true, e));
        if (!d.is_marked && d.begin == s->t->begin && d.end == s->t->end)
            return bl_error_set(e, BL_EDATA,
                                "%s=%" PRId64 " is nowhere in the file: another id, or another dtype? (without it, the "
                                "file is one sequence)",
                                s->spec->mark_begins ? "bos" : "eos", s->spec->mark);
        BL_TRY(scan_emit(s, &d, true, e));
        at = d.end;
    }
    return BL_OK;
}

/* Opens the index, and emits a row for each document of it. An empty document gets no row, because its offset would be
 * that of the next document: it is counted in the row before it, or in the first row. A row is emitted when the next
 * document with tokens begins. The index is on the heap, as it has a buffer of 32 KiB. */
static int scan_by_index(struct id_scan *s, struct bl_error *e)
{
    struct token_document d = {.begin = s->t->begin};
    bool found = false;
    int64_t at = d.begin, end = at;
    struct index *index = calloc(1, sizeof *index);
    if (!index)
        return bl_error_memory(e);
    int code = index_open(index, s->t, s->spec->sequences, s->cancel, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", s->t->index);
    for (int64_t i = 0; !code && i < index->count; i++) {
        code = index_find_end(index, i, &end, e);
        d.empties += end == at;
        if (code || end == at)
            continue;
        if (found)
            code = scan_emit(s, &d, false, e);
        d = (struct token_document){.begin = at, .empties = found ? 0 : d.empties};
        if (!code)
            code = scan_document(s, &d, end, false, e);
        found = true;
        at = end;
    }
    if (!code && found)
        code = scan_emit(s, &d, false, e);
    bl_megatron_documents_close(index->pair);
    bl_input_file_close(&index->file);
    free(index);
    return code;
}

/* Emits the rows of the chunk's part of the file by the first rule that applies: index, mark, whole file. */
int bl_token_file_count(struct bl_item *item, const struct bl_chunk *chunk, const char *path, int64_t before,
                        const struct bl_cancel *cancel, bl_item_emit *emit, void *context, struct bl_error *e)
{
    const struct bl_token_spec *spec = &item->config->prepared.token_spec;
    struct bl_token_file t;
    struct id_scan *s = calloc(1, sizeof *s);
    int code = s ? bl_token_file_open(&t, spec, path, e) : bl_error_memory(e);
    if (code) {
        free(s);
        return code;
    }
    s->item = item;
    s->t = &t;
    s->spec = spec;
    s->chunk = chunk;
    s->path = path;
    s->cancel = cancel;
    s->before = before;
    s->emit = emit;
    s->context = context;
    s->max = spec->vocabulary ? spec->vocabulary - 1 : INT32_MAX;
    s->max = item->config->common.dtype && s->max > UINT16_MAX ? UINT16_MAX : s->max;
    struct token_document whole = {.begin = t.begin, .is_whole_file = true};
    code = chunk->begin ? BL_OK : bl_token_file_check_type(&t, path, e);
    if (code)
        goto out;
    if (t.index) {
        code = scan_by_index(s, e);
    } else if (t.begin < t.end && spec->mark >= 0) {
        code = scan_by_mark(s, e);
    } else if (t.begin < t.end) {
        code = scan_document(s, &whole, t.end, false, e);
        if (!code)
            code = scan_emit(s, &whole, false, e);
    }
out:
    bl_token_file_close(&t);
    free(s);
    return code;
}

/* Faults of the file are left to the counting, which reports them as a row. */
int bl_token_file_divisible(const struct bl_text_config *config, const char *path, bool *divisible, struct bl_error *e)
{
    struct bl_token_file t;
    struct bl_error fault = {0};
    *divisible = false;
    if (config->prepared.token_spec.mark < 0)
        return BL_OK;
    int code = bl_token_file_open(&t, &config->prepared.token_spec, path, &fault);
    if (!code) {
        code = bl_token_file_check_type(&t, path, &fault);
        *divisible = !code && !t.index;
        bl_token_file_close(&t);
    }
    return code == BL_EFAIL ? bl_error_pass(e, code, &fault) : BL_OK; /* counting reports other faults */
}
