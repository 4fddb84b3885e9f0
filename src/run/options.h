/* The options of packing, as flags and YAML keys. */
#ifndef BL_RUN_OPTIONS_H
#define BL_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "store/format.h"

enum bl_pad { BL_PAD_ZERO, BL_PAD_REPEAT };
enum bl_on_error { BL_ON_ERROR_SKIP, BL_ON_ERROR_FAIL };

struct bl_compress {
    bool on;
    int level; /* of zstd */
};

/* The largest number of unusable inputs that a run accepts. */
struct bl_tolerance {
    bool set, percent;
    int64_t value;
};

struct bl_pack_options {
    const char *output, *sequences, *plan, *group_by;
    bool parents, store;
    int64_t shard_size;
    struct bl_encoding encode;
    struct bl_compress compress;
    int64_t frame_size; /* most bytes of a frame's content; BL_FRAME_MAX */
    int pad;            /* enum bl_pad */
    bool segment_ids;
    int64_t sequence_slots; /* S; 0: as many as the plan needs */
    int simd;               /* 0: auto; otherwise bl_kind's levels in the order of bl_simd_names */
    int64_t memory;         /* bytes; 0: the machine's */
    int on_error;           /* enum bl_on_error */
    struct bl_tolerance max_failed;
};

extern const struct bl_option_type bl_option_compress; /* struct bl_compress: none, zstd, zstd:19 */

extern const struct bl_option bl_pack_option_table[];

#define BL_SEQUENCE_SLOTS_HELP                                                                                         \
    "places for sequences in the tables of a block (S), the same for several datasets [as many as a block has "        \
    "sequences]"

/* The names of simd, "auto" first, ended by NULL. */
extern const char *const bl_simd_names[];

/* Whether failed of all inputs are more than the tolerance. */
bool bl_tolerance_exceeded(const struct bl_tolerance *tolerance, int64_t failed, int64_t inputs);

#endif
