/* The main loop of a decoder process: it answers the requests of its worker until the worker closes the channel. */
#ifndef BL_DECODER_LOOP_H
#define BL_DECODER_LOOP_H

#include "kind/isolated/fork_server.h"
#include "kind/kind.h"

/* A kind with its options. A decoder process decodes one of them. */
struct bl_decoder_part {
    const struct bl_kind *kind;
    const void *config;
};

/* The numbers in struct bl_spawn: the index of the part, the SIMD level, and --decoder-memory in bytes. */
enum bl_decoder_number { BL_DECODER_PART, BL_DECODER_SIMD, BL_DECODER_MEMORY };

/* The main function that the fork server runs in a new process. context is a struct bl_decoder_context, spawn->fd the
 * descriptor of a struct bl_progress_page. It does not return. */
bl_fork_main bl_decoder_loop;

struct bl_decoder_context {
    const struct bl_decoder_part *part; /* indexed by spawn->number[BL_DECODER_PART] */
    int parts;
    bool filtered; /* the kernel has system call filters: a process that cannot install one must end */
};

#endif
