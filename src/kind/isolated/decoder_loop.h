/* The work of a decoder process: answers its worker's requests until that closes the channel. */
#ifndef BL_DECODER_LOOP_H
#define BL_DECODER_LOOP_H

#include "kind/isolated/fork_server.h"
#include "kind/kind.h"

/* What the process decodes. */
struct bl_decoder_part {
    const struct bl_kind *kind;
    const void *config;
};

/* Numbers of struct bl_spawn. */
enum bl_decoder_number { BL_DECODER_PART, BL_DECODER_SIMD, BL_DECODER_MEMORY };

/* Is given to the fork server. context: struct bl_decoder_context. spawn->fd: a struct bl_progress_page. */
bl_fork_main bl_decoder_loop;

struct bl_decoder_context {
    const struct bl_decoder_part *part; /* [BL_DECODER_PART] */
    bool filtered;                      /* there is a filter of system calls: no process goes without */
};

#endif
