/* The environment of a run, the same for every kind. */
#ifndef BL_KIND_ENV_H
#define BL_KIND_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "kind/media_options.h"

struct bl_isolation;
struct bl_reservation;

struct bl_kind_env {
    struct bl_cancel *cancel;           /* every loop that can last tests it and returns BL_ECANCEL */
    enum bl_simd simd;                  /* the level that was applied */
    const char *spool;                  /* directory for what counting stores for reading; NULL: nothing will be read */
    int64_t decoder_memory;             /* bytes that decoding one input may take; 0: no limit */
    bool shared;                        /* other machines read and write the spool, too */
    struct bl_isolation *isolation;     /* of kinds that decode in processes of their own; NULL: none do */
    struct bl_reservation *reservation; /* the worker's, of memory to decode with; NULL: it need not ask */
};

#endif
