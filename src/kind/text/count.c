/* Counts text: the documents of a chunk become rows, and their ids become steps in the spool.
 *
 * A chunk is a few whole inputs, or a part [begin, end) of one large input. Parts are counted by several threads,
 * and the rows must not depend on the places where a file is cut. So each fault of a file is reported by one part
 * only (the first part, or the part that contains the fault), and a part that needs facts about the whole file, such
 * as the columns of a CSV file, reads them itself.
 *
 * A chunk that is in the spool from an earlier run is not counted again: its rows are replayed. */
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

#define CANCEL_EVERY 64 /* documents between two looks at the request to cancel */
#define TEXTS_MAX 16    /* lines of text, without lines of ids, that show that a file needs a tokenizer */

/* A counter of the text kind, one for each thread. base is first, so pointers to both are equal. */
struct text_counter {
    struct bl_counter base;
    struct bl_item item;
};

/* The state of counting one chunk. Pointers are borrowed, except the spool's writer, which counting_run ends. */
struct counting {
    const struct bl_text_config *config;
    const struct bl_kind_env *env;
    struct bl_item *item;
    enum bl_text_format format;     /* of this input */
    struct bl_item_columns columns; /* of this input, if it is CSV or TSV */
    struct bl_spool_writer *spool;  /* NULL: no spool */
    bl_row_emit *emit;
    void *sink;
    int input;    /* index in chunk->input */
    int64_t rows; /* rows of this input so far */
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

bool bl_text_is_streamed(const void *values, const char *path)
{
    enum bl_text_format format = bl_text_format_of(values, path);
    return format != BL_TEXT_TOKENS && format != BL_TEXT_MEGATRON;
}

/* A file is divisible if the beginning of a document can be found from any byte: not where the file is compressed,
 * an archive, UTF-16 or one document. */
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
    size_t n;
    BL_TRY(bl_instream_head(input->path, head, sizeof head, &n, e));
    *divisible =
        n && !bl_instream_is_compressed(head, n) && !bl_archive_detect(head, n) && !bl_utf8_other_mark(head, n);
    return BL_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Completes the row of an item, emits it and spools its steps: a bl_item_emit. */
static int counting_add_item(void *context, struct bl_item *item, struct bl_error *e)
{
    struct counting *c = context;
    c->rows++;
    BL_TRY(bl_item_add_columns(item, e));
    BL_TRY(c->emit(c->sink, c->input, &item->row, e));
    return c->spool ? bl_spool_put(c->spool, c->input, &item->row, item->steps, item->bytes, e) : BL_OK;
}

static bool counting_has_rows(const struct counting *c)
{
    return c->format == BL_TEXT_CSV || c->format == BL_TEXT_TSV;
}

/* Opens the documents of the input that begin in the bytes [begin, end). The caller closes them. */
static int counting_open(const struct counting *c, int64_t begin, int64_t end, struct bl_documents **documents,
                         struct bl_error *e)
{
    struct bl_division_rule rule = {.places = c->config->prepared.places,
                                    .mark = c->format == BL_TEXT_TSV ? '\t' : '\0',
                                    .by = c->format == BL_TEXT_JSON ? BL_DIVISION_JSON
                                          : counting_has_rows(c)    ? BL_DIVISION_ROW
                                                                    : BL_DIVISION_LINE};
    if (c->format == BL_TEXT_PLAIN)
        rule = c->config->prepared.rule;
    return bl_documents_open(documents, c->chunk->input[c->input].path, &rule, begin, end, c->config->max_document,
                             c->env->cancel, e);
}

/* Reads the first row of a CSV or TSV file, which names the columns, and finds the columns of the keys. *found is
 * false for a file without rows. BL_EDATA: a column is missing. */
static int counting_read_columns(struct counting *c, struct bl_documents *documents, bool *found, struct bl_error *e)
{
    struct bl_document row;
    BL_TRY(bl_documents_next(documents, &row, found, e));
    return *found ? bl_item_find_columns(c->item, &row, bl_documents_mark(documents), &c->columns, e) : BL_OK;
}

/* Finds the columns for a later part of a file in the file's first row. *found is false, too, if columns are
 * missing: the first part reports this error. */
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

/* Makes an item of a document, by the format of the input. Sets *blank if the line is blank and gives no row. */
static int counting_read_document(struct counting *c, const struct bl_document *document, bool *blank,
                                  struct bl_error *e)
{
    *blank = false;
    if (counting_has_rows(c))
        return bl_item_read_row(c->item, &c->columns, document, e);
    return c->format == BL_TEXT_PLAIN ? bl_item_read_plain(c->item, document, e)
                                      : bl_item_read_json(c->item, document, blank, e);
}

/* Refuses a file of JSON that needs a tokenizer if there is none. A single line of text among ids is only skipped,
 * even as the first line; a file that begins with TEXTS_MAX such lines, or has no other lines, needs a tokenizer.
 * Only the first part of a file decides. ended: the part has no more lines. BL_EUSAGE: the file needs a tokenizer. */
static int counting_check_texts(struct counting *c, bool ended, struct bl_error *e)
{
    struct bl_item *item = c->item;
    if (c->chunk->begin || item->arrays || item->texts < (ended ? 1 : TEXTS_MAX))
        return BL_OK;
    /* Reads the file behind the first part until there is a line of ids, or TEXTS_MAX lines of text, or the file ends:
     * the decision must not depend on where the file is cut into parts. */
    if (ended && c->chunk->end < c->chunk->input[c->input].bytes) {
        struct bl_documents *documents;
        struct bl_document line;
        bool found = true, blank;
        int code = counting_open(c, c->chunk->end, INT64_MAX, &documents, e);
        if (code)
            return code;
        while (!code && found && !item->arrays && item->texts < TEXTS_MAX) {
            code = bl_documents_next(documents, &line, &found, e);
            if (!code && found)
                code = counting_read_document(c, &line, &blank, e);
        }
        bl_documents_close(documents);
        /* The part that contains a fault reports it. */
        if (code && code != BL_EDATA)
            return code;
        if (item->arrays)
            return BL_OK;
    }
    return bl_item_refuse_text(e);
}

/* Counts the documents of a part. BL_EDATA: the file is damaged at bl_documents_offset. BL_ECANCEL: the run is
 * cancelled. */
static int counting_read_documents(struct counting *c, struct bl_documents *documents, struct bl_error *e)
{
    struct bl_document document;
    for (int64_t n = 0;; n++) {
        bool found, blank;
        BL_TRY(bl_documents_next(documents, &document, &found, e));
        if (!found)
            return counting_check_texts(c, true, e);
        if (n % CANCEL_EVERY == 0) {
            if (bl_cancelled(c->env->cancel))
                return BL_ECANCEL;
            bl_meter_report(c->chunk->meter, c->before + bl_documents_read(documents));
        }
        BL_TRY(counting_read_document(c, &document, &blank, e));
        BL_TRY(counting_check_texts(c, false, e));
        BL_TRY(blank ? BL_OK : counting_add_item(c, c->item, e));
    }
}

/* Adds a skipped row with this reason: the file cannot be read from this offset on, or at all if it is -1. */
static int document_add_fault(struct counting *c, int64_t offset, const char *reason, struct bl_error *e)
{
    bl_item_begin(c->item, offset);
    bl_item_skip(c->item, "%s", reason);
    return counting_add_item(c, c->item, e);
}

/* Counts an input of text. Damage becomes a skipped row behind the rows of sound documents. On standard input, the
 * rest is read as well, so that its checksum covers all of it. */
static int counting_read_text(struct counting *c, const struct bl_chunk *chunk, struct bl_error *e)
{
    struct bl_documents *documents = NULL;
    struct bl_error fault = {0};
    bool has_columns = true, is_file = c->format == BL_TEXT_PLAIN && c->config->prepared.rule.by == BL_DIVISION_FILE;
    int64_t offset = -1; /* of the faulty document in the file; -1: the whole file is faulty */
    c->item->path = chunk->input[c->input].path;
    c->item->texts = c->item->arrays = 0;
    int code = counting_has_rows(c) && chunk->begin ? counting_reread_columns(c, &has_columns, &fault) : BL_OK;
    if (!code && has_columns)
        code = counting_open(c, chunk->begin, chunk->end, &documents, &fault);
    /* A file that cannot be opened has one row, from its first part. */
    if (code == BL_EDATA && chunk->begin && !documents)
        code = BL_OK;
    if (!code && documents && counting_has_rows(c) && !chunk->begin)
        code = counting_read_columns(c, documents, &has_columns, &fault);
    if (!code && documents && has_columns) {
        code = counting_read_documents(c, documents, &fault);
        offset = is_file ? -1 : bl_documents_offset(documents);
    }
    /* A failed read of the rest is an error of the run, whatever the documents gave. */
    int drained = documents ? bl_documents_drain(documents, &c->item->drained, e) : BL_OK;
    if (documents)
        bl_documents_close(documents);
    if (drained)
        return drained;
    /* The run goes on with the next input. */
    if (code == BL_EDATA)
        return document_add_fault(c, offset, fault.text, e);
    return bl_error_pass(e, code, &fault);
}

/* Counts an input whose documents are ids already: .npy, Megatron's .bin or a file of tokens. */
static int counting_read_ids(struct counting *c, const char *path, enum bl_text_format format, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code;
    BL_TRY(bl_item_refuse_ids_for_fim(c->config, path, e));
    if (format == BL_TEXT_NPY)
        code = bl_npy_ids_count(c->item, path, c->env->cancel, counting_add_item, c, &fault);
    else if (format == BL_TEXT_MEGATRON)
        code = bl_megatron_count(c->item, path, c->env->cancel, counting_add_item, c, &fault);
    else
        code = bl_token_file_count(c->item, c->chunk, path, c->before, c->env->cancel, counting_add_item, c, &fault);
    /* In a truncated file, the row that was begun is faulty; without one, the whole file is. */
    if (code == BL_EDATA)
        return document_add_fault(c, c->rows ? c->item->row.offset : -1, fault.text, e);
    return bl_error_pass(e, code, &fault);
}

/* Counts one input of the chunk, or the part of it that the chunk is. */
static int counting_read_input(struct counting *c, const struct bl_chunk *chunk, struct bl_error *e)
{
    const char *path = chunk->input[c->input].path;
    c->format = bl_text_format_of(c->config, path);
    c->rows = 0;
    bool ids = c->format == BL_TEXT_NPY || c->format == BL_TEXT_MEGATRON || c->format == BL_TEXT_TOKENS;
    BL_TRY(ids ? counting_read_ids(c, path, c->format, e) : counting_read_text(c, chunk, e));
    /* Every file gets at least one row. The first part adds the row of an empty file that is counted in parts. */
    if (c->rows || chunk->begin)
        return BL_OK;
    /* A file is empty if no document follows the first part: that must not depend on where the file is cut into parts.
     * Blank lines of JSON give no rows, so they are skipped here, too. */
    if (!ids && chunk->end < chunk->input[c->input].bytes) {
        struct bl_documents *documents = NULL;
        struct bl_document document;
        bool found = true, blank = true, lines = c->format == BL_TEXT_JSONL || c->format == BL_TEXT_JSON;
        int code = counting_open(c, chunk->end, INT64_MAX, &documents, e);
        while (!code && found && blank) {
            code = bl_cancelled(c->env->cancel) ? BL_ECANCEL : bl_documents_next(documents, &document, &found, e);
            blank = lines && !document.element && !document.too_long && bl_text_is_blank(document.text, document.size);
        }
        if (documents)
            bl_documents_close(documents);
        /* The part that contains a fault adds a row for it. */
        if (code || found)
            return code == BL_EDATA ? BL_OK : code;
    }
    return document_add_fault(c, -1, BL_REASON_EMPTY, e);
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* Adds a text to the hash, with its zero byte, so that "ab", "c" and "a", "bc" differ. */
static void key_hash_text(XXH3_state_t *hash, const char *text)
{
    XXH3_64bits_update(hash, text, strlen(text) + 1);
}

/* Sets *key to the name of the chunk in the spool: a hash of its inputs and of the options on which the result
 * depends. Times and contents of files are not in the key but in the stamp, so that a changed file is noticed.
 * BL_EFAIL: out of memory. */
static int chunk_key(const struct bl_text_config *config, const struct bl_chunk *chunk, uint64_t *key,
                     struct bl_error *e)
{
    const struct bl_text_prepared *p = &config->prepared;
    struct bl_buffer text = {0};
    bl_text_sampling(config, &text);
    bl_buffer_printf(&text, " bos=%d eos=%d dtype=%d %s %s", config->bos ? p->begin.id[0] : -1,
                     config->eos ? p->end.id[0] : -1, config->common.dtype, config->keep ? config->keep : "",
                     config->field ? config->field : "");
    for (int i = 0; i < config->wholes; i++)
        bl_buffer_printf(&text, " whole=%s", config->whole[i].name);
    if (p->same_column)
        bl_buffer_printf(&text, " %s", p->same_column);
    if (p->trained)
        bl_buffer_printf(&text, " " BL_TRAINED "=%" PRId64, p->head);
    /* Words are added only where earlier versions gave other ids or columns: their other chunks keep their keys. */
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

/* Returns a hash of the sizes and times of the inputs, and of the files that belong to them, such as the index of
 * Megatron: the cheap half of a stamp. */
static uint64_t chunk_times(const struct bl_text_config *config, const struct bl_chunk *chunk)
{
    uint64_t stamp = 0;
    for (int i = 0; i < chunk->inputs; i++) {
        const struct bl_input *input = &chunk->input[i];
        enum bl_text_format format = bl_text_format_of(config, input->path);
        const uint64_t parts[] = {stamp, (uint64_t)input->bytes, (uint64_t)input->modified,
                                  format == BL_TEXT_MEGATRON ? bl_megatron_stamp(input->path)
                                  : format == BL_TEXT_TOKENS ? bl_token_file_stamp(input->path)
                                                             : 0};
        stamp = XXH3_64bits(parts, sizeof parts);
    }
    return stamp;
}

/* Sets *contents to a hash of the contents of the inputs, except of standard input: the half of a stamp for copied
 * files, whose times differ. BL_EFAIL: a file cannot be read. */
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
        BL_TRY(bl_content_hash_file(path, &parts[1], e));
        if (format == BL_TEXT_MEGATRON)
            BL_TRY(bl_megatron_content(path, &parts[2], e));
        if (format == BL_TEXT_TOKENS)
            BL_TRY(bl_token_file_content(path, &parts[2], e));
        *contents = bl_content_hash(parts, sizeof parts);
    }
    return BL_OK;
}

/* Emits a row of the spool: a bl_spool_visit. The steps stay in the spool. */
static int counting_replay_row(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    (void)bytes;
    struct counting *c = context;
    return c->emit(c->sink, input, row, e);
}

/* Counts all inputs of a chunk, and publishes the chunk in the spool, or aborts it on an error. Sets chunk->drained. */
static int counting_run(struct counting *c, struct bl_chunk *chunk, struct bl_error *e)
{
    int code = BL_OK;
    c->item->drained = 0;
    c->chunk = chunk;
    c->before = -chunk->begin; /* documents count bytes from the beginning of the file */
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

bool bl_text_has_chunk(const void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk)
{
    uint64_t key;
    return env->spool && chunk_key(config, chunk, &key, NULL) == BL_OK && bl_spool_has(env->spool, key);
}

/* Looks for the chunk in the spool, and counts it if it is not there. The rows of a chunk may be in a table already
 * (chunk->again). The steps must then be those of the table, so an input that has changed since the scan is an error,
 * and rows in the spool are not emitted. */
int bl_text_count_chunk(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    struct counting c = {
        .config = config, .env = env, .item = &((struct text_counter *)counter)->item, .emit = emit, .sink = sink};
    if (!env->spool)
        return counting_run(&c, chunk, e);
    /* found: the spool has the chunk, and it is current; changed: the spool has the chunk with another stamp. */
    bool found = false, changed = false;
    struct bl_spool_stamp stamp = {.times = chunk_times(config, chunk)};
    BL_TRY(chunk_key(config, chunk, &chunk->receipt, e));
    /* Standard input differs in each run. The spool holds the same input only if the table has its rows already. */
    if (chunk->again || strcmp(chunk->input[0].path, "-") != 0)
        BL_TRY(bl_spool_find(env->spool, env->spool_url, chunk->receipt, chunk->inputs, stamp, &found, &changed, e));
    /* Contents are hashed only if times do not decide, as this reads all files. */
    if (!found) {
        BL_TRY(chunk_contents(config, chunk, &stamp.contents, e));
        if (changed && chunk->again)
            BL_TRY(
                bl_spool_find(env->spool, env->spool_url, chunk->receipt, chunk->inputs, stamp, &found, &changed, e));
    }
    if (changed && chunk->again) {
        char others[40] = "";
        if (chunk->inputs > 1)
            snprintf(others, sizeof others, ", or one of the next %d files,", chunk->inputs - 1);
        return bl_error_set(e, BL_EFAIL, "%s%s changed since the scan: scan again, with another spool than %s",
                            chunk->input->path, others, env->spool);
    }
    if (found)
        return chunk->again ? BL_OK
                            : bl_spool_each(env->spool, chunk->receipt, chunk->inputs, counting_replay_row, &c, e);
    BL_TRY(bl_spool_create(&c.spool, env->spool, chunk->receipt, stamp, env->shared, e));
    return counting_run(&c, chunk, e);
}
