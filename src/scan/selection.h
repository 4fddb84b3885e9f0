/* Selecting sequences: conditions on a column, lists of ids to exclude, and the options of subsets and splits. */
#ifndef BL_SELECTION_H
#define BL_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"
#include "kind/row.h"
#include "kind/text/normal_form.h"
#include "store/sequences.h"

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* A condition on a column of the table of sequences: "length >= 30", "speaker != s3", "id ~ train/?*". */

enum bl_comparison {
    BL_COMPARE_EQUAL,
    BL_COMPARE_UNEQUAL,
    BL_COMPARE_LESS,
    BL_COMPARE_AT_MOST,
    BL_COMPARE_GREATER,
    BL_COMPARE_AT_LEAST,
    BL_COMPARE_GLOB
};

/* The numeric value of a text, if the text is a decimal number. */
struct bl_decimal {
    bool is_number, is_whole;
    int64_t whole; /* is_whole: exact, as ids may have more digits than a double */
    double value;
};

struct bl_condition {
    char *text; /* column and value, with a NUL after each */
    const char *column, *value;
    enum bl_comparison comparison;
    struct bl_decimal number; /* of the value */
};

/* Parses "COLUMN OP VALUE", with or without spaces around OP. BL_EUSAGE: malformed, or < <= > >= without a number. To
 * be freed also after an error. */
int bl_condition_parse(struct bl_condition *condition, const char *text, struct bl_error *e);
void bl_condition_free(struct bl_condition *condition);

/* Returns whether a value of the column fulfils the condition. *no_number: the condition needs a number, but the value
 * is none. */
bool bl_condition_holds(const struct bl_condition *condition, const char *value, bool *no_number);

/* --- exclusion ---------------------------------------------------------------------------------------------------- */

/* An exclusion is the set of ids of sequences to leave out, given one by one or in lists. */

struct bl_exclusion;

/* Each argument is an id, or @FILE for a file with one id a line; relative paths of files count from base, if it is not
 * NULL. BL_EUSAGE: file not found. */
int bl_exclusion_open(struct bl_exclusion **exclusion, const char *const *arguments, int count, const char *base,
                      struct bl_error *e);
void bl_exclusion_close(struct bl_exclusion *exclusion);

/* Whether a sequence is excluded: by its own id, or by that of its file, if not NULL. Callable by many threads at once.
 */
bool bl_exclusion_has(struct bl_exclusion *exclusion, const char *id, const char *file);

/* Marks a row as excluded: dropped, with the reason. */
void bl_exclusion_apply(struct bl_row *row);

/* The same for a row of a table: its id begins with the id of its file. file: scratch. */
bool bl_exclusion_has_row(struct bl_exclusion *exclusion, const struct bl_row *row, struct bl_buffer *file);

/* Marks the ids that occur in a table made with this exclusion, for bl_exclusion_append_unused. */
int bl_exclusion_match(const struct bl_sequences *table, struct bl_exclusion *exclusion, struct bl_error *e);

/* Appends the line of the exclusion in an identity: the number of distinct ids and a digest of them. */
void bl_exclusion_identify(const struct bl_exclusion *exclusion, struct bl_buffer *out);

/* Appends "--exclude ID: no sequence has that id, nor 2 others" if there are such ids. */
void bl_exclusion_append_unused(const struct bl_exclusion *exclusion, struct bl_buffer *out);

/* --- options of subsets ------------------------------------------------------------------------------------------- */

/* The options of subsets and splits, as flags and YAML keys. */

#define BL_SPLIT_PARTS_MAX 16
#define BL_SHARE_ALL 100000000 /* 100 % in millionths of a percent */

struct bl_split {
    struct {
        const char *name; /* of size bytes, within the text of the option */
        size_t size;
        int64_t share; /* in millionths of a percent; all are BL_SHARE_ALL together */
    } part[BL_SPLIT_PARTS_MAX];
    int parts;
};

struct bl_subset_options {
    struct bl_texts extend;
    const char *extend_base; /* directory that these count from where they are relative; NULL: the working directory */
    struct bl_texts where;
    int64_t min_trained; /* 0: not given */
    bool dedup;
    struct bl_same_text dedup_by; /* without a key: not given */
    struct bl_split split;
    const char *split_by, *take;
    int64_t share; /* in millionths of a percent; 0: not given */
    int64_t first; /* 0: not given */
    const char
        *together; /* the column of --together, which is an option of the plan, or NULL: --extend, --split, --take,
                      --share and --first take all sequences of a bundle or none */
};

extern const struct bl_option bl_subset_option_table[];

/* Returns whether one of the options is given. */
bool bl_subset_is_given(const struct bl_subset_options *options);

/* Checks the options without a table: the conditions, and that --take names a part of --split. Otherwise BL_EUSAGE. */
int bl_subset_check(const struct bl_subset_options *options, struct bl_error *e);

/* Returns whether a hash is within a share of all hashes. */
static inline bool bl_share_has(int64_t share, uint64_t hash)
{
    return (unsigned __int128)hash * BL_SHARE_ALL < (unsigned __int128)share << 64;
}

/* Returns the part of the split to which a value of the --split-by column belongs. */
int bl_split_part(const struct bl_split *split, const char *value);

/* Returns whether a value of the column is in the share, by its hash. */
bool bl_share_takes(int64_t share, const char *value);

/* Appends a share: "12.5%". */
void bl_share_format(int64_t share, struct bl_buffer *out);

#endif
