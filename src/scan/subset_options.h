/* The options of subsets and splits, as flags and YAML keys. */
#ifndef BL_SUBSET_OPTIONS_H
#define BL_SUBSET_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/text/same_text.h"

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
};

extern const struct bl_option bl_subset_option_table[];

/* Whether one of them is given. */
bool bl_subset_is_given(const struct bl_subset_options *options);

/* Checks what can be checked without a table: the conditions, and that --take names a part of --split. BL_EUSAGE. */
int bl_subset_check(const struct bl_subset_options *options, struct bl_error *e);

/* Whether a hash is within a share of all hashes. */
static inline bool bl_share_has(int64_t share, uint64_t hash)
{
    return (unsigned __int128)hash * BL_SHARE_ALL < (unsigned __int128)share << 64;
}

/* The part of a value of the column that is split by. */
int bl_split_part(const struct bl_split *split, const char *value);

/* Whether a value of the column that is shared by is in the share. */
bool bl_share_takes(int64_t share, const char *value);

/* Appends a share: "12.5%". */
void bl_share_format(int64_t share, struct bl_buffer *out);

#endif
