/* The numbers of a data card: a dataset's sequences, steps and hours by source, label, language, codec, resolution and
 * rate, as far as the columns of the table of sequences say them. */
#ifndef BL_CARD_H
#define BL_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "report/tally.h"
#include "store/manifest.h"
#include "store/row_reader.h"

/* The properties by which rows are counted. */
enum bl_card_by {
    BL_CARD_SOURCES,
    BL_CARD_LABELS,
    BL_CARD_LANGUAGES,
    BL_CARD_CODECS,
    BL_CARD_RESOLUTIONS,
    BL_CARD_RATES,
    BL_CARD_WAYS
};

/* The names in JSON: "sources", "labels", ... */
extern const char *const bl_card_names[BL_CARD_WAYS];

enum {
    BL_CARD_SHOWN = 20,      /* values that are listed; the others are summed up */
    BL_CARD_VALUE_MAX = 256, /* bytes of a value; longer ones are texts, and count as others */
};

/* Begin with {0}, end with bl_card_free. Only ok rows count. */
struct bl_card {
    struct bl_tally_entry all;           /* all rows; no key */
    struct bl_tally count[BL_CARD_WAYS]; /* by value, "" for none; of sources by `by` */
    struct bl_tally folders, files;      /* the sources, if neither a view nor a column names them */
    const char *by[BL_CARD_WAYS];        /* the column, "width, height", "dataset", "folder" or "file"; NULL: none */
    const struct bl_columns *columns;    /* of the row before: the members below are about them */
    const char *column[BL_CARD_WAYS];    /* the column that this table has; NULL: none */
    struct bl_buffer key;
};

/* Counts a row that was read. source: the dataset of a view that has it, or NULL. */
int bl_card_add(struct bl_card *card, const struct bl_row_reader *text, const char *source, struct bl_error *e);

/* Returns the name of the dataset of a view that has this row; NULL: the manifest is that of a dataset, or empty. */
const char *bl_card_source(const struct bl_manifest *manifest, size_t row);

/* Ends counting: the entries are put in order, those with most steps first. */
void bl_card_finish(struct bl_card *card);

/* Reads the rows of a table into the card, and finishes it. manifest: that of the dataset or view that has the table.
 */
int bl_card_read(struct bl_card *card, const struct bl_sequences *table, const struct bl_manifest *manifest,
                 struct bl_error *e);

/* Returns whether the table has a column by which its rows are counted. */
bool bl_card_has_columns(const struct bl_sequences *table);
void bl_card_free(struct bl_card *card);

/* Sums up the entries of a tally from `shown` on, and those that have no entry. *values: how many there are; -1: not
 * known, since the tally was full. */
struct bl_tally_entry bl_card_others(const struct bl_tally *tally, size_t shown, int64_t *values);

/* Returns the card as JSON; NULL: memory ran out. */
struct json_t;
struct json_t *bl_card_json(const struct bl_card *card);

/* Appends a section with a table for each way that is known. */
void bl_card_append_page(const struct bl_card *card, struct bl_buffer *out);

/* Returns the hours of an ok row, by the rate of its kind, its column fps or its duration; 0: not known. */
double bl_card_hours(const struct bl_row_reader *text);

#endif
