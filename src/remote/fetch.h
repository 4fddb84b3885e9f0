/* What the functions of remote.h share: the client, and a request that is repeated until it succeeds. */
#ifndef BL_FETCH_H
#define BL_FETCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "remote/access.h"
#include "remote/detours.h"
#include "remote/exchange.h"

struct bl_handles;

struct bl_remote {
    const struct bl_curl *curl;
    struct bl_remote_options options;
    const struct bl_cancel *cancel;
    struct bl_access *access;
    pthread_mutex_t lock;
    struct bl_handles *idle;   /* under the lock */
    struct bl_detours detours; /* of objects of the Hub */
    atomic_bool is_reached, is_ending;
    atomic_llong requests, retries, wanted, fetched, sent;
};

/* Frees the handles that no thread uses. */
void bl_handles_free_all(struct bl_remote *remote);

/* What a caller wants. Set the members before `handles`; free the answer with bl_answer_free. */
struct bl_fetch {
    struct bl_remote *remote;
    const char *name; /* the URL as given, for messages */
    const struct bl_url *url;
    struct bl_ask ask;
    int64_t size;       /* of the object; -1: unknown */
    const char *verb;   /* for messages: "written"; NULL: "fetched" */
    bool is_definite;   /* what the server refuses is the user's to change: BL_EUSAGE */
    bool is_write;      /* it changes objects; see bl_fetch_run */
    bool is_completion; /* it completes an upload, for which the server may take minutes */
    bool is_last;       /* there is one try, which a cancel does not stop: it clears up */
    bl_exchange_sink *sink;
    void *context;
    struct bl_buffer *text; /* what the sink appends to, emptied before another try; or NULL */
    struct bl_handles *handles;
    struct bl_answer answer; /* the last one */
    char fault[64];          /* of a write: the code of what the store says is wrong, or "" */
    bool may_be_done;        /* a write was tried, and no answer said that it was not done */
    char region[64];         /* of the last request */
    bool is_signed;          /* the last request was */
    int renewals;
};

/* Makes tries until one succeeds: the answer is 200 or 206, whose body the sink has, or a redirect of the Hub that a
 * HEAD asked for. Errors as in remote.h.
 *
 * A write succeeds with 200, 201 or 204 and an answer that is no fault. BL_OK also where the store refuses it for what
 * is there, which the caller judges by answer.status: 412 (a condition was not met), 404 (there is no such upload or
 * object) and, for the completion of an upload, 409 (another writer came between). */
int bl_fetch_run(struct bl_fetch *fetch, struct bl_error *e);

#endif
