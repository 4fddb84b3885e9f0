/* A request: a piece of one sequence that a reader is to read. */
#ifndef BL_REQUEST_H
#define BL_REQUEST_H

#include <stdint.h>

#include "base/meter.h"
#include "base/shared_memory.h"
#include "kind/row.h"

struct bl_request {
    struct bl_row row;      /* as the scan left it; path is openable */
    int64_t sequence;       /* the number of that row in the table */
    int64_t source_start;   /* first step wanted */
    int64_t steps;          /* how many; source_start + steps <= row.length, or followed */
    uint8_t *const *out;    /* for each field: steps * bl_field_step_bytes bytes, all of them to be written */
    double *times;          /* [steps], or NULL: when each step begins (bl_kind_read.times). Written by the kind whose
                               sequence it is, read by kinds that follow it */
    struct bl_meter *meter; /* counts steps that are read, or NULL */
    const struct bl_shared_memory
        *memory;      /* that out lies in, for processes of other kinds; or NULL: out is this process's */
    int64_t followed; /* for a kind that follows: steps of the sequence; row is that of its own file, if any */
};

/* What reading a piece noticed without failing: a reason that is stored beside the sequence, which stays ok. */
struct bl_note {
    char text[256]; /* "" for none */
};

#endif
