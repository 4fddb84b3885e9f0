/* Sequences that are left out by request: their rows are dropped, have no length, and the reason names the option. */
#ifndef BL_LEFT_OUT_H
#define BL_LEFT_OUT_H

#include <stdint.h>

/* Begins the reason; the option's name follows. */
#define BL_LEFT_OUT "left out by --"

/* The options, in the order in which they are applied. */
enum bl_left_out {
    BL_LEFT_OUT_EXCLUDE,
    BL_LEFT_OUT_EXTEND,
    BL_LEFT_OUT_WHERE,
    BL_LEFT_OUT_MIN_TRAINED,
    BL_LEFT_OUT_DEDUP,
    BL_LEFT_OUT_DEDUP_BY,
    BL_LEFT_OUT_TAKE,
    BL_LEFT_OUT_SHARE,
    BL_LEFT_OUT_FIRST,
    BL_LEFT_OUT_OPTIONS
};

struct bl_left_out_counts {
    int64_t by[BL_LEFT_OUT_OPTIONS]; /* rows */
};

/* The option's name, without dashes. */
const char *bl_left_out_option(enum bl_left_out by);

/* Counts a row by its reason; any other reason counts for nothing. */
void bl_left_out_count(struct bl_left_out_counts *counts, const char *reason);

#endif
