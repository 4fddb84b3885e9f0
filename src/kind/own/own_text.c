/* Texts as own fields: a file or a value becomes one document of the text kind.
 *
 * The document passes through an item of the text kind, as a plain text does there, so that the ids are the same. The
 * counter and the reader each have an item, and with it an encoder. */
#include "kind/own/own_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/documents.h"
#include "kind/text/item.h"
#include "kind/text/text.h"

/* Bytes of a reader's cache of words: each worker has one beside the readers of the sources. */
#define CACHE ((int64_t)4 << 20)
#define READER_MEMORY (CACHE + ((int64_t)4 << 20))

/* --- documents ---------------------------------------------------------------------------------------------------- */

/* Makes the ids of a text, and sets the number of them. BL_EDATA: the text is unusable, and the message says why. */
static int document_encode(struct bl_item *item, const struct bl_document *document, int64_t *steps, struct bl_error *e)
{
    BL_TRY(bl_item_read_plain(item, document, e));
    *steps = item->row.status == BL_ROW_OK ? item->row.length : 0;
    if (item->row.status == BL_ROW_OK || bl_row_is_empty(&item->row))
        return BL_OK;
    return bl_error_set(e, BL_EDATA, "%s", item->reason);
}

static int value_encode(struct bl_item *item, const char *text, size_t size, int64_t *steps, struct bl_error *e)
{
    const struct bl_document document = {
        .text = text, .size = size, .too_long = (int64_t)size > item->config->max_document};
    return document_encode(item, &document, steps, e);
}

/* Makes the ids of a file. */
static int file_encode(struct bl_item *item, const char *path, const struct bl_cancel *cancel, int64_t *steps,
                       struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_FILE};
    struct bl_documents *documents;
    struct bl_document document;
    bool found = false;
    *steps = 0;
    BL_TRY(bl_documents_open(&documents, path, &rule, 0, INT64_MAX, item->config->max_document, cancel, e));
    item->path = path;
    int code = bl_documents_next(documents, &document, &found, e);
    if (!code && found)
        code = document_encode(item, &document, steps, e);
    else
        bl_item_begin(item, -1); /* the reason of the text before is gone */
    bl_documents_close(documents);
    item->path = "";
    return code;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

struct own_text_counter {
    struct bl_counter base;
    struct bl_item item;
};

static void own_text_counter_close(struct bl_counter *counter)
{
    bl_item_close(&((struct own_text_counter *)counter)->item);
    free(counter);
}

static int own_text_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                 struct bl_error *e)
{
    struct own_text_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->base.close = own_text_counter_close;
    int code = bl_item_open(&c->item, config, env, e);
    if (code)
        own_text_counter_close(&c->base);
    else
        *counter = &c->base;
    return code;
}

/* Counts the file of a chunk: it has one row. */
static int own_text_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                          struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)config;
    struct bl_item *item = &((struct own_text_counter *)counter)->item;
    struct bl_row row = {.stream = -1, .offset = -1};
    struct bl_error fault = {0};
    int code = file_encode(item, chunk->input->path, env->cancel, &row.length, &fault);
    row.reason = item->row.status == BL_ROW_OK ? item->reason : "";
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

int bl_own_text_count_value(struct bl_counter *counter, const char *text, size_t size, int64_t *steps,
                            struct bl_error *e)
{
    return value_encode(&((struct own_text_counter *)counter)->item, text, size, steps, e);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct own_text_reader {
    struct bl_reader base;
    const struct bl_kind_env *env;
    struct bl_item item;
};

static void own_text_reader_close(struct bl_reader *reader)
{
    bl_item_close(&((struct own_text_reader *)reader)->item);
    free(reader);
}

/* Copies the ids of the item's document, whose number must be that of the scan. */
static int ids_copy(const struct bl_item *item, int64_t found, int64_t steps, uint8_t *out, struct bl_error *e)
{
    if (found != steps)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " tokens, there are %" PRId64, steps, found);
    memcpy(out, item->steps, item->bytes);
    return BL_OK;
}

/* Reads a file. The scan has noted in the table what was repaired in it. */
static int own_text_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                          struct bl_error *e)
{
    struct own_text_reader *r = (struct own_text_reader *)reader;
    int64_t found;
    note->text[0] = '\0';
    BL_TRY(file_encode(&r->item, request->row.path, r->env->cancel, &found, e));
    return ids_copy(&r->item, found, request->steps, request->out[0], e);
}

static int own_text_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                struct bl_reader **reader, struct bl_error *e)
{
    (void)fields;
    struct own_text_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){own_text_piece, own_text_reader_close};
    r->env = env;
    int code = bl_item_open(&r->item, config, env, e);
    if (code) {
        own_text_reader_close(&r->base);
        return code;
    }
    bl_encoder_limit_cache(r->item.encoder, CACHE);
    *reader = &r->base;
    return BL_OK;
}

int bl_own_text_read_value(struct bl_reader *reader, const char *text, size_t size, int64_t steps, uint8_t *out,
                           struct bl_note *note, struct bl_error *e)
{
    struct bl_item *item = &((struct own_text_reader *)reader)->item;
    int64_t found;
    BL_TRY(value_encode(item, text, size, &found, e));
    BL_TRY(ids_copy(item, found, steps, out, e));
    if (*item->reason)
        bl_row_append_reason(note->text, sizeof note->text, "%s", item->reason);
    return BL_OK;
}

/* --- the kind ----------------------------------------------------------------------------------------------------- */

static const struct bl_kind_scan own_text_scan = {.open = own_text_counter_open, .count = own_text_count};

static const struct bl_kind_read own_text_read = {.memory = READER_MEMORY, .open = own_text_reader_open};

/* The options, the fields and the description are those of the text kind. */
const struct bl_kind bl_kind_own_text = {
    .name = "text", .steps = "tokens", .scan = &own_text_scan, .read = &own_text_read};
