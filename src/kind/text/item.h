/* An item: a document on its way to a row and its steps. */
#ifndef BL_ITEM_H
#define BL_ITEM_H

#include "kind/kind.h"
#include "kind/reservation.h"
#include "kind/text/config.h"
#include "kind/text/encoder.h"

/* Maps each key to its column in a CSV or TSV file. */
struct bl_item_columns {
    int of_key[BL_JSON_KEYS_MAX]; /* by number, from 0 */
    int count;
    char mark; /* between values */
};

struct bl_item {
    const struct bl_text_config *config;
    const char *path; /* of the file, for messages */
    struct bl_reservation *reservation;
    struct bl_encoder *encoder; /* NULL without a tokenizer */
    struct bl_ids ids;
    struct bl_buffer text;     /* of the document, if it is escaped in the file */
    struct bl_buffer repaired; /* the same with U+FFFD in place of invalid UTF-8 */
    struct bl_buffer joined;   /* the texts of several keys */
    struct bl_buffer values;   /* of the steps, if they are not just I32 ids */
    struct bl_buffer extra;    /* columns */
    struct bl_same_text_buffers same;
    char reason[1280]; /* more than an error's text */
    struct bl_fim_draw fim;
    struct bl_row row; /* status, length, offset, content, reason, extra */
    const void *steps; /* values of an ok row, field after field */
    size_t bytes;
    uint64_t drained; /* checksum of standard input: see struct bl_chunk */
    int64_t texts,
        arrays;       /* lines of JSON with text but no tokenizer for it, and with ids: counted, never reset here */
    const char *line; /* of JSON, for messages; NULL: the document is another one */
    size_t line_size;
    const char *unit;      /* what it is: "line" */
    bool is_row;           /* the values are those of a row of CSV: a doubled quote is one */
    bool had_bos, had_eos; /* the ids of the document had that mark already */
    int64_t specials;      /* special tokens that stay plain text */
};

/* Takes a complete item: emits its row and spools its steps. */
typedef int bl_item_emit(void *context, struct bl_item *item, struct bl_error *e);

/* Returns the name of the i-th kept column that holds numbers, or NULL if there are fewer. */
const char *bl_item_number_name(const struct bl_text_prepared *prepared, int i);

/* env: once its cancel is raised, encoding returns BL_ECANCEL; what large documents take is reserved. */
int bl_item_open(struct bl_item *item, const struct bl_text_config *config, const struct bl_kind_env *env,
                 struct bl_error *e);
void bl_item_close(struct bl_item *item);

/* Turns a document of plain text, or a line of JSON, into a row; an unusable one is skipped, with the reason. *blank:
 * the line is blank and gives no row. BL_EUSAGE: the document is plain text, and there is no tokenizer (of JSON, such
 * lines are skipped and counted). */
int bl_item_read_plain(struct bl_item *item, const struct bl_document *document, struct bl_error *e);
int bl_item_read_json(struct bl_item *item, const struct bl_document *line, bool *blank, struct bl_error *e);

/* The same for a row of CSV or TSV. */
int bl_item_read_row(struct bl_item *item, const struct bl_item_columns *columns, const struct bl_document *row,
                     struct bl_error *e);
/* Finds the columns of the keys in the first row. BL_EDATA: one is missing. */
int bl_item_find_columns(struct bl_item *item, const struct bl_document *row, char mark,
                         struct bl_item_columns *columns, struct bl_error *e);

/* Makes an item of the values of the keys, from a line of JSON or a row. */
int bl_item_read_values(struct bl_item *item, const struct bl_json_value *value, const struct bl_document *line,
                        struct bl_error *e);

/* Adds the columns that are empty for most documents (bl_text_columns). The row is then complete. */
int bl_item_add_columns(struct bl_item *item, struct bl_error *e);

/* Replaces invalid UTF-8 in the text, or skips the item, as --invalid says. at: byte offset of the text in the file. */
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

/* Whether documents are compared by the key "text", which those without keys are themselves. */
bool bl_item_is_same_text(const struct bl_item *item);

/* A row from ids: begin, add ids, finish. An invalid id makes it a skipped row. */
void bl_item_begin(struct bl_item *item, int64_t offset);
int bl_item_add_id(struct bl_item *item, int64_t id, struct bl_error *e);
/* Adds the ids that begin or end every document. */
int bl_item_add_marks(struct bl_item *item, const struct bl_document_marks *marks, struct bl_error *e);
/* Ends the ids of a document so that no mark is doubled: removes the --bos that was added if the document's own ids
 * begin with it, and adds the end marks unless its ids end with --eos. Sets had_bos and had_eos. */
int bl_item_end_ids(struct bl_item *item, struct bl_error *e);
/* Sets the content of the row to the ids added so far, without those that begin the document. */
void bl_item_set_content(struct bl_item *item);
int bl_item_finish(struct bl_item *item, struct bl_error *e);

/* BL_EUSAGE, with the message of inputs that need a tokenizer. */
int bl_item_refuse_text(struct bl_error *e);

/* BL_EUSAGE if --fim is given: the file holds ids. */
int bl_item_refuse_ids_for_fim(const struct bl_text_config *config, const char *path, struct bl_error *e);

/* Makes the row a skipped one, with this reason. Returns BL_OK. */
int bl_item_skip(struct bl_item *item, const char *format, ...) BL_PRINTF(2, 3);

#endif
