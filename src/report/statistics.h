/* Means and standard deviations of the values of a dataset by channel, over a sample of its blocks: what trainers
 * normalize by. */
#ifndef BL_STATISTICS_H
#define BL_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/row.h"

/* The finite values of a channel, in units of the field. */
struct bl_moments {
    int64_t count;
    int64_t not_finite; /* NaN and infinite values, which do not count */
    double first;       /* the first value, from which the mean is counted */
    double mean, m2;    /* mean: less first; m2: sum of the squared differences from the mean */
    double least, most;
};

/* Adds values to the moments of their channels: value i is of channel i % channels. values: a multiple of channels.
 * scratch: room for as many moments. The result depends on how values are divided among calls only in the last
 * digits. */
void bl_moments_add(struct bl_moments *moments, int64_t channels, enum bl_dtype dtype, const uint8_t *data,
                    int64_t values, struct bl_moments *scratch);

struct bl_field_statistics {
    int field;      /* of the format */
    double scale;   /* values are divided by it: 255 for U8 pictures, 32768 for I16 sound, otherwise 1 */
    const char *of; /* what a channel is: "pixels", "amplitude", "features", "values" */
    int64_t channels;
    struct bl_moments *channel; /* [channels] not divided by scale */
};

struct bl_statistics {
    int64_t blocks, all_blocks; /* read, of how many */
    int64_t sequences, steps;   /* pieces of sequences in them, and their steps; no padding */
    int64_t failed;             /* pieces that failed while packing, which have no steps */
    int fields;
    struct bl_field_statistics field[BL_FIELDS_MAX];
    int left;
    int left_out[BL_FIELDS_MAX]; /* fields without values that could be normalized: ids, labels, times, own steps */
};

/* Reads blocks of the dataset or view in dir and compares them with their checksums. blocks: how many, drawn by the
 * seed of the plan; 0: all. BL_EUSAGE: no field has values that could be normalized. BL_EFAIL: a block is damaged. Free
 * with bl_statistics_free, also after errors. */
int bl_statistics_read(struct bl_statistics *statistics, const char *dir, int64_t blocks,
                       const struct bl_cancel *cancel, struct bl_error *e);
void bl_statistics_free(struct bl_statistics *statistics);

/* The numbers of a channel in units of its scale; NAN if it has no finite value. */
struct bl_channel_numbers {
    double mean, std, least, most;
};
struct bl_channel_numbers bl_channel_numbers(const struct bl_field_statistics *field, int64_t channel);

/* Returns the statistics as JSON; NULL: memory ran out. */
struct json_t;
struct bl_format;
struct json_t *bl_statistics_json(const struct bl_statistics *statistics, const struct bl_format *format);

#endif
