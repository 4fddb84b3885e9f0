/* Counting text: the documents of a chunk become rows, and steps in the spool. */
#include "kind/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/archive.h"
#include "base/input_file.h"
#include "base/instream.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/text/item.h"
#include "kind/text/npy_ids.h"
#include "kind/text/options.h"
#include "kind/text/spool.h"
#include "kind/text/token_file.h"

#define CANCEL_EVERY 64 /* documents */
#define TEXTS_MAX 16    /* lines of text at the beginning of a file, for which a tokenizer is missing */

struct text_counter {
    struct bl_counter base;
    struct bl_item item;
};

/* The counting of a chunk. */
struct counting {
    const struct bl_text_config *config;
    const struct bl_kind_env *env;
    struct bl_item *item;
    enum bl_text_format format;     /* of this input */
    struct bl_item_columns columns; /* of a table of rows */
    struct bl_spool_writer *spool;  /* or NULL */
    bl_row_emit *emit;
    void *sink;
    int input;
    int64_t rows; /* of this input */
    const struct bl_chunk *chunk;
    int64_t before; /* bytes of the inputs before this one, minus the offset at which a part of an input begins */
};

static void text_counter_close(struct bl_counter *counter)
{
    struct text_counter *c = (struct text_counter *)counter;
    bl_item_close(&c->item);
    free(c);
}

int bl_text_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e)
{
    struct text_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->base.close = text_counter_close;
    int code = bl_item_open(&c->item, config, env, e);
    if (code)
        text_counter_close(&c->base);
    else
        *counter = &c->base;
    return code;
}

int bl_text_divisible(const void *values, const struct bl_input *input, bool *divisible, struct bl_error *e)
{
    const struct bl_text_config *config = values;
    enum bl_text_format format = bl_text_format_of(config, input->path);
    uint8_t head[BL_ARCHIVE_HEAD];
    *divisible = false;
    if (format == BL_TEXT_TOKENS)
        return bl_token_file_divisible(config, input->path, divisible, e);
    if (format == BL_TEXT_NPY || format == BL_TEXT_MEGATRON ||
        (format == BL_TEXT_PLAIN && config->prepared.rule.by == BL_DIVISION_FILE))
        return BL_OK;
    struct bl_input_file file;
    if (bl_input_file_open(&file, input->path) != 0)
        return BL_OK; /* counting reports why */
    ssize_t n = bl_input_file_pread(&file, head, sizeof head, 0);
    int code = n < 0 ? bl_error_errno(e, BL_EFAIL, "cannot read %s", input->path) : BL_OK;
    bl_input_file_close(&file);
    *divisible = !code && !bl_instream_is_compressed(head, (size_t)n) && !bl_archive_detect(head, (size_t)n) &&
                 !bl_utf8_other_mark(head, (size_t)n);
    return code;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int counting_add_item(void *context, struct bl_item *item, struct bl_error *e)
{
    struct counting *c = context;
    c->rows++;
    int code = bl_item_add_columns(item, e);
    if (!code)
        code = c->emit(c->sink, c->input, &item->row, e);
    if (code || !c->spool)
        return code;
    return bl_spool_put(c->spool, c->input, &item->row, item->steps, item->bytes, e);
}

/* Opens the documents of a part of the input. */
static int counting_open(const struct counting *c, int64_t begin, int64_t end, struct bl_documents **documents,
                         struct bl_error *e)
{
    struct bl_division_rule rule = {.places = c->config->prepared.places};
    switch (c->format) {
    case BL_TEXT_JSON:
        rule.by = BL_DIVISION_JSON;
        break;
    case BL_TEXT_TSV:
        rule.mark = '\t';
        rule.by = BL_DIVISION_ROW;
        break;
    case BL_TEXT_CSV:
        rule.by = BL_DIVISION_ROW;
        break;
    case BL_TEXT_PLAIN:
        rule = c->config->prepared.rule;
        break;
    default:
        rule.by = BL_DIVISION_LINE;
    }
    return bl_documents_open(documents, c->chunk->input[c->input].path, &rule, begin, end, c->config->max_document,
                             c->env->cancel, e);
}

static bool counting_has_rows(const struct counting *c)
{
    return c->format == BL_TEXT_CSV || c->format == BL_TEXT_TSV;
}

/* Finds the columns by the first row, which is the next document. *found: false for a file without rows. */
static int counting_read_columns(struct counting *c, struct bl_documents *documents, bool *found, struct bl_error *e)
{
    struct bl_document row;
    int code = bl_documents_next(documents, &row, found, e);
    if (code || !*found)
        return code;
    return bl_item_find_columns(c->item, &row, bl_documents_mark(documents), &c->columns, e);
}

/* Finds the columns for a later part of a file, from the file's first row. *found is also false if columns are missing:
 * the first part reports that error. */
static int counting_reread_columns(struct counting *c, bool *found, struct bl_error *e)
{
    struct bl_documents *documents = NULL;
    struct bl_error fault = {0};
    int code = counting_open(c, 0, INT64_MAX, &documents, &fault);
    if (!code)
        code = counting_read_columns(c, documents, found, &fault);
    if (documents)
        bl_documents_close(documents);
    *found = *found && !code;
    return code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &fault);
}

static int counting_read_document(struct counting *c, const struct bl_document *document, bool *blank,
                                  struct bl_error *e)
{
    *blank = false;
    if (counting_has_rows(c))
        return bl_item_read_row(c->item, &c->columns, document, e);
    return c->format == BL_TEXT_PLAIN ? bl_item_read_plain(c->item, document, e)
                                      : bl_item_read_json(c->item, document, blank, e);
}

/* Reads past the first part of a file until it is clear whether the file needs a tokenizer. The decision must not
 * depend on where the file is cut into parts. */
static int counting_read_on(struct counting *c, struct bl_error *e)
{
    struct bl_documents *documents;
    struct bl_document line;
    bool found = true, blank;
    int code = counting_open(c, c->chunk->end, INT64_MAX, &documents, e);
    if (code)
        return code;
    while (!code && found && !c->item->arrays && c->item->texts < TEXTS_MAX) {
        code = bl_documents_next(documents, &line, &found, e);
        if (!code && found)
            code = counting_read_document(c, &line, &blank, e);
    }
    bl_documents_close(documents);
    return code == BL_EDATA ? BL_OK : code; /* the part that contains the fault reports it */
}

/* Decides whether a file without a tokenizer needs one. A single line of text among ids is only skipped, even as the
 * first line; a file that begins with many such lines, or has no others, needs a tokenizer. Only the first part of a
 * file decides. ended: the part has no more lines. BL_EUSAGE: the file needs a tokenizer. */
static int counting_check_texts(struct counting *c, bool ended, struct bl_error *e)
{
    const struct bl_item *item = c->item;
    bool judged = !c->chunk->begin && !item->arrays && item->texts >= (ended ? 1 : TEXTS_MAX);
    if (judged && ended && c->chunk->end < c->chunk->input[c->input].bytes) {
        int code = counting_read_on(c, e);
        if (code || item->arrays)
            return code;
    }
    return judged ? bl_item_refuse_text(e) : BL_OK;
}

static int counting_read_documents(struct counting *c, struct bl_documents *documents, struct bl_error *e)
{
    struct bl_document document;
    for (int64_t n = 0;; n++) {
        bool found, blank;
        BL_TRY(bl_documents_next(documents, &document, &found, e));
        if (!found)
            return counting_check_texts(c, true, e);
        if (n % CANCEL_EVERY == 0 && bl_cancelled(c->env->cancel))
            return BL_ECANCEL;
        if (n % CANCEL_EVERY == 0)
            bl_meter_report(c->chunk->meter, c->before + bl_documents_read(documents));
        int code = counting_read_document(c, &document, &blank, e);
        if (!code)
            code = counting_check_texts(c, false, e);
        if (!code && !blank)
            code = counting_add_item(c, c->item, e);
        if (code)
            return code;
    }
}

/* Adds a skipped row: the file cannot be used from this offset on. */
static int document_add_fault(struct counting *c, int64_t offset, const char *reason, struct bl_error *e)
{
    bl_item_begin(c->item, offset);
    bl_item_skip(c->item, "%s", reason);
    return counting_add_item(c, c->item, e);
}

/* Reads the part. On an error, *offset is the byte of the faulty row, or -1 if the whole file is faulty. */
static int counting_read_part(struct counting *c, struct bl_documents **documents, int64_t *offset, struct bl_error *e)
{
    const struct bl_chunk *chunk = c->chunk;
    bool has_columns = true;
    int code = counting_has_rows(c) && chunk->begin ? counting_reread_columns(c, &has_columns, e) : BL_OK;
    *offset = -1;
    if (!code && has_columns)
        code = counting_open(c, chunk->begin, chunk->end, documents, e);
    /* The first part reports the error of the file. */
    if (code == BL_EDATA && chunk->begin && !*documents)
        return BL_OK;
    if (code || !has_columns)
        return code;
    if (counting_has_rows(c) && !chunk->begin)
        code = counting_read_columns(c, *documents, &has_columns, e);
    if (code || !has_columns)
        return code;
    code = counting_read_documents(c, *documents, e);
    bool is_file = c->format == BL_TEXT_PLAIN && c->config->prepared.rule.by == BL_DIVISION_FILE;
    *offset = is_file ? -1 : bl_documents_offset(*documents);
    return code;
}

static int counting_read_text(struct counting *c, const struct bl_chunk *chunk, struct bl_error *e)
{
    struct bl_documents *documents = NULL;
    struct bl_error fault = {0};
    int64_t offset;
    c->item->path = chunk->input[c->input].path;
    c->item->texts = c->item->arrays = 0;
    int code = counting_read_part(c, &documents, &offset, &fault);
    int drained = documents ? bl_documents_drain(documents, &c->item->drained, e) : BL_OK;
    if (documents)
        bl_documents_close(documents);
    if (drained)
        return drained;
    if (code == BL_EDATA)
        return document_add_fault(c, offset, fault.text, e);
    return bl_error_pass(e, code, &fault);
}

static int counting_read_ids(struct counting *c, const char *path, enum bl_text_format format, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = bl_item_refuse_ids_for_fim(c->config, path, e);
    if (code)
        return code;
    if (format == BL_TEXT_NPY)
        code = bl_npy_ids_count(c->item, path, c->env->cancel, counting_add_item, c, &fault);
    else if (format == BL_TEXT_MEGATRON)
        code = bl_megatron_count(c->item, path, c->env->cancel, counting_add_item, c, &fault);
    else
        code = bl_token_file_count(c->item, c->chunk, path, c->before, c->env->cancel, counting_add_item, c, &fault);
    /* If the file is truncated, the row that was begun is at fault. */
    if (code == BL_EDATA)
        return document_add_fault(c, c->rows ? c->item->row.offset : -1, fault.text, e);
    return bl_error_pass(e, code, &fault);
}

/* Sets *empty if no document follows a first part in which none begins. Whether a file counts as empty must not depend
 * on where it is cut into parts. */
static int counting_rest_is_empty(struct counting *c, bool *empty, struct bl_error *e)
{
    struct bl_documents *documents = NULL;
    struct bl_document document;
    bool found = true, blank = true;
    bool lines = c->format == BL_TEXT_JSONL || c->format == BL_TEXT_JSON;
    int code = counting_open(c, c->chunk->end, INT64_MAX, &documents, e);
    while (!code && found && blank) {
        code = bl_cancelled(c->env->cancel) ? BL_ECANCEL : bl_documents_next(documents, &document, &found, e);
        blank = lines && !document.element && !document.too_long && bl_text_is_blank(document.text, document.size);
    }
    if (documents)
        bl_documents_close(documents);
    *empty = !found && code != BL_EDATA; /* the part that contains the fault adds a row for it */
    return code == BL_EDATA ? BL_OK : code;
}

static int counting_read_input(struct counting *c, const struct bl_chunk *chunk, struct bl_error *e)
{
    const char *path = chunk->input[c->input].path;
    c->format = bl_text_format_of(c->config, path);
    c->rows = 0;
    bool ids = c->format == BL_TEXT_NPY || c->format == BL_TEXT_MEGATRON || c->format == BL_TEXT_TOKENS;
    int code = ids ? counting_read_ids(c, path, c->format, e) : counting_read_text(c, chunk, e);
    if (code)
        return code;
    /* Every file gets a row; a file that is counted in parts gets it from the first. */
    bool empty = !c->rows && !chunk->begin;
    if (empty && !ids && chunk->end < chunk->input[c->input].bytes)
        code = counting_rest_is_empty(c, &empty, e);
    if (code || !empty)
        return code;
    return document_add_fault(c, -1, BL_REASON_EMPTY, e);
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static void key_hash_text(XXH3_state_t *hash, const char *text)
{
    XXH3_64bits_update(hash, text, strlen(text) + 1);
}

/* Sets *key to the chunk's name in the spool: a hash of its inputs and of the options that affect the result. */
static int chunk_key(const struct bl_text_config *config, const struct bl_chunk *chunk, uint64_t *key,
                     struct bl_error *e)
{
    const struct bl_text_prepared *p = &config->prepared;
    struct bl_buffer text = {0};
    bl_text_sampling(config, &text);
    bl_buffer_printf(&text, " bos=%d eos=%d dtype=%d %s %s", config->bos ? p->begin.id[0] : -1,
                     config->eos ? p->end.id[0] : -1, config->common.dtype, config->keep ? config->keep : "",
                     config->field ? config->field : "");
    if (p->same_column)
        bl_buffer_printf(&text, " %s", p->same_column);
    if (p->trained)
        bl_buffer_printf(&text, " " BL_TRAINED "=%" PRId64, p->head);
    /* Chunks of earlier versions have other ids, and no such columns. */
    bl_buffer_text(&text, config->bos || config->eos ? " once" : "");
    bl_buffer_text(&text, p->leaves_specials ? " " BL_TEXT_SPECIALS : "");
    XXH3_state_t *hash = XXH3_createState();
    int code = hash ? bl_buffer_check(&text, e) : bl_error_memory(e);
    if (code)
        goto out;
    XXH3_64bits_reset(hash);
    key_hash_text(hash, text.data);
    for (int i = 0; i < chunk->inputs; i++) {
        enum bl_text_format format = bl_text_format_of(config, chunk->input[i].path);
        key_hash_text(hash, chunk->input[i].path);
        if (format >= BL_TEXT_JSON) /* earlier versions read such files by lines, or as plain text */
            key_hash_text(hash, "records");
    }
    XXH3_64bits_update(hash, &chunk->begin, sizeof chunk->begin);
    XXH3_64bits_update(hash, &chunk->end, sizeof chunk->end);
    *key = XXH3_64bits_digest(hash);
out:
    XXH3_freeState(hash);
    bl_buffer_free(&text);
    return code;
}

/* The hash of the sizes and times of what lies beside an input. */
static uint64_t input_stamp_beside(const struct bl_text_config *config, const char *path)
{
    enum bl_text_format format = bl_text_format_of(config, path);
    return format == BL_TEXT_MEGATRON ? bl_megatron_stamp(path)
           : format == BL_TEXT_TOKENS ? bl_token_file_stamp(path)
                                      : 0;
}

/* The hash of the sizes and times of the inputs. */
static uint64_t chunk_times(const struct bl_text_config *config, const struct bl_chunk *chunk)
{
    uint64_t stamp = 0;
    for (int i = 0; i < chunk->inputs; i++) {
        const struct bl_input *input = &chunk->input[i];
        const uint64_t parts[] = {stamp, (uint64_t)input->bytes, (uint64_t)input->modified,
                                  input_stamp_beside(config, input->path)};
        stamp = XXH3_64bits(parts, sizeof parts);
    }
    return stamp;
}

/* The hash of the contents of the inputs, for files whose times differ. */
static int chunk_contents(const struct bl_text_config *config, const struct bl_chunk *chunk, uint64_t *contents,
                          struct bl_error *e)
{
    *contents = 0;
    for (int i = 0; i < chunk->inputs; i++) {
        const char *path = chunk->input[i].path;
        enum bl_text_format format = bl_text_format_of(config, path);
        uint64_t parts[] = {*contents, 0, 0};
        if (strcmp(path, "-") == 0)
            continue;
        int code = bl_content_hash_file(path, &parts[1], e);
        if (!code && format == BL_TEXT_MEGATRON)
            code = bl_megatron_content(path, &parts[2], e);
        if (!code && format == BL_TEXT_TOKENS)
            code = bl_token_file_content(path, &parts[2], e);
        if (code)
            return code;
        *contents = bl_content_hash(parts, sizeof parts);
    }
    return BL_OK;
}

static int chunk_report_changed(const struct bl_chunk *chunk, const char *spool, struct bl_error *e)
{
    char others[40] = "";
    if (chunk->inputs > 1)
        snprintf(others, sizeof others, ", or one of the next %d files,", chunk->inputs - 1);
    return bl_error_set(e, BL_EFAIL, "%s%s changed since the scan: scan again, with another spool than %s",
                        chunk->input->path, others, spool);
}

static int counting_replay_row(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    (void)bytes;
    struct counting *c = context;
    return c->emit(c->sink, input, row, e);
}

static int counting_run(struct counting *c, struct bl_chunk *chunk, struct bl_error *e)
{
    int code = BL_OK;
    c->item->drained = 0;
    c->chunk = chunk;
    c->before = -chunk->begin;
    for (c->input = 0; c->input < chunk->inputs && !code; c->input++) {
        code = bl_cancelled(c->env->cancel) ? BL_ECANCEL : counting_read_input(c, chunk, e);
        c->before += chunk->input[c->input].bytes;
    }
    chunk->drained = c->item->drained;
    if (c->spool && code)
        bl_spool_abort(c->spool);
    else if (c->spool)
        code = bl_spool_publish(c->spool, e);
    return code;
}

/* Looks for the chunk in the spool, and sets its receipt and stamp. */
static int chunk_find(const struct bl_text_config *config, const char *spool, struct bl_chunk *chunk,
                      struct bl_spool_stamp *stamp, bool *found, bool *changed, struct bl_error *e)
{
    *found = *changed = false;
    *stamp = (struct bl_spool_stamp){.times = chunk_times(config, chunk)};
    int code = chunk_key(config, chunk, &chunk->receipt, e);
    if (code)
        return code;
    /* Standard input is different each time. */
    if (chunk->again || strcmp(chunk->input[0].path, "-") != 0)
        code = bl_spool_find(spool, chunk->receipt, chunk->inputs, *stamp, found, changed, e);
    if (code || *found)
        return code;
    code = chunk_contents(config, chunk, &stamp->contents, e);
    if (code || !*changed || !chunk->again)
        return code;
    return bl_spool_find(spool, chunk->receipt, chunk->inputs, *stamp, found, changed, e);
}

int bl_text_count_chunk(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    struct counting c = {
        .config = config, .env = env, .item = &((struct text_counter *)counter)->item, .emit = emit, .sink = sink};
    if (!env->spool)
        return counting_run(&c, chunk, e);
    bool found, changed;
    struct bl_spool_stamp stamp;
    BL_TRY(chunk_find(config, env->spool, chunk, &stamp, &found, &changed, e));
    if (changed && chunk->again)
        return chunk_report_changed(chunk, env->spool, e);
    if (found && chunk->again)
        return BL_OK;
    if (found)
        return bl_spool_each(env->spool, chunk->receipt, chunk->inputs, counting_replay_row, &c, e);
    BL_TRY(bl_spool_create(&c.spool, env->spool, chunk->receipt, stamp, env->shared, e));
    return counting_run(&c, chunk, e);
}
