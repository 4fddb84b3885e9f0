/* Turns one document into a row of the table and the ids that are its steps.
 *
 * Every input format ends here: plain text, lines of JSON, rows of CSV, NPY arrays and Megatron's files. The calls for
 * ids are bl_item_begin, then bl_item_add_marks and bl_item_add_id, then bl_item_end_ids and bl_item_finish. A document
 * that cannot be used becomes a skipped row with a reason such as "invalid UTF-8 at byte 17"; the scan goes on. Only
 * faults of the system and wrong options end the scan. */
#include "kind/text/item.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/input_stat.h"

#define HELD_MAX ((size_t)8 << 20)     /* bytes that a buffer keeps between two documents */
#define GROWTH 16                      /* how many times as long a text may become: normal forms of Unicode need 11 */
#define BUFFERS_MAX ((int64_t)4 << 20) /* bytes that a worker takes beside the encoder's cache of words */
/* Appends a printf text to the reason of the item's row, which stays an ok row. */
#define ADD_REASON(item, ...) bl_row_append_reason((item)->reason, sizeof(item)->reason, __VA_ARGS__)

const char *bl_item_number_name(const struct bl_text_prepared *p, int i)
{
    for (int k = 1; k <= p->keeps; k++) {
        if (p->column[k].is_number && i-- == 0)
            return p->column[k].name;
    }
    return NULL;
}

int bl_item_open(struct bl_item *item, const struct bl_text_config *config, const struct bl_kind_env *env,
                 struct bl_error *e)
{
    *item = (struct bl_item){.config = config, .path = "", .reservation = env->reservation};
    /* Files of ids need no tokenizer, and the item then has no encoder. */
    int code = config->prepared.tokenizer ? bl_encoder_open(&item->encoder, config->prepared.tokenizer, e) : BL_OK;
    /* The cache of words gets the memory of the worker's share that the buffers leave. */
    if (item->encoder)
        bl_encoder_set_stop(item->encoder, env->cancel);
    if (item->encoder && env->reservation && env->reservation->budget)
        bl_encoder_limit_cache(item->encoder, env->reservation->included - BUFFERS_MAX);
    return code;
}

void bl_item_close(struct bl_item *item)
{
    if (item->encoder)
        bl_encoder_close(item->encoder);
    bl_ids_free(&item->ids);
    bl_buffer_free(&item->text);
    bl_buffer_free(&item->repaired);
    bl_buffer_free(&item->joined);
    bl_buffer_free(&item->values);
    bl_buffer_free(&item->extra);
    bl_same_text_buffers_free(&item->same);
    *item = (struct bl_item){0};
}

/* Frees the ids if their buffer is larger than a worker keeps. */
static void ids_shrink(struct bl_ids *ids)
{
    if (ids->capacity > HELD_MAX / sizeof *ids->id)
        bl_ids_free(ids);
}

void bl_item_begin(struct bl_item *item, int64_t offset)
{
    /* Frees the large buffers that a large document left: the caller may then release the memory reservation of the
     * document. */
    struct bl_buffer *buffer[] = {&item->text, &item->repaired, &item->joined, &item->values};
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++) {
        if (buffer[i]->capacity > HELD_MAX)
            bl_buffer_free(buffer[i]);
    }
    /* One large buffer of the four is reason enough to free them all: they grow together. */
    for (size_t i = 0; i < sizeof item->same.buffer / sizeof *item->same.buffer; i++) {
        if (item->same.buffer[i].capacity > HELD_MAX)
            bl_same_text_buffers_free(&item->same);
    }
    ids_shrink(&item->ids);
    if (item->encoder)
        bl_encoder_shrink(item->encoder, HELD_MAX);
    item->ids.count = 0;
    item->bytes = 0;
    item->line = NULL;
    item->reason[0] = '\0';
    item->had_bos = item->had_eos = false;
    item->specials = 0;
    bl_buffer_clear(&item->extra);
    bl_buffer_clear(&item->values);
    item->fim = (struct bl_fim_draw){0};
    /* An item makes ok rows until bl_item_skip. */
    item->row = (struct bl_row){.status = BL_ROW_OK, .reason = item->reason, .stream = -1, .offset = offset};
}

int bl_item_skip(struct bl_item *item, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->reason, sizeof item->reason, format, arguments);
    va_end(arguments);
    /* A skipped row keeps its offset and its content hash. */
    item->row.status = BL_ROW_SKIPPED;
    item->row.length = 0;
    item->bytes = 0;
    return BL_OK;
}

/* --- ids ---------------------------------------------------------------------------------------------------------- */

int bl_item_add_id(struct bl_item *item, int64_t id, struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    if (item->row.status != BL_ROW_OK)
        return BL_OK;
    /* --dtype u16 stores ids in 16 bits, and the default in 32 bits with a sign. */
    int64_t max = item->config->common.dtype ? UINT16_MAX : INT32_MAX;
    if (id < 0 || id > max)
        return bl_item_skip(item, "token %zu is %" PRId64 ": an id is a number from 0 to %" PRId64, item->ids.count, id,
                            max);
    if (p->tokenizer && id > p->id_max)
        return bl_item_skip(item,
                            "token %zu is %" PRId64 ": the ids of %s end at %" PRId64 " (ids need no --tokenizer)",
                            item->ids.count, id, bl_tokenizer_name(p->tokenizer), p->id_max);
    return bl_ids_add(&item->ids, (int32_t)id, e);
}

int bl_item_add_marks(struct bl_item *item, const struct bl_document_marks *marks, struct bl_error *e)
{
    for (int i = 0; i < marks->count; i++)
        BL_TRY(bl_item_add_id(item, marks->id[i], e));
    return BL_OK;
}

int bl_item_end_ids(struct bl_item *item, struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    const struct bl_text_prepared *p = &config->prepared;
    struct bl_ids *ids = &item->ids;
    size_t begin = (size_t)p->begin.count;
    if (item->row.status != BL_ROW_OK)
        return BL_OK;
    /* The mark of --bos was added before the document's own ids were known. */
    item->had_bos = config->bos && ids->count > begin && ids->id[begin] == p->begin.id[0];
    if (item->had_bos) {
        ids->count -= begin;
        memmove(ids->id, ids->id + begin, ids->count * sizeof *ids->id);
    }
    /* The end mark is added only if the document does not end with it. */
    item->had_eos = config->eos && ids->count > begin && ids->id[ids->count - 1] == p->end.id[0];
    return item->had_eos ? BL_OK : bl_item_add_marks(item, &p->end, e);
}

/* Adds a column to item->extra if is_wanted: the number, or an empty value instead of 0, which keeps the table
 * short. */
static void item_add_number(struct bl_item *item, bool is_wanted, int64_t number)
{
    if (is_wanted)
        bl_buffer_byte(&item->extra, '\t');
    if (is_wanted && number)
        bl_buffer_int(&item->extra, number);
}

int bl_item_add_columns(struct bl_item *item, struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    bool is_ok = item->row.status == BL_ROW_OK;
    /* The table has these columns only where one of the options is set. */
    if (!config->bos && !config->eos && !config->prepared.leaves_specials)
        return BL_OK;
    if (!item->row.extra)
        bl_buffer_clear(&item->extra);
    /* Fills the columns before these with empty values, in the order of text_columns. A skipped row, for example, may
     * have none of them. */
    int before = 0, columns = config->prepared.keeps + (config->prepared.same_column != NULL) +
                              config->prepared.trained + (config->token_file ? BL_TOKEN_COLUMNS : 0) +
                              (config->fim.given ? BL_FIM_COLUMNS : 0);
    /* Each column begins with a tab, and values have theirs escaped. */
    for (size_t i = 0; i < item->extra.size; i++)
        before += item->extra.data[i] == '\t';
    for (; before < columns; before++)
        bl_buffer_byte(&item->extra, '\t');
    item_add_number(item, config->bos, is_ok && item->had_bos);
    item_add_number(item, config->eos, is_ok && item->had_eos);
    item_add_number(item, config->prepared.leaves_specials, is_ok ? item->specials : 0);
    item->row.extra = item->extra.data;
    return bl_buffer_check(&item->extra, e);
}

int bl_item_lay_out(struct bl_item *item, struct bl_error *e)
{
    size_t count = item->ids.count;
    item->steps = item->ids.id;
    item->bytes = count * sizeof *item->ids.id;
    /* I32 ids without further fields are written from item->ids directly, so this case needs no copy. */
    if (!item->config->common.dtype && item->config->prepared.fields == 0)
        return BL_OK;
    if (!item->config->common.dtype) {
        bl_buffer_append(&item->values, item->ids.id, item->bytes);
    } else {
        if (!bl_buffer_reserve(&item->values, count * sizeof(uint16_t)))
            return bl_error_memory(e);
        /* bl_item_add_id checked that each id fits 16 bits. */
        uint16_t *out = (uint16_t *)(void *)item->values.data;
        for (size_t i = 0; i < count; i++)
            out[i] = (uint16_t)item->ids.id[i];
        item->values.size = count * sizeof(uint16_t);
    }
    return bl_buffer_check(&item->values, e);
}

void bl_item_set_content(struct bl_item *item)
{
    /* The marks that begin a document depend on the options, so the content hash leaves them out. */
    size_t marks = (size_t)item->config->prepared.begin.count;
    const int32_t *text = item->ids.count ? item->ids.id + marks : NULL;
    item->row.content = bl_content_hash(text, text ? (item->ids.count - marks) * sizeof *text : 0);
}

int bl_item_finish(struct bl_item *item, struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    if (item->row.status != BL_ROW_OK)
        return BL_OK;
    if (!item->ids.count)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    /* A kept number is a tensor of the dataset, which has no empty value. A document without keys is therefore
     * skipped. */
    if (!item->line && !item->is_row && bl_item_number_name(p, 0))
        return bl_item_skip(item, "no key \"%s\": only lines of JSON and rows have keys (--keep)",
                            bl_item_number_name(p, 0));
    if (!item->line && p->fields)
        return bl_item_skip(item, "no values of \"%s\": only lines of JSON have keys (--field)",
                            p->column[p->keeps + 1].name);
    /* A step is a token. */
    item->row.length = (int64_t)item->ids.count;
    BL_TRY(bl_item_lay_out(item, e));
    if (item->values.size) {
        item->steps = item->values.data;
        item->bytes = item->values.size;
    }
    return BL_OK;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

int bl_item_repair_utf8(struct bl_item *item, const char **text, size_t *size, int64_t at, struct bl_error *e)
{
    /* Most text is valid, and is used where it lies. */
    size_t valid = bl_utf8_valid(*text, *size);
    if (valid == *size)
        return BL_OK;
    /* The byte of the file at which the first invalid sequence begins. */
    int64_t place = at + (int64_t)valid, replaced = 0;
    if (item->config->invalid == BL_INVALID_ERROR)
        return bl_item_skip(item, "invalid UTF-8 at byte %" PRId64, place);
    bl_buffer_clear(&item->repaired);
    bl_text_replace_invalid(*text, *size, &item->repaired, &replaced);
    ADD_REASON(item, "invalid UTF-8 at byte %" PRId64 ": replaced by U+FFFD (%" PRId64 " in all)", place, replaced);
    *text = item->repaired.data;
    *size = item->repaired.size;
    return bl_buffer_check(&item->repaired, e);
}

int bl_item_refuse_text(struct bl_error *e)
{
    return bl_error_set(e, BL_EUSAGE, "the inputs hold text: use --tokenizer FILE, or --tokenizer bytes");
}

int bl_item_refuse_ids_for_fim(const struct bl_text_config *config, const char *path, struct bl_error *e)
{
    if (!config->fim.given)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "%s holds token ids, and --fim cuts texts: leave --fim out, or use the texts",
                        path);
}

/* Appends the ids of a text, or of a part of it, while they stay below limit. Sets *wanted to 0, or to a limit that may
 * do, if this one is too low. Text that the tokenizer refuses (BL_EDATA) makes the row a skipped one. */
static int item_try_part(struct bl_item *item, const char *text, size_t size, size_t limit, size_t *wanted,
                         struct bl_error *e)
{
    struct bl_error fault = {0};
    size_t before = item->ids.count;
    /* The ids that the document already has count as well; a limit of 0 would mean no limit. */
    bl_encoder_limit(item->encoder, limit > before ? limit - before : 1);
    int code = bl_encoder_encode(item->encoder, text, size, &item->ids, &fault);
    *wanted = code ? bl_encoder_wanted(item->encoder) : 0;
    if (*wanted) {
        *wanted += before;
        return BL_OK;
    }
    /* The fault is one of the document, so the scan goes on. */
    if (code == BL_EDATA)
        return bl_item_skip(item, "%s", fault.text);
    return bl_error_pass(e, code, &fault);
}

/* Starts the ids of the document again: appends the marks that begin it, then the ids of the text. A document cut by
 * fill-in-the-middle gets prefix, middle and suffix, and the tokens that announce them, in the order of the form (PSM
 * or SPM). *wanted is set as by item_try_part. */
static int item_try(struct bl_item *item, const char *text, size_t size, size_t limit, size_t *wanted,
                    struct bl_error *e)
{
    const struct bl_fim_draw *fim = &item->fim;
    item->ids.count = 0;
    *wanted = 0;
    BL_TRY(bl_item_add_marks(item, &item->config->prepared.begin, e));
    if (fim->form < BL_FIM_PSM)
        return item_try_part(item, text, size, limit, wanted, e);
    const struct bl_fim_element *element = bl_fim_elements(fim->form);
    /* Byte offsets of prefix, middle and suffix in the text, by enum bl_fim_part. */
    const size_t begin[] = {0, fim->begin, fim->end}, end[] = {fim->begin, fim->end, size};
    for (int i = 0; i < BL_FIM_ELEMENTS && !*wanted; i++) {
        enum bl_fim_part part = element[i].part;
        BL_TRY(element[i].is_token
                   ? bl_item_add_id(item, item->config->prepared.fim[part], e)
                   : item_try_part(item, text + begin[part], end[part] - begin[part], limit, wanted, e));
    }
    return BL_OK;
}

/* Encodes a text, and retries with more memory while the tokenizer expands the text beyond the limit. A text is skipped
 * if it becomes longer than --max-document and than GROWTH times its size, even where the memory would do. BL_EUSAGE:
 * the whole budget is too small; for an expansion by GROWTH or more that holds even if the reservation is not strict.
 */
static int item_encode_text(struct bl_item *item, const char *text, size_t size, struct bl_error *e)
{
    struct bl_reservation *r = item->reservation;
    size_t most = size * GROWTH, max = (size_t)item->config->max_document, wanted;
    char shown[32], more[32];
    /* Every document may grow up to --max-document. */
    most = most > max ? most : max;
    /* Within the memory that the worker has already, a text may grow to at least twice its size. Without a budget, only
     * `most` limits it. */
    size_t reserved = r && r->budget ? (size_t)((r->included + r->held) / bl_encoder_memory(item->encoder, 1)) : most;
    size_t limit = reserved > 2 * size ? reserved : 2 * size;
    limit = limit < most ? limit : most;
    BL_TRY(item_try(item, text, size, limit, &wanted, e));
    while (wanted) {
        if (wanted > most)
            return bl_item_skip(item, "the tokenizer makes more than %s of it (--max-document)",
                                bl_text_size(shown, (int64_t)most));
        /* Each retry allows at least a quarter more, so that the number of retries stays logarithmic. */
        limit = wanted > limit + limit / 4 ? wanted : limit + limit / 4;
        limit = limit < most ? limit : most;
        /* Waits for the memory of a document of the grown size. The buffers are freed before, since the encoding starts
         * again. */
        int64_t needed = bl_encoder_memory(item->encoder, limit);
        bl_encoder_shrink(item->encoder, HELD_MAX);
        ids_shrink(&item->ids);
        int code = limit / GROWTH < size ? bl_reservation_need(r, needed, e) : bl_reservation_require(r, needed, e);
        if (code == BL_EUSAGE)
            bl_error_prefix(e, "%s: a document of %s, of which the tokenizer makes %s or more", item->path,
                            bl_text_size(shown, (int64_t)size), bl_text_size(more, (int64_t)limit));
        if (code)
            return code;
        BL_TRY(item_try(item, text, size, limit, &wanted, e));
    }
    return BL_OK;
}

/* Undoes fill-in-the-middle and returns true if the parts of the text contain its tokens, which would mark false
 * boundaries, or if the parts have no tokens at all. The caller then encodes the text again, uncut. fim.form records
 * the reason. */
static bool item_refuses_fim(struct bl_item *item)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    /* own: how many ids are tokens of fill-in-the-middle, of which the cut itself adds three. */
    size_t own = 0, first = (size_t)p->begin.count;
    if (item->fim.form < BL_FIM_PSM || item->row.status != BL_ROW_OK)
        return false;
    for (size_t i = first; i < item->ids.count; i++) {
        for (int part = 0; part < BL_FIM_PARTS; part++)
            own += item->ids.id[i] == p->fim[part];
    }
    if (own == BL_FIM_PARTS && item->ids.count > first + BL_FIM_PARTS)
        return false;
    item->fim = (struct bl_fim_draw){.form = own == BL_FIM_PARTS ? BL_FIM_NO : BL_FIM_MARKED};
    return true;
}

/* Draws the form of the text, and sets *text and *size to the bytes that are cut. Where --special parse is set, the
 * tokens of --bos and --eos that the text has already stay outside the cut: fill-in-the-middle moves parts between
 * them. The offsets in fim count characters of the uncut text. */
static void item_draw_fim(struct bl_item *item, const char **text, size_t *size)
{
    const struct bl_text_config *config = item->config;
    const struct bl_text_prepared *p = &config->prepared;
    /* Only with --special parse can the text have these tokens as tokens. */
    bool is_bos = config->special && config->bos, is_eos = config->special && config->eos;
    size_t begin = is_bos ? bl_tokenizer_size_at(p->tokenizer, p->begin.id[0], *text, *size, false) : 0;
    size_t end = is_eos ? bl_tokenizer_size_at(p->tokenizer, p->end.id[0], *text + begin, *size - begin, true) : 0;
    item->fim.form = BL_FIM_NO;
    if (begin + end < *size)
        bl_fim_draw(&config->fim, item->row.offset, *text + begin, *size - begin - end, &item->fim);
    if (item->fim.form < BL_FIM_PSM)
        return;
    /* Skipped marks count as characters of the document. */
    int64_t before = bl_fim_count_characters(*text, begin);
    item->fim.first += before;
    item->fim.last += before;
    item->had_bos = begin;
    item->had_eos = end;
    *text += begin;
    *size -= begin + end;
}

int bl_item_encode(struct bl_item *item, const char *text, size_t size, struct bl_error *e)
{
    if (item->row.status != BL_ROW_OK)
        return BL_OK;
    if (!size)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    if (!item->encoder)
        return bl_item_refuse_text(e);
    /* The part of the text that fill-in-the-middle cuts. */
    const char *cut = text;
    size_t cut_size = size;
    if (item->config->fim.given)
        item_draw_fim(item, &cut, &cut_size);
    /* With a budget, the memory that the tokenizer takes for the document is waited for. BL_EUSAGE: the document needs
     * more than the whole budget. */
    if (item->reservation && item->reservation->budget) {
        char shown[32];
        int code = bl_reservation_need(item->reservation, bl_encoder_memory(item->encoder, size), e);
        if (code == BL_EUSAGE)
            bl_error_prefix(e, "%s: a document of %s", item->path, bl_text_size(shown, (int64_t)size));
        if (code)
            return code;
    }
    BL_TRY(item_encode_text(item, cut, cut_size, e));
    BL_TRY(item_refuses_fim(item) ? item_encode_text(item, text, size, e) : BL_OK);
    if (item->config->prepared.leaves_specials)
        item->specials = bl_tokenizer_count_plain(item->config->prepared.tokenizer, text, size);
    /* A cut text has had_bos and had_eos from item_draw_fim, so only the end mark is missing. */
    return item->config->special && item->fim.form < BL_FIM_PSM
               ? bl_item_end_ids(item, e)
               : bl_item_add_marks(item, &item->config->prepared.end, e);
}

int bl_item_add_fim(struct bl_item *item, struct bl_error *e)
{
    const struct bl_fim_draw *fim = &item->fim;
    if (!item->config->fim.given)
        return BL_OK;
    /* A skipped row has empty values, so that the columns stay in their places. */
    bool skipped = item->row.status != BL_ROW_OK;
    bl_buffer_printf(&item->extra, "\t%s", skipped ? "" : bl_fim_form_name(fim->form));
    if (!skipped && fim->form >= BL_FIM_PSM)
        bl_buffer_printf(&item->extra, "\t%" PRId64 "\t%" PRId64, fim->first, fim->last);
    else
        bl_buffer_text(&item->extra, "\t\t");
    item->row.extra = item->extra.data;
    return bl_buffer_check(&item->extra, e);
}

int bl_item_add_digest(struct bl_item *item, const char *text, size_t size, struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    if (!p->same_column)
        return BL_OK;
    BL_TRY(size ? bl_same_text_normalize(&p->same, &text, &size, &item->same, e) : BL_OK);
    bl_buffer_byte(&item->extra, '\t');
    bl_same_text_append_digest(text, size, &item->extra);
    item->row.extra = item->extra.data;
    return bl_buffer_check(&item->extra, e);
}

bool bl_item_is_same_text(const struct bl_item *item)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    return p->same_column && p->same.size == strlen("text") && memcmp(p->same.key, "text", p->same.size) == 0;
}

int bl_item_skip_long(struct bl_item *item)
{
    char limit[32];
    return bl_item_skip(item, "longer than %s (--max-document)", bl_text_size(limit, item->config->max_document));
}

int bl_item_read_plain(struct bl_item *item, const struct bl_document *document, struct bl_error *e)
{
    const char *text = document->text;
    size_t size = document->size;
    /* A file that is one document has no offset. */
    bl_item_begin(item, item->config->prepared.rule.by == BL_DIVISION_FILE ? -1 : document->offset);
    if (document->too_long)
        return bl_item_skip_long(item);
    item->row.content = bl_content_hash(text, size);
    BL_TRY(bl_item_repair_utf8(item, &text, &size, document->offset, e));
    BL_TRY(bl_item_encode(item, text, size, e));
    BL_TRY(bl_item_finish(item, e));
    BL_TRY(bl_item_add_fim(item, e));
    /* A document of plain text has no keys except "text", which is its content. The kept columns before the digest are
     * empty. */
    if (item->row.status != BL_ROW_OK || !bl_item_is_same_text(item))
        return BL_OK;
    for (int k = 0; k < item->config->prepared.keeps; k++)
        bl_buffer_byte(&item->extra, '\t');
    return bl_item_add_digest(item, document->text, document->size, e);
}
