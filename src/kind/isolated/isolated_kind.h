/* A kind that replaces an isolated one (isolation.h). Its functions send requests to a decoder process, which calls the
 * functions of the isolated kind. */
#ifndef BL_ISOLATED_KIND_H
#define BL_ISOLATED_KIND_H

#include <stdatomic.h>

#include "kind/isolated/decoder_process.h"
#include "kind/kind.h"

struct bl_isolation_options {
    int isolate;   /* enum bl_isolate */
    int64_t stall; /* a process is killed after this many seconds of processor time without progress */
};

#define BL_ISOLATION_IDLE_MAX 64

/* The replacement of one isolated kind. */
struct bl_isolated_part {
    struct bl_kind kind; /* the replacement; points to scan and read */
    struct bl_kind_scan scan;
    struct bl_kind_read read;
    _Atomic(struct bl_decoder_process *) idle[BL_ISOLATION_IDLE_MAX]; /* idle processes for fields and versions */
};

/* Initialize with {0}. */
struct bl_isolation {
    struct bl_isolation_options options;
    struct bl_isolated_part part[BL_FIELDS_MAX];
    struct bl_decoder_part decoder[BL_FIELDS_MAX]; /* the isolated kinds, as the processes call them */
    int parts;
    struct bl_decoder_context context;
    struct bl_fork_server server;
    struct bl_decoder_files files;
    struct bl_decoder_times times;
};

/* Makes the replacement of a kind in part->kind. */
void bl_isolated_kind_make(struct bl_isolated_part *part, const struct bl_kind *kind);
/* Ends and frees the idle processes. */
void bl_isolated_kind_release(const struct bl_isolation *isolation, struct bl_isolated_part *part);

#endif
