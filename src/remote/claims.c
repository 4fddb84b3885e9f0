/* Takes, renews and ends claims.
 *
 * The caller's thread takes pieces, and a thread of the claims renews them. Whoever writes a claim that is held has the
 * mutex `turn`, during the request, too; `lock` guards the members of pieces. */
#include "remote/claims.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/process.h"
#include "base/text.h"
#include "remote/claim.h"
#include "remote/upload.h"

#define LEASE_LEAST 3
#define CONFLICTS_MAX 4 /* pieces in a row that others were quicker to take, before the list is fetched anew */

enum piece_state {
    PIECE_OPEN,
    PIECE_HELD, /* by this task */
    PIECE_DONE
};

struct piece {
    enum piece_state state; /* written by the caller's thread */
    bool is_there;          /* an open one: there has been a claim */
    bool is_lost;           /* a held one: another task has it */
    char *tag;              /* of the claim: as written, or as read */
    double until;           /* an open one: the lease of this tag ends then, in seconds of bl_seconds_now */
};

struct bl_claims {
    struct bl_remote *remote;
    char *prefix; /* with the "-" */
    int64_t count, lease;
    struct piece *piece; /* [count] */
    bool is_listed;      /* a list was fetched */
    char other[128];
    pthread_mutex_t turn, lock;
    pthread_cond_t wake;
    bool has_thread, is_closing;
    pthread_t thread;
};

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Appends the URL of a claim. */
static int claims_append_url(const struct bl_claims *c, int64_t number, struct bl_buffer *url, struct bl_error *e)
{
    bl_buffer_printf(url, "%s%05" PRId64, c->prefix, number);
    return bl_buffer_check(url, e);
}

/* Writes a claim. tag: of the claim that it replaces, or NULL: there is none. is_last: for the end of a run. */
static int claims_write(struct bl_claims *c, int64_t number, enum bl_claim_state state, const char *tag, bool is_last,
                        struct bl_remote_written *written, struct bl_error *e)
{
    struct bl_buffer url = {0}, text = {0};
    struct bl_claim claim;
    const struct bl_remote_condition condition = {.is_new = !tag, .tag = tag};
    BL_TRY(bl_claim_init(&claim, state, c->lease, e));
    bl_claim_format(&claim, &text);
    int code = bl_buffer_check(&text, e);
    if (!code)
        code = claims_append_url(c, number, &url, e);
    if (!code && is_last)
        code = bl_remote_put_last(c->remote, url.data, text.data, text.size, &condition, written, e);
    else if (!code)
        code = bl_remote_put(c->remote, url.data, text.data, text.size, &condition, written, e);
    bl_buffer_free(&url);
    bl_buffer_free(&text);
    return code;
}

/* Sets what is known of a piece. tag: it belongs to the piece from then on. */
static void piece_set(struct bl_claims *c, int64_t number, enum piece_state state, char *tag)
{
    struct piece *p = &c->piece[number];
    (void)pthread_mutex_lock(&c->lock);
    free(p->tag);
    *p = (struct piece){.state = state, .is_there = true, .tag = tag};
    (void)pthread_mutex_unlock(&c->lock);
}

/* --- renewal ------------------------------------------------------------------------------------------------------ */

/* Whether a claim is to be renewed. */
static bool claims_is_held(struct bl_claims *c, int64_t number)
{
    (void)pthread_mutex_lock(&c->lock);
    bool is_held = c->piece[number].state == PIECE_HELD && !c->piece[number].is_lost;
    (void)pthread_mutex_unlock(&c->lock);
    return is_held;
}

/* Renews a claim, if it is held. A failure of the store is no loss: where this task does not reach it, the next renewal
 * finds out what became of the claim. */
static void claims_renew(struct bl_claims *c, int64_t number)
{
    struct piece *p = &c->piece[number];
    struct bl_remote_written written = {0};
    struct bl_error fault = {0};
    (void)pthread_mutex_lock(&c->turn);
    if (claims_is_held(c, number) && !claims_write(c, number, BL_CLAIM_HELD, p->tag, false, &written, &fault)) {
        (void)pthread_mutex_lock(&c->lock);
        p->is_lost = written.outcome == BL_REMOTE_CONFLICT;
        if (!p->is_lost) {
            free(p->tag);
            p->tag = written.tag;
            written.tag = NULL;
        }
        (void)pthread_mutex_unlock(&c->lock);
    }
    (void)pthread_mutex_unlock(&c->turn);
    bl_remote_written_free(&written);
}

/* Waits until a time, in seconds of bl_seconds_now. Returns whether the claims are being closed. */
static bool claims_wait(struct bl_claims *c, double until)
{
    double whole = floor(until);
    const struct timespec end = {(time_t)whole, (long)((until - whole) * 1e9)};
    int result = 0;
    (void)pthread_mutex_lock(&c->lock);
    while (!c->is_closing && !result)
        result = pthread_cond_timedwait(&c->wake, &c->lock, &end);
    bool is_closing = c->is_closing;
    (void)pthread_mutex_unlock(&c->lock);
    return is_closing;
}

static void *renewer_main(void *context)
{
    struct bl_claims *c = context;
    for (double round = bl_seconds_now(); !claims_wait(c, round + (double)c->lease / 3);) {
        round = bl_seconds_now();
        for (int64_t i = 0; i < c->count; i++) {
            if (claims_is_held(c, i))
                claims_renew(c, i);
        }
    }
    return NULL;
}

/* Starts the thread, unless it runs. */
static int claims_start(struct bl_claims *c, struct bl_error *e)
{
    if (c->has_thread)
        return BL_OK;
    if (pthread_create(&c->thread, NULL, renewer_main, c) != 0)
        return bl_error_set(e, BL_EFAIL, "no thread can be started, to renew claims");
    c->has_thread = true;
    return BL_OK;
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* Tries to take a piece. tag: of the claim that is there, or NULL: none. */
static int claims_take(struct bl_claims *c, int64_t number, const char *tag, bool *taken, struct bl_error *e)
{
    struct bl_remote_written written = {0};
    BL_TRY(claims_start(c, e));
    BL_TRY(claims_write(c, number, BL_CLAIM_HELD, tag, false, &written, e));
    *taken = written.outcome == BL_REMOTE_WRITTEN;
    piece_set(c, number, *taken ? PIECE_HELD : PIECE_OPEN, written.tag);
    if (*taken && !tag)
        *c->other = '\0';
    return BL_OK;
}

/* Judges a claim that was read, and takes its piece where it may. */
static int claims_judge(struct bl_claims *c, int64_t number, const char *url, struct bl_remote_text *found, bool *taken,
                        struct bl_error *e)
{
    struct bl_claim claim = {0};
    struct bl_error fault = {0};
    /* A store may leave a claim without bytes where a writer was killed. */
    if (!found->exists || !found->text.size)
        return claims_take(c, number, found->exists ? found->tag : NULL, taken, e);
    if (bl_claim_parse(&claim, found->text.data, found->text.size, &fault))
        return bl_error_set(e, BL_EFAIL, "%s: %s", url, fault.text);
    if (claim.state == BL_CLAIM_DONE) {
        piece_set(c, number, PIECE_DONE, NULL);
        return BL_OK;
    }
    if (claim.state == BL_CLAIM_HELD && found->age < 0)
        return bl_error_set(e, BL_EUSAGE,
                            "%s: the store does not tell its time, and when the object was written (Date, "
                            "Last-Modified), so that it is unknown whether the task that holds it is alive",
                            url);
    *c->other = '\0';
    if (claim.state == BL_CLAIM_HELD)
        snprintf(c->other, sizeof c->other, "host %s, process %" PRId64, claim.host, claim.process);
    /* Both times are whole seconds. */
    if (claim.state == BL_CLAIM_FREE || found->age > claim.lease)
        return claims_take(c, number, found->tag, taken, e);
    piece_set(c, number, PIECE_OPEN, found->tag);
    found->tag = NULL;
    c->piece[number].until = bl_seconds_now() + (double)(claim.lease - found->age);
    return BL_OK;
}

/* Looks at a piece for which there has been a claim, unless its lease is known not to have ended. */
static int claims_look(struct bl_claims *c, int64_t number, bool *taken, struct bl_error *e)
{
    struct bl_remote_text found = {0};
    struct bl_buffer url = {0};
    if (c->piece[number].tag && bl_seconds_now() < c->piece[number].until)
        return BL_OK;
    int code = claims_append_url(c, number, &url, e);
    if (!code)
        code = bl_remote_get(c->remote, url.data, BL_CLAIM_MAX, &found, e);
    if (!code)
        code = claims_judge(c, number, url.data, &found, taken, e);
    bl_remote_text_free(&found);
    bl_buffer_free(&url);
    return code;
}

/* Notes that there is a claim, and whether it is done, and forgets what was read of it if it is another one now. */
static int claims_note(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    struct bl_claims *c = context;
    int64_t number;
    (void)e;
    if (!bl_text_numbered(object->url, c->prefix, 5, "", &number) || number >= c->count)
        return BL_OK;
    struct piece *p = &c->piece[number];
    if (p->state == PIECE_OPEN && object->size == BL_CLAIM_DONE_BYTES) {
        piece_set(c, number, PIECE_DONE, NULL);
    } else if (p->state == PIECE_OPEN) {
        p->is_there = true;
        p->until = p->tag && strcmp(p->tag, object->tag) == 0 ? p->until : 0;
    }
    return BL_OK;
}

/* Fetches the list of claims. */
static int claims_list(struct bl_claims *c, struct bl_error *e)
{
    c->is_listed = true;
    return bl_remote_list_any(c->remote, c->prefix, claims_note, c, e);
}

/* Goes through the open pieces from a random place on: those without claims, or those that had one. */
static int claims_pass(struct bl_claims *c, bool is_there, int64_t *number, bool *taken, struct bl_error *e)
{
    uint64_t place;
    int conflicts = 0;
    if (getrandom(&place, sizeof place, 0) != sizeof place)
        return bl_error_errno(e, BL_EFAIL, "random bytes");
    if (!c->count)
        return BL_OK;
    for (int64_t i = 0, n = (int64_t)(place % (uint64_t)c->count); i < c->count; i++, n = (n + 1) % c->count) {
        if (c->piece[n].state != PIECE_OPEN || c->piece[n].is_there != is_there)
            continue;
        BL_TRY(is_there ? claims_look(c, n, taken, e) : claims_take(c, n, NULL, taken, e));
        *number = n;
        if (*taken)
            return BL_OK;
        if (!is_there && ++conflicts == CONFLICTS_MAX) {
            BL_TRY(claims_list(c, e));
            conflicts = 0;
        }
    }
    return BL_OK;
}

int bl_claims_next(struct bl_claims *c, int64_t *number, enum bl_claims_outcome *outcome, struct bl_error *e)
{
    bool taken = false, is_first = !c->is_listed;
    *number = -1;
    if (is_first)
        BL_TRY(claims_list(c, e));
    BL_TRY(claims_pass(c, false, number, &taken, e));
    if (!taken && !is_first)
        BL_TRY(claims_list(c, e));
    if (!taken)
        BL_TRY(claims_pass(c, true, number, &taken, e));
    *outcome = taken ? BL_CLAIMS_TAKEN : BL_CLAIMS_DONE;
    for (int64_t i = 0; i < c->count && *outcome == BL_CLAIMS_DONE; i++)
        *outcome = c->piece[i].state == PIECE_DONE ? BL_CLAIMS_DONE : BL_CLAIMS_BUSY;
    return BL_OK;
}

const char *bl_claims_other(const struct bl_claims *c)
{
    return c->other;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

bool bl_claims_is_lost(struct bl_claims *c, int64_t number)
{
    (void)pthread_mutex_lock(&c->lock);
    bool is_lost = c->piece[number].is_lost;
    (void)pthread_mutex_unlock(&c->lock);
    return is_lost;
}

int bl_claims_finish(struct bl_claims *c, int64_t number, bool *lost, struct bl_error *e)
{
    struct bl_remote_written written = {.outcome = BL_REMOTE_CONFLICT};
    int code = BL_OK;
    (void)pthread_mutex_lock(&c->turn);
    if (!bl_claims_is_lost(c, number))
        code = claims_write(c, number, BL_CLAIM_DONE, c->piece[number].tag, false, &written, e);
    *lost = !code && written.outcome == BL_REMOTE_CONFLICT;
    if (!code)
        piece_set(c, number, *lost ? PIECE_OPEN : PIECE_DONE, NULL);
    (void)pthread_mutex_unlock(&c->turn);
    bl_remote_written_free(&written);
    return code;
}

/* Does bl_claims_release. False: the store was not reached. */
static bool claims_give_back(struct bl_claims *c, int64_t number)
{
    struct bl_remote_written written = {0};
    struct bl_error fault = {0};
    int code = BL_OK;
    (void)pthread_mutex_lock(&c->turn);
    if (!bl_claims_is_lost(c, number))
        code = claims_write(c, number, BL_CLAIM_FREE, c->piece[number].tag, true, &written, &fault);
    piece_set(c, number, PIECE_OPEN, NULL);
    (void)pthread_mutex_unlock(&c->turn);
    bl_remote_written_free(&written);
    return !code;
}

void bl_claims_release(struct bl_claims *c, int64_t number)
{
    (void)claims_give_back(c, number);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

int bl_claims_open(struct bl_claims **out, struct bl_remote *remote, const char *prefix, int64_t count, int64_t lease,
                   struct bl_error *e)
{
    pthread_condattr_t monotonic;
    struct bl_buffer text = {0};
    struct bl_claims *c = calloc(1, sizeof *c);
    bl_buffer_printf(&text, "%s-", prefix);
    if (c)
        *c = (struct bl_claims){.remote = remote, .prefix = text.data, .count = count};
    if (c)
        c->piece = calloc((size_t)count + 1, sizeof *c->piece);
    if (!c || !c->piece || text.failed || pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c ? c->piece : NULL);
        free(c);
        bl_buffer_free(&text);
        return bl_error_memory(e);
    }
    (void)pthread_mutex_init(&c->turn, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    c->lease = lease < LEASE_LEAST ? LEASE_LEAST : lease < BL_LEASE_MAX ? lease : BL_LEASE_MAX;
    *out = c;
    return BL_OK;
}

void bl_claims_close(struct bl_claims *c)
{
    if (!c)
        return;
    (void)pthread_mutex_lock(&c->lock);
    c->is_closing = true;
    (void)pthread_cond_signal(&c->wake);
    (void)pthread_mutex_unlock(&c->lock);
    if (c->has_thread)
        (void)pthread_join(c->thread, NULL);
    bool is_reached = true;
    for (int64_t i = 0; i < c->count; i++) {
        if (c->piece[i].state == PIECE_HELD && is_reached)
            is_reached = claims_give_back(c, i);
        free(c->piece[i].tag);
    }
    (void)pthread_cond_destroy(&c->wake);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_mutex_destroy(&c->turn);
    free(c->piece);
    free(c->prefix);
    free(c);
}
