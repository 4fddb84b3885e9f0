/* The kind that takes the place of one that is isolated (isolation.h): each of its functions has a decoder process do
 * what the kind would do in this one. */
#ifndef BL_ISOLATED_KIND_H
#define BL_ISOLATED_KIND_H

#include <stdatomic.h>

#include "kind/isolated/decoder_process.h"
#include "kind/kind.h"

struct bl_isolation_options {
    int isolate;   /* enum bl_isolate */
    int64_t stall; /* seconds of processor time */
};

#define BL_ISOLATION_IDLE_MAX 64

/* A kind that is isolated. */
struct bl_isolated_part {
    struct bl_kind kind; /* what takes its place */
    struct bl_kind_scan scan;
    struct bl_kind_read read;
    _Atomic(struct bl_decoder_process *) idle[BL_ISOLATION_IDLE_MAX]; /* processes that looked at fields or versions */
};

/* Initialize with {0}. */
struct bl_isolation {
    struct bl_isolation_options options;
    struct bl_isolated_part part[BL_FIELDS_MAX];
    struct bl_decoder_part decoder[BL_FIELDS_MAX]; /* the same parts as they are in a process */
    int parts;
    struct bl_decoder_context context;
    struct bl_fork_server server;
    struct bl_decoder_files files;
    struct bl_decoder_times times;
};

/* Makes the kind that takes the place of this one. */
void bl_isolated_kind_make(struct bl_isolated_part *part, const struct bl_kind *kind);
/* Ends the processes that are idle. */
void bl_isolated_kind_release(const struct bl_isolation *isolation, struct bl_isolated_part *part);

#endif
