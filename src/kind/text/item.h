/* An item: a document on its way to a row and its steps. */
#ifndef BL_ITEM_H
#define BL_ITEM_H

#include "base/cancel.h"
#include "kind/kind.h"
#include "kind/text/config.h"
#include "kind/text/encoder.h"

struct bl_item {
    const struct bl_text_config *config;
    struct bl_encoder *encoder; /* NULL without a tokenizer */
    struct bl_ids ids;
    struct bl_buffer text;     /* of the document, where it is not in the file as it is */
    struct bl_buffer repaired; /* the same with U+FFFD for what is no UTF-8 */
    struct bl_buffer values;   /* of the steps, where they are more than I32 ids */
    struct bl_buffer extra;    /* columns */
    char reason[1280];         /* more than an error's text */
    struct bl_row row;         /* status, length, offset, content, reason, extra */
    const void *steps;         /* of an ok row, as the fields have them */
    size_t bytes;
    uint64_t drained; /* of standard input: see struct bl_chunk */
};

/* cancel: once it is raised, encoding returns BL_ECANCEL. */
int bl_item_open(struct bl_item *item, const struct bl_text_config *config, const struct bl_cancel *cancel,
                 struct bl_error *e);
void bl_item_close(struct bl_item *item);

/* Turns a document of plain text, or a line of JSON, into a row: one without use is skipped, with the reason. *blank: a
 * line without anything, which gives no row. BL_EUSAGE: a text, and no tokenizer was given. */
int bl_item_read_plain(struct bl_item *item, const struct bl_document *document, struct bl_error *e);
int bl_item_read_json(struct bl_item *item, const struct bl_document *line, bool *blank, struct bl_error *e);

/* Begins a row of ids that are there already; then come the ids, each checked, and the end. */
void bl_item_begin(struct bl_item *item, int64_t offset);
int bl_item_add_id(struct bl_item *item, int64_t id, struct bl_error *e);
/* Its content is the ids that were added since, without the id that begins a document. */
void bl_item_set_content(struct bl_item *item);
int bl_item_finish(struct bl_item *item, struct bl_error *e);

/* A row for what cannot be used. */
int bl_item_skip(struct bl_item *item, const char *format, ...) BL_PRINTF(2, 3);

#endif
