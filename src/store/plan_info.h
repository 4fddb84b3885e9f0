/* Helpers for JSON by jansson, and the information about a plan that every JSON output contains. */
#ifndef BL_PLAN_INFO_H
#define BL_PLAN_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "plan/pair_repeat.h"
#include "plan/plan.h"

/* --- jansson ------------------------------------------------------------------------------------------------------ */

/* Making, formatting and reading JSON values by jansson. */

/* These add value to *list, or to *object as a member, and take ownership of value. If value is NULL or memory runs
 * out, the list or object is freed and becomes NULL; further calls leave it NULL. So the caller checks only the
 * finished list or object. */
void bl_jansson_push(json_t **list, json_t *value);
void bl_jansson_set(json_t **object, const char *name, json_t *value);

/* Appends an object as compact text, or as indented text and a newline, and frees it. NULL: BL_EFAIL, out of memory. */
int bl_jansson_append_compact(json_t *object, struct bl_buffer *out, struct bl_error *e);
int bl_jansson_append(json_t *object, struct bl_buffer *out, struct bl_error *e);

/* Returns text as a string value. JSON holds only UTF-8: other bytes become \xHH, as in tables. The text NULL becomes
 * "". Returns NULL if memory runs out. */
json_t *bl_jansson_escaped(const char *text);

/* Reverses bl_jansson_escaped for a string. A text with invalid escapes is copied unchanged. Frees the old *out; the
 * caller frees the new one. */
int bl_jansson_unescaped(const json_t *value, char **out, struct bl_error *e);

/* Reads an integer member. BL_EDATA: it is missing, is not an integer, or is less than min or more than max. */
int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e);

/* An integer member that is at least min. */
struct bl_jansson_integer {
    const char *name;
    int64_t min, *value;
};

/* Reads several integer members as bl_jansson_get_integer does. */
int bl_jansson_get_integers(const json_t *object, const struct bl_jansson_integer *member, size_t count,
                            struct bl_error *e);

/* Reads a string member, valid as long as object. BL_EDATA: missing, or not a string. */
int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e);

/* Reads a string member that bl_jansson_escaped made. Frees the old *value; the caller frees the new one. */
int bl_jansson_get_unescaped(const json_t *object, const char *name, char **value, struct bl_error *e);

/* Reads a checksum of 16 hexadecimal digits. BL_EDATA: it is missing or invalid. */
int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e);

/* Parses a text with the flags of json_loadb. The caller releases *object with json_decref. BL_EDATA: the text is
 * invalid; the message names the line, and *object is NULL. */
int bl_jansson_parse(const char *text, size_t size, size_t flags, json_t **object, struct bl_error *e);

/* --- plan information --------------------------------------------------------------------------------------------- */

/* The information about a plan. Every JSON output has it under the same names. */

struct bl_plan_info {
    char strategy[16];
    char fill[16];     /* "": the strategy has none; null in JSON */
    int64_t T;         /* steps of a block; with the strategies sample and mix, steps of a clip */
    uint64_t seed;     /* in JSON a number up to 2^63 - 1, a string of digits above */
    bool seed_unknown; /* the plan was given as a file; null in JSON */
    int64_t sequences, steps, longest;
    int64_t blocks;
    int64_t padding, deleted; /* steps */
    int64_t overlap;          /* steps, as in struct bl_plan; in JSON, as repeated is, if there is an overlap */
    int64_t repeated;         /* steps that are placed a second time */
    int64_t align_padding;    /* steps of the padding that alignment costs; in JSON if there are any */
    int64_t cp;               /* ranks of context parallelism; in JSON if there are any */
    int64_t cut;              /* sequences */
    char together[BL_PLAN_COLUMN_SIZE]; /* column whose values share a block; "": none; in JSON, as the next two are, if
                                           there is one */
    int64_t bundles, bundles_split, bundle_pairs; /* as in struct bl_plan */
    double efficiency;                            /* steps of sequences / (blocks * T), 0 to 1 */
    int64_t lower_bound;                          /* blocks; gap and optimal follow from it */
    int64_t world_size, batch_size;
    int64_t batches_per_rank;
    int64_t bytes;                     /* of the fields' arrays; in JSON if they are known, and not 0 */
    double seconds;                    /* to make the plan; in JSON if it was measured */
    struct bl_plan_balance balance;    /* in JSON if it is measured */
    bool cost_is_given;                /* the balance is by a cost that the user gave; not in JSON */
    struct bl_pair_repeat pair_repeat; /* beside another plan; in JSON if it is measured */
    struct bl_plan_info_column {
        char name[BL_PLAN_COLUMN_SIZE];
        double max;
        struct bl_plan_filled filled;
        bool is_field;             /* a field with steps of its own; max is its capacity */
    } column[BL_PLAN_COLUMNS_MAX]; /* those with a maximum, then the fields */
    int columns;
};

/* Collects the information about a plan. */
void bl_plan_info_make(struct bl_plan_info *plan_info, const struct bl_plan *plan,
                       const struct bl_plan_options *options);

/* Sets the fields with steps of their own, without the lengths of the sequences, to those of the information. */
void bl_plan_info_own(const struct bl_plan_info *plan_info, struct bl_plan_own *own);

/* Appends a text that says how full the blocks are in a column with a maximum. */
void bl_plan_info_column_describe(const struct bl_plan_info_column *column, struct bl_buffer *out);

/* Appends the imbalance at each point and its bound, or nothing if there is one point: "tokens 0.60 % (minimum: 0.00
 * %), pixels ...". is_idle: as shares of the time at the point. */
void bl_plan_info_points_describe(const struct bl_plan_balance *balance, bool is_idle, struct bl_buffer *out);

/* Appends the information as a JSON object and a newline: the output of `plan --report`. is_internal: it is the text in
 * a file that only bload reads, in which some members keep their old names. */
int bl_plan_info_format(const struct bl_plan_info *plan_info, bool is_internal, struct bl_buffer *out,
                        struct bl_error *e);

/* Parses the output of bl_plan_info_format. BL_EDATA: invalid. */
int bl_plan_info_parse(struct bl_plan_info *plan_info, const char *text, size_t size, struct bl_error *e);

/* Reads the same text from a file that ends with its checksum (base/checksum.h). BL_EFAIL: the checksum is wrong. */
int bl_plan_info_read(struct bl_plan_info *plan_info, const char *path, struct bl_error *e);

/* Appends {"rows": [...]}: the output of `compare --json`. */
int bl_plan_info_format_rows(const struct bl_plan_info *plan_info, int count, struct bl_buffer *out,
                             struct bl_error *e);

/* Plans of the same sequences with one T. */
struct bl_plan_info_set {
    int64_t T;
    const struct bl_plan_info *row;
    int rows;
};

/* Appends {"sets": [{"T": 1024, "rows": [...]}, ...]}: the same for several T. */
int bl_plan_info_format_sets(const struct bl_plan_info_set *set, int count, struct bl_buffer *out, struct bl_error *e);

/* Returns the steps of all pieces, repeated ones included. */
static inline int64_t bl_plan_info_placed(const struct bl_plan_info *plan_info)
{
    return plan_info->steps - plan_info->deleted + plan_info->repeated;
}

/* Returns true if the plan is that of a store (--store). */
bool bl_plan_info_is_store(const struct bl_plan_info *plan_info);

/* --- plan information as JSON ------------------------------------------------------------------------------------- */

/* The information about a plan as members of a JSON object. */

/* Adds the members to *object as bl_jansson_set does. */
void bl_plan_info_to_json(const struct bl_plan_info *info, bool is_internal, json_t **object);

/* Reads them. BL_EDATA names the member that is missing or invalid. */
int bl_plan_info_from_json(struct bl_plan_info *info, const json_t *object, struct bl_error *e);

#endif
