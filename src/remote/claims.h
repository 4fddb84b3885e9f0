/* Claims of numbered pieces of work, for tasks that share nothing but a store.
 *
 * A claim is an object PREFIX-00012. A task takes a piece by writing its claim on condition that there is none, and
 * holds it for the seconds of a lease, which a thread renews every third of it. Where the holder is silent for longer,
 * another task takes the piece over, on condition that the claim is still the one that it has read. So of all tasks one
 * holds a piece, and one that was slow learns that it does so no longer. Two tasks may work on one piece for a while:
 * what they write must be the same, or be written on conditions, too (once.h).
 *
 * Only the store's clock counts: the age of a claim is the store's time, as it answers, less the time at which the
 * claim was written. Clocks of machines may differ.
 *
 * One thread calls all functions but bl_claims_is_lost. Errors as in upload.h. */
#ifndef BL_CLAIMS_H
#define BL_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

#define BL_LEASE_SECONDS 60

struct bl_claims;

/* Opens the claims of pieces 0 to count - 1. prefix: a URL up to the number and the "-" before it,
 * "s3://bucket/dataset/.bload/claims/shard". lease: from 3 seconds on. remote must outlive the claims. No request is
 * made, and no thread is started, before the first piece. */
int bl_claims_open(struct bl_claims **out, struct bl_remote *remote, const char *prefix, int64_t count, int64_t lease,
                   struct bl_error *e);

enum bl_claims_outcome {
    BL_CLAIMS_TAKEN, /* the caller holds the piece */
    BL_CLAIMS_BUSY,  /* all that are not done are held, by this task or by others: ask again after some seconds */
    BL_CLAIMS_DONE   /* all are done */
};

/* Takes the next piece. Tasks begin at random places, so that they seldom meet. BL_EUSAGE also where the store does not
 * tell its time. */
int bl_claims_next(struct bl_claims *claims, int64_t *number, enum bl_claims_outcome *outcome, struct bl_error *e);

/* Returns who holds a piece, after BL_CLAIMS_BUSY, or held the one that was taken and was silent: "host h, process 12".
 * "": nobody. Valid until the next call. */
const char *bl_claims_other(const struct bl_claims *claims);

/* Returns whether another task has taken over a piece that the caller holds. The caller may stop its work on it. For
 * any thread. */
bool bl_claims_is_lost(struct bl_claims *claims, int64_t number);

/* Marks a piece that the caller holds as done. *lost: another task has taken it over, and may be at work on it. Either
 * way the caller does not hold it any more. */
int bl_claims_finish(struct bl_claims *claims, int64_t number, bool *lost, struct bl_error *e);

/* Gives a piece back, so that another task can take it at once. Where that fails, its lease ends. */
void bl_claims_release(struct bl_claims *claims, int64_t number);

/* Gives all pieces back, also after a cancel or bl_remote_end, which ends a renewal that is under way. NULL is
 * accepted. */
void bl_claims_close(struct bl_claims *claims);

#endif
