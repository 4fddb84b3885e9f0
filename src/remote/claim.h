/* The text of a claim: an object that says which task does a piece of work.
 *
 * It has lines "name: value". Each text that is written has another random number, so that a writer whose answer was
 * lost recognizes its own, and no tag of an object comes twice. */
#ifndef BL_CLAIM_H
#define BL_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_CLAIM_MAX 4096                 /* bytes of a text */
#define BL_LEASE_MAX ((int64_t)7 * 86400) /* seconds */

enum bl_claim_state {
    BL_CLAIM_HELD, /* for the seconds of its lease, from its last writing on */
    BL_CLAIM_FREE, /* it was given back: anyone may take it at once */
    BL_CLAIM_DONE
};

struct bl_claim {
    enum bl_claim_state state;
    char host[65]; /* printable ASCII */
    int64_t process, lease;
    uint64_t random[2];
};

/* Fills in this machine, this process, and new random numbers. */
int bl_claim_init(struct bl_claim *claim, enum bl_claim_state state, int64_t lease, struct bl_error *e);

/* The size of a claim that is done; no other has it, so that a list of objects tells which pieces are done. */
#define BL_CLAIM_DONE_BYTES 256

void bl_claim_format(const struct bl_claim *claim, struct bl_buffer *out);

/* Parses a text. Lines with unknown names are ignored. BL_EFAIL: it is no claim. */
int bl_claim_parse(struct bl_claim *claim, const char *text, size_t size, struct bl_error *e);

#endif
