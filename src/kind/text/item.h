/* An item is a document on its way to a row and its steps.
 *
 * Each worker of a scan has one item and uses it for all its documents, so that its buffers and its encoder stay. For
 * each document, the reader of a format fills the item, and a bl_item_emit takes the row and the steps, for example:
 * bl_item_read_json, bl_item_add_columns, emit. */
#ifndef BL_ITEM_H
#define BL_ITEM_H

#include "kind/kind.h"
#include "kind/reservation.h"
#include "kind/text/config.h"
#include "kind/text/encoder.h"

/* Maps each key to its column in a CSV or TSV file. */
struct bl_item_columns {
    int of_key[BL_JSON_KEYS_MAX]; /* column of each key, from 0; -1: not found yet */
    int count;                    /* columns of the first row */
    char mark;                    /* the byte between values: ',', ';' or a tab */
};

/* Owns its buffers and its encoder; config, path and reservation belong to the caller. The members from ids on describe
 * the current document. */
struct bl_item {
    const struct bl_text_config *config; /* prepared; shared by all items */
    const char *path;                    /* of the file, for messages */
    struct bl_reservation *reservation;  /* the memory of this worker; may be NULL */
    struct bl_encoder *encoder;          /* NULL without a tokenizer */
    struct bl_ids ids;                   /* of the document, with the marks */
    struct bl_buffer text;               /* of the document, if it is escaped in the file */
    struct bl_buffer repaired;           /* the text with U+FFFD in place of invalid UTF-8 */
    struct bl_buffer joined;             /* the texts of several keys */
    struct bl_buffer values;             /* of the steps, if they are not just I32 ids */
    struct bl_buffer extra;              /* further columns of the row: each has a tab, then its value */
    struct bl_same_text_buffers same;    /* for --dedup-by */
    char reason[1280];                   /* of a skipped or repaired row; longer than an error's text */
    struct bl_fim_draw fim;              /* how fill-in-the-middle cut the document */
    struct bl_row row;                   /* status, length, offset, content, reason, extra */
    const void *steps;                   /* values of an ok row, field after field */
    size_t bytes;                        /* of steps */
    uint64_t drained;                    /* checksum of standard input: see struct bl_chunk */
    int64_t texts,
        arrays;       /* lines of JSON with text but no tokenizer for it, and with ids: counted, never reset here */
    const char *line; /* of JSON, for messages; NULL: the document is no line of JSON */
    size_t line_size;
    const char *unit;      /* the word of messages for line: "line" or "element" */
    bool is_row;           /* the values are those of a row of CSV: a doubled quote is one */
    bool had_bos, had_eos; /* the document's own ids begin or end with that mark */
    int64_t specials;      /* special tokens that stay plain text */
};

/* Takes a complete item: emits its row and spools its steps. The item belongs to the caller, who uses it again. */
typedef int bl_item_emit(void *context, struct bl_item *item, struct bl_error *e);

/* Returns the name of the i-th kept column that holds numbers, or NULL if there are fewer. */
const char *bl_item_number_name(const struct bl_text_prepared *prepared, int i);

/* Opens an item, with an encoder where there is a tokenizer. env: encoding returns BL_ECANCEL once env->cancel is set,
 * and large documents reserve memory in env->reservation. Close the item also after an error. */
int bl_item_open(struct bl_item *item, const struct bl_text_config *config, const struct bl_kind_env *env,
                 struct bl_error *e);
void bl_item_close(struct bl_item *item);

/* Turns a document of plain text, or a line of JSON, into a row; a document that cannot be used becomes a skipped row
 * with the reason. Sets *blank if the line is blank, which gives no row. BL_EUSAGE: the document is plain text, and
 * there is no tokenizer. Lines of JSON with text are skipped and counted then. */
int bl_item_read_plain(struct bl_item *item, const struct bl_document *document, struct bl_error *e);
int bl_item_read_json(struct bl_item *item, const struct bl_document *line, bool *blank, struct bl_error *e);

/* Turns a row of CSV or TSV into a row of the table, by the columns that bl_item_find_columns found. */
int bl_item_read_row(struct bl_item *item, const struct bl_item_columns *columns, const struct bl_document *row,
                     struct bl_error *e);
/* Finds the columns of the keys in the first row of a file. mark: the byte between values. BL_EDATA: a column is
 * missing or there twice, or the row is malformed. */
int bl_item_find_columns(struct bl_item *item, const struct bl_document *row, char mark,
                         struct bl_item_columns *columns, struct bl_error *e);

/* Makes an item of the values of the keys, from a line of JSON or a row. value has BL_TEXT_KEYS entries, in the order
 * of prepared.key. The text comes first, since the number of its tokens is the length of every field. */
int bl_item_read_values(struct bl_item *item, const struct bl_json_value *value, const struct bl_document *line,
                        struct bl_error *e);

/* Adds the columns that are empty for most documents (bl_text_columns): had_bos, had_eos and the number of special
 * tokens. The row is complete after this call. */
int bl_item_add_columns(struct bl_item *item, struct bl_error *e);

/* Replaces invalid UTF-8 in the text, or skips the item, as --invalid says. *text and *size are set to the repaired
 * text, which the item owns. at: the byte offset of the text in the file. */
int bl_item_repair_utf8(struct bl_item *item, const char **text, size_t *size, int64_t at, struct bl_error *e);
/* Adds the ids of the whole text of a document, unless the item is skipped. BL_EUSAGE: there is no tokenizer. */
int bl_item_encode(struct bl_item *item, const char *text, size_t size, struct bl_error *e);
/* Adds the values of the columns that --fim adds, if it is given: before those of kept columns. */
int bl_item_add_fim(struct bl_item *item, struct bl_error *e);
/* Lays out the ids in the dtype of the field: 32 or 16 bits. */
int bl_item_lay_out(struct bl_item *item, struct bl_error *e);
/* Skips a document that is longer than --max-document. Returns BL_OK. */
int bl_item_skip_long(struct bl_item *item);

/* Adds the column of the digest, if it is wanted, of the text that the document is compared by; size 0: it has none. */
int bl_item_add_digest(struct bl_item *item, const char *text, size_t size, struct bl_error *e);

/* Whether --dedup-by compares the key "text": for documents without keys, that is their content. */
bool bl_item_is_same_text(const struct bl_item *item);

/* Begins a row that is made from ids: begin, add ids, finish. offset: of the document in its file in bytes, or -1. An
 * invalid id makes the row a skipped one. */
void bl_item_begin(struct bl_item *item, int64_t offset);
int bl_item_add_id(struct bl_item *item, int64_t id, struct bl_error *e);
/* Adds the ids that begin or end every document. */
int bl_item_add_marks(struct bl_item *item, const struct bl_document_marks *marks, struct bl_error *e);
/* Ends the ids of a document so that no mark is doubled: removes the --bos that was added if the document's own ids
 * begin with it, and adds the end marks unless its ids end with --eos. Sets had_bos and had_eos. */
int bl_item_end_ids(struct bl_item *item, struct bl_error *e);
/* Sets the content of the row to the ids added so far, without those that begin the document. */
void bl_item_set_content(struct bl_item *item);
/* Completes the row: length, steps and bytes. Skips a document without ids, and one that lacks a required key. The item
 * owns the steps, until it begins the next document. */
int bl_item_finish(struct bl_item *item, struct bl_error *e);

/* BL_EUSAGE, with the message of inputs that need a tokenizer. */
int bl_item_refuse_text(struct bl_error *e);

/* BL_EUSAGE if --fim is given: the file holds ids. */
int bl_item_refuse_ids_for_fim(const struct bl_text_config *config, const char *path, struct bl_error *e);

/* Makes the row a skipped one, with this reason. Returns BL_OK. */
int bl_item_skip(struct bl_item *item, const char *format, ...) BL_PRINTF(2, 3);

#endif
