/* The environment of a run, which every function of a kind gets, and the inputs. */
#ifndef BL_ENV_H
#define BL_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "kind/media_options.h"

/* --- environment -------------------------------------------------------------------------------------------------- */

/* The environment of a run, the same for every kind. */

struct bl_isolation;
struct bl_reservation;

struct bl_kind_env {
    struct bl_cancel *cancel;           /* every loop that can last tests it and returns BL_ECANCEL */
    enum bl_simd simd;                  /* the level that was applied */
    const char *spool;                  /* directory for what counting stores for reading; NULL: nothing will be read */
    const char *spool_url;              /* where further files of it are: kind/text/spool.h; NULL: nowhere */
    int64_t decoder_memory;             /* bytes that decoding one input may take; 0: no limit */
    bool shared;                        /* other machines read and write the spool, too */
    struct bl_isolation *isolation;     /* for kinds that decode in separate processes; NULL: none do */
    struct bl_reservation *reservation; /* the worker's, of memory for decoding; NULL: memory is not limited */
};

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* An input: a file, or a folder for kinds whose inputs are folders. */

struct bl_input {
    const char *path; /* to open; "-": standard input */
    const char *name; /* the path as it was given, for the table */
    int64_t bytes;
    int64_t modified;  /* nanoseconds since 1970 */
    uint64_t content;  /* digest (kind/input_stat.h); 0: not computed */
    const char *fault; /* the reason if it is known to be unusable; or NULL */
    const char *id;    /* the ids of its sequences begin with it */
};

#endif
