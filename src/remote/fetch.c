/* Makes requests until they succeed, or cannot succeed.
 *
 * A fetch takes one exchange, or several because of redirects, regions and failures. */
#include "remote/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/text.h"
#include "remote/listing.h"

#define HOPS_MAX 10 /* redirects of a request */
#define CONNECT_SECONDS 10
#define COMPLETION_PATIENCE 10 /* times the usual pause of a server that completes an upload */
#define PAUSE_FIRST 0.25       /* seconds; each pause is twice as long as the one before */
#define PAUSE_MAX 16.0
#define PAUSE_ASKED_MAX 60           /* seconds that a server may ask for */
#define UNREACHED_RETRIES 2          /* before any server was reached: a name is most likely wrong */
#define PROGRESS ((int64_t)1 << 20)  /* bytes after which failures are counted anew */
#define LIST_MAX ((int64_t)64 << 20) /* bytes of a part of a list */
#define RENEWALS_MAX 3               /* of regions and keys, for a fetch */

/* Two handles of libcurl: for what the user named, and for where servers redirect to. Each has connections of its own,
 * so that a redirect never uses one to an address that is not public. */
struct bl_handles {
    void *own, *far;
    struct bl_handles *next;
};

/* --- handles ------------------------------------------------------------------------------------------------------ */

/* Frees handles of libcurl; either may be NULL. */
static void handles_free(const struct bl_curl *curl, struct bl_handles *handles)
{
    if (handles && handles->own)
        curl->curl_easy_cleanup(handles->own);
    if (handles && handles->far)
        curl->curl_easy_cleanup(handles->far);
    free(handles);
}

void bl_handles_free_all(struct bl_remote *remote)
{
    while (remote->idle) {
        struct bl_handles *next = remote->idle->next;
        handles_free(remote->curl, remote->idle);
        remote->idle = next;
    }
}

/* Takes handles that no thread uses, or makes new ones. NULL: memory ran out. */
static struct bl_handles *remote_take_handles(struct bl_remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    struct bl_handles *handles = remote->idle;
    if (handles)
        remote->idle = handles->next;
    (void)pthread_mutex_unlock(&remote->lock);
    if (handles)
        return handles;
    handles = calloc(1, sizeof *handles);
    if (handles)
        *handles = (struct bl_handles){remote->curl->curl_easy_init(), remote->curl->curl_easy_init(), NULL};
    if (handles && handles->own && handles->far)
        return handles;
    handles_free(remote->curl, handles);
    return NULL;
}

static void remote_return_handles(struct bl_remote *remote, struct bl_handles *handles)
{
    (void)pthread_mutex_lock(&remote->lock);
    handles->next = remote->idle;
    remote->idle = handles;
    (void)pthread_mutex_unlock(&remote->lock);
}

/* --- one try ------------------------------------------------------------------------------------------------------ */

/* Makes one exchange, and counts it. far: it goes where a server redirected to. */
static int fetch_exchange(struct bl_fetch *f, const struct bl_http_request *request, bool far, struct bl_error *e)
{
    struct bl_remote *remote = f->remote;
    bl_answer_free(&f->answer);
    atomic_fetch_add(&remote->requests, 1);
    int code = bl_exchange(remote->curl, far ? f->handles->far : f->handles->own, request,
                           f->is_last ? NULL : remote->cancel, &f->answer, e);
    atomic_fetch_add(&remote->fetched, f->answer.fetched);
    atomic_fetch_add(&remote->sent, f->answer.sent);
    if (f->answer.status)
        atomic_store(&remote->is_reached, true);
    return code;
}

/* Whether the answer sends the request elsewhere. */
static bool answer_is_redirect(const struct bl_answer *answer)
{
    int status = answer->status;
    return answer->outcome == BL_ANSWERED && answer->location &&
           (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* Ends the fetch with this reason. */
static void answer_refuse(struct bl_answer *answer, enum bl_http_outcome outcome, const char *reason)
{
    answer->outcome = outcome;
    snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

/* Prepares the next request after a redirect. False: it may not be followed; the answer says why. first: where the
 * first request went. headers: those that the request may have. */
static bool fetch_turn(struct bl_fetch *f, const struct bl_ready *ready, const struct bl_site *first,
                       struct bl_http_request *request, bool *far)
{
    static const char plain[] = "a redirect leads to http://, which protects nothing";
    struct bl_site next;
    struct bl_answer *answer = &f->answer;
    if (f->is_signed || bl_site_parse(&next, answer->location)) {
        answer_refuse(answer, BL_REFUSED,
                      f->is_signed ? "the store redirects elsewhere, where credentials are not sent: --endpoint or "
                                     "AWS_REGION names the right server"
                                   : "a redirect leads to something that is not on a web server");
        return false;
    }
    /* What the Hub says of the file is the object's; the server that keeps the file has tags of its own. */
    if (*answer->linked_tag && f->ask.tag && *f->ask.tag && strcmp(answer->linked_tag, f->ask.tag) != 0) {
        answer_refuse(answer, BL_CHANGED, "its content is another one");
        return false;
    }
    bool is_same = bl_site_equal(first, &next), is_near = bl_site_is_loopback(first);
    if (!is_same && next.is_plain && !(f->remote->options.insecure || (is_near && bl_site_is_loopback(&next)))) {
        answer_refuse(answer, BL_REFUSED, plain);
        return false;
    }
    request->headers = is_same ? &ready->headers : NULL;
    request->tag = is_same ? request->tag : NULL;
    request->reach = is_same ? ready->reach : is_near ? BL_REACH_NEAR : BL_REACH_PUBLIC;
    request->is_direct = is_same ? ready->is_direct : bl_site_is_loopback(&next);
    *far = !is_same;
    return true;
}

/* Aims the request at where the Hub has redirected one for this object to, if that is known. Returns that URL, which
 * the caller frees, or NULL. tag: room for what the server there calls the object. */
static char *fetch_take_detour(struct bl_fetch *f, const struct bl_ready *ready, const struct bl_site *first,
                               struct bl_http_request *request, bool *far, char tag[BL_TAG_SIZE])
{
    bool is_kept = f->url->scheme == BL_URL_HF && f->ask.purpose == BL_GET_OBJECT && strcmp(f->ask.method, "GET") == 0;
    char *url = is_kept ? bl_detours_find(&f->remote->detours, f->name, tag) : NULL;
    if (!url)
        return NULL;
    bl_answer_free(&f->answer);
    f->answer.location = url;
    bool is_good = fetch_turn(f, ready, first, request, far) && *far;
    f->answer.location = NULL;
    if (is_good) {
        request->url = url;
        request->tag = *tag ? tag : NULL;
        return url;
    }
    free(url);
    return NULL;
}

/* Keeps where the Hub redirects requests for the object to, or forgets it after a failure there. Returns whether the
 * Hub is to be asked: the URL has expired, or the server has another object. */
static bool fetch_note_detour(struct bl_fetch *f, const struct bl_http_request *request, bool far, bool is_detour)
{
    const struct bl_answer *a = &f->answer;
    if (f->url->scheme != BL_URL_HF || f->ask.purpose != BL_GET_OBJECT)
        return false;
    /* The redirect of a HEAD is one for a GET, too. */
    if (a->location && a->linked_size >= 0 && strcmp(f->ask.method, "HEAD") == 0)
        bl_detours_keep(&f->remote->detours, f->name, a->location, "");
    bool is_good = a->outcome == BL_ANSWERED && (a->status == 200 || a->status == 206);
    if (far && is_good)
        bl_detours_keep(&f->remote->detours, f->name, request->url, a->tag);
    if (!is_detour || is_good || a->outcome == BL_STOPPED)
        return false;
    bl_detours_forget(&f->remote->detours, f->name);
    return !a->received;
}

/* Makes exchanges with a request that is ready, until one is not redirected. */
static int fetch_follow(struct bl_fetch *f, const struct bl_ready *ready, struct bl_http_request *request,
                        struct bl_error *e)
{
    const struct bl_http_request own = *request;
    struct bl_site first;
    char tag[BL_TAG_SIZE];
    bool far = false;
    int code = BL_OK;
    (void)bl_site_parse(&first, ready->url.data);
    char *location = fetch_take_detour(f, ready, &first, request, &far, tag);
    bool is_detour = location != NULL;
    for (int hops = 0; !code; hops++) {
        code = fetch_exchange(f, request, far, e);
        if (!code && fetch_note_detour(f, request, far, is_detour)) {
            *request = own;
            far = is_detour = false;
            continue;
        }
        is_detour = false;
        /* The Hub's redirect says all that a HEAD asks for. */
        bool is_enough = strcmp(f->ask.method, "HEAD") == 0 && f->answer.linked_size >= 0;
        if (code || is_enough || !answer_is_redirect(&f->answer))
            break;
        if (hops == HOPS_MAX)
            answer_refuse(&f->answer, BL_REFUSED, "redirects do not end");
        if (hops == HOPS_MAX || !fetch_turn(f, ready, &first, request, &far))
            break;
        free(location);
        location = f->answer.location;
        f->answer.location = NULL;
        request->url = location;
    }
    free(location);
    return code;
}

/* Makes the request and follows redirects. BL_OK also if the outcome is a failure. */
static int fetch_try(struct bl_fetch *f, struct bl_error *e)
{
    struct bl_ready ready = {0};
    int code = bl_access_prepare(f->remote->access, f->url, &f->ask, &ready, e);
    if (code)
        bl_error_prefix(e, "%s", f->name);
    if (!code && f->text)
        bl_buffer_clear(f->text);
    f->is_signed = ready.is_signed;
    memcpy(f->region, ready.region, sizeof f->region);
    struct bl_http_request request = {.method = f->ask.method,
                                      .url = ready.url.data,
                                      .headers = &ready.headers,
                                      .reach = ready.reach,
                                      .is_direct = ready.is_direct,
                                      .begin = f->ask.begin,
                                      .end = f->ask.end,
                                      .size = f->size,
                                      .tag = f->ask.tag && *f->ask.tag && !f->is_write ? f->ask.tag : NULL,
                                      .body = f->ask.body,
                                      .limit = LIST_MAX,
                                      .connect_seconds = CONNECT_SECONDS,
                                      .stall_seconds =
                                          f->remote->options.timeout * (f->is_completion ? COMPLETION_PATIENCE : 1),
                                      .is_ending = f->is_last ? NULL : &f->remote->is_ending,
                                      .certificates = bl_access_certificates(f->remote->access),
                                      .sink = f->sink,
                                      .context = f->context};
    if (!code)
        code = fetch_follow(f, &ready, &request, e);
    bl_ready_free(&ready);
    return code;
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Whether another try may succeed. */
static bool answer_is_temporary(const struct bl_answer *answer)
{
    static const int statuses[] = {408, 425, 429, 500, 502, 503, 504};
    if (answer->outcome == BL_BROKEN || answer->outcome == BL_UNREACHED)
        return true;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (answer->outcome == BL_ANSWERED && answer->status == statuses[i])
            return true;
    }
    return false;
}

/* Parses what the store says is wrong. The body of an answer 200 to a write can say it, too. */
static void fetch_parse_fault(const struct bl_fetch *f, struct bl_store_fault *fault)
{
    const struct bl_buffer *text = f->is_write && f->text && f->answer.status == 200 ? f->text : &f->answer.text;
    bl_store_fault_parse(fault, text->data ? text->data : "", text->size);
}

/* Whether another try of the fetch may succeed. Of a write, some faults are temporary whatever the status is. */
static bool fetch_is_temporary(const struct bl_fetch *f)
{
    static const char *const faults[] = {"InternalError",  "SlowDown",         "ServiceUnavailable",
                                         "RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
                                         "BadDigest"};
    if (answer_is_temporary(&f->answer))
        return true;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (f->answer.outcome == BL_ANSWERED && strcmp(f->fault, faults[i]) == 0)
            return true;
    }
    return false;
}

/* Whether the answer to a write ends the tries; see bl_fetch_run. Keeps the fault, and whether the write may have been
 * done: a server that broke off, or failed, may have done it. */
static bool fetch_end_write(struct bl_fetch *f)
{
    const struct bl_answer *a = &f->answer;
    struct bl_store_fault fault;
    int status = a->status;
    fetch_parse_fault(f, &fault);
    memcpy(f->fault, fault.code, sizeof f->fault);
    f->may_be_done = f->may_be_done || a->is_resent || a->outcome == BL_BROKEN;
    if (a->outcome != BL_ANSWERED)
        return false;
    if ((status == 200 || status == 201 || status == 204) && !*f->fault)
        return true;
    f->may_be_done = f->may_be_done || status < 300 || status >= 500 || status == 408;
    bool is_absent = status == 404 && strcmp(f->fault, "NoSuchBucket") != 0;
    return status == 412 || is_absent || (status == 409 && f->is_completion);
}

/* Whether the answer ends the tries. */
static bool fetch_is_answered(struct bl_fetch *f)
{
    const struct bl_answer *a = &f->answer;
    if (f->is_write)
        return fetch_end_write(f);
    return (a->outcome == BL_ANSWERED && (a->status == 200 || a->status == 206)) ||
           (answer_is_redirect(a) && a->linked_size >= 0);
}

/* Waits before another try: longer each time, as long as the server asks for, and by chance, so that requests that
 * failed together do not come again together. */
static int fetch_wait(const struct bl_fetch *f, int tried, struct bl_error *e)
{
    struct timespec now, slice = {0, 50000000};
    double pause = PAUSE_FIRST;
    for (int i = 0; i < tried && pause < PAUSE_MAX; i++)
        pause *= 2;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    pause *= 0.5 + (double)(now.tv_nsec / 1000 % 1000) / 2000;
    int64_t asked = f->answer.wait_seconds < PAUSE_ASKED_MAX ? f->answer.wait_seconds : PAUSE_ASKED_MAX;
    pause = pause < (double)asked ? (double)asked : pause;
    for (; pause > 0; pause -= 0.05) {
        if (atomic_load(&f->remote->is_ending) || (f->remote->cancel && bl_cancelled(f->remote->cancel)))
            return bl_error_set(e, BL_ECANCEL, "%s: stopped", f->name);
        (void)nanosleep(&slice, NULL);
    }
    return BL_OK;
}

static const char fault_other_server[] =
    "the server does not answer as S3 does: --endpoint or AWS_ENDPOINT_URL names a server of another kind, or lacks a "
    "part of its path";

/* What an answer of a store or server means. */
static const struct fault_meaning {
    int status;       /* 0: any */
    const char *code; /* of S3; "": the answer has none, as S3's have; NULL: any */
    enum bl_url_scheme scheme;
    const char *text;
} fault_meanings[] = {
    {0, "NoSuchBucket", BL_URL_S3, "there is no such bucket"},
    {0, "NoSuchKey", BL_URL_S3, "there is no such object"},
    {0, "InvalidAccessKeyId", BL_URL_S3,
     "the store does not know the access key: check the credentials and --endpoint"},
    {0, "SignatureDoesNotMatch", BL_URL_S3, "the secret access key does not belong to the access key"},
    {0, "ExpiredToken", BL_URL_S3, "the session has expired: log in again"},
    {0, "InvalidToken", BL_URL_S3, "the session token does not belong to the access key"},
    {0, "RequestTimeTooSkewed", BL_URL_S3, "the clock of this machine is wrong by more than 15 minutes"},
    {0, "AuthorizationHeaderMalformed", BL_URL_S3, "the bucket is in another region: AWS_REGION names it"},
    {0, "PermanentRedirect", BL_URL_S3, "the bucket is in another region: AWS_REGION names it"},
    {301, NULL, BL_URL_S3, "the bucket is in another region: AWS_REGION names it"},
    {403, NULL, BL_URL_S3, "access denied: the credentials may not read it, or it does not exist"},
    {400, "", BL_URL_S3, fault_other_server},
    {404, "", BL_URL_S3, fault_other_server},
    {405, "", BL_URL_S3, fault_other_server},
    {501, "", BL_URL_S3, fault_other_server},
    {404, NULL, BL_URL_S3, "there is no such object"},
    {401, NULL, BL_URL_HF, "access denied: the dataset does not exist, or needs a token in HF_TOKEN"},
    {403, NULL, BL_URL_HF, "access denied: the token may not read it, or the dataset's terms are to be accepted first"},
    {404, NULL, BL_URL_HF, "there is no such dataset, revision or file"},
    {401, NULL, BL_URL_WEB, "access denied"},
    {403, NULL, BL_URL_WEB, "access denied"},
    {404, NULL, BL_URL_WEB, "there is no such file"},
    {410, NULL, BL_URL_WEB, "there is no such file"},
};

/* And to a write, before the table above. What may not be done depends on the verb. */
static const struct fault_meaning write_meanings[] = {
    {0, "NotImplemented", BL_URL_S3,
     "the store does not have what bload needs: conditional writes (If-None-Match, If-Match) and uploads in parts"},
    {403, "AccessDenied", BL_URL_S3, "access denied: the credentials may not write it"},
};
static const char fault_no_removal[] = "access denied: the credentials may not remove it (s3:DeleteObject)";
static const char fault_no_end[] = "access denied: the credentials may not end uploads of it (s3:AbortMultipartUpload)";
static const char fault_no_uploads[] =
    "access denied: the credentials may not list uploads of the bucket (s3:ListBucketMultipartUploads)";

/* Returns the meaning of an answer by a table, or NULL. */
static const char *meaning_find(const struct fault_meaning *table, size_t count, enum bl_url_scheme scheme, int status,
                                const char *code)
{
    scheme = scheme == BL_URL_GS ? BL_URL_S3 : scheme;
    for (const struct fault_meaning *m = table; m < table + count; m++) {
        if (m->scheme == scheme && (!m->status || m->status == status) && (!m->code || strcmp(m->code, code) == 0))
            return m->text;
    }
    return NULL;
}

static const char *fault_find_meaning(const struct bl_fetch *f, const char *code)
{
    const char *found = NULL, *verb = f->verb ? f->verb : "";
    bool is_denied = f->answer.status == 403 && strcmp(code, "AccessDenied") == 0;
    if (is_denied && f->ask.purpose == BL_GET_UPLOADS)
        return fault_no_uploads;
    if (is_denied && strcmp(verb, "removed") == 0)
        return fault_no_removal;
    if (is_denied && strcmp(verb, "ended") == 0)
        return fault_no_end;
    if (f->is_write)
        found = meaning_find(write_meanings, sizeof write_meanings / sizeof *write_meanings, f->url->scheme,
                             f->answer.status, code);
    return found ? found
                 : meaning_find(fault_meanings, sizeof fault_meanings / sizeof *fault_meanings, f->url->scheme,
                                f->answer.status, code);
}

/* Records what an answer means, and what the store adds: which user and policy, where access is denied. */
static int fetch_fail_meaning(const struct bl_fetch *f, int code, const char *meaning,
                              const struct bl_store_fault *fault, struct bl_error *e)
{
    bool is_definite = f->is_definite || f->is_write;
    bool adds = strcmp(fault->code, "AccessDenied") == 0 && *fault->message &&
                strncasecmp(fault->message, "Access Denied", strlen("Access Denied")) != 0;
    return bl_error_set(e, code, "%s: %s%s%s%s", f->name,
                        is_definite ? "" : "the object vanished, or access to it: ", meaning, adds ? ": " : "",
                        adds ? fault->message : "");
}

/* Records why the fetch failed. tries: how many there were. */
static int fetch_fail(const struct bl_fetch *f, int tries, struct bl_error *e)
{
    const struct bl_answer *a = &f->answer;
    struct bl_store_fault fault;
    char plural[BL_PLURAL_SIZE];
    int code = f->is_definite ? BL_EUSAGE : BL_EFAIL;
    if (a->outcome == BL_STOPPED)
        return bl_error_set(e, BL_ECANCEL, "%s: stopped", f->name);
    const char *verb = f->verb ? f->verb : "fetched";
    if (a->outcome == BL_CHANGED || (a->outcome == BL_ANSWERED && (a->status == 412 || a->status == 416)))
        return bl_error_set(e, BL_EFAIL, "%s: the object has changed since the run listed it%s%s", f->name,
                            *a->reason ? ": " : "", a->reason);
    fetch_parse_fault(f, &fault);
    const char *meaning = a->outcome == BL_ANSWERED ? fault_find_meaning(f, fault.code) : NULL;
    if (meaning)
        return fetch_fail_meaning(f, code, meaning, &fault, e);
    if (a->outcome != BL_ANSWERED || fetch_is_temporary(f))
        code = BL_EFAIL;
    bl_text_plural(plural, tries, "try|tries");
    if (a->outcome != BL_ANSWERED)
        return bl_error_set(e, code, "%s: cannot be %s: %s; %s", f->name, verb, a->reason, plural);
    return bl_error_set(e, code, "%s: cannot be %s: the server answers %d%s%s%s%s; %s", f->name, verb, a->status,
                        *fault.code ? " " : "", fault.code, *fault.message ? ": " : "", fault.message, plural);
}

/* Learns what the answer says of the bucket's region, or renews keys. *again: the request may succeed now. */
static int fetch_renew(struct bl_fetch *f, bool *again, struct bl_error *e)
{
    const struct bl_answer *a = &f->answer;
    struct bl_store_fault fault;
    *again = false;
    if ((a->outcome != BL_ANSWERED && a->outcome != BL_REFUSED) || a->status < 300 || !*f->region ||
        f->renewals++ == RENEWALS_MAX)
        return BL_OK;
    bl_store_fault_parse(&fault, a->text.data ? a->text.data : "", a->text.size);
    const char *region = *fault.region ? fault.region : a->region;
    bool is_elsewhere = a->status == 301 || a->status == 307 || a->status == 400 || a->status == 403;
    if (is_elsewhere && *region)
        BL_TRY(bl_access_learn_region(f->remote->access, f->url, region, f->region, again, e));
    if (!*again && (strcmp(fault.code, "ExpiredToken") == 0 || strcmp(fault.code, "TokenRefreshRequired") == 0))
        *again = bl_access_renew(f->remote->access, f->url);
    return BL_OK;
}

/* Moves past the bytes that came. */
static void fetch_advance(struct bl_fetch *f)
{
    int64_t received = f->answer.received;
    f->answer.received = 0;
    if (f->text || !received || f->size < 0)
        return;
    f->ask.end = f->ask.end ? f->ask.end : f->size;
    f->ask.begin += received;
}

/* Whether all bytes came, though the connection failed after them. */
static bool fetch_is_complete(const struct bl_fetch *f)
{
    return f->ask.end && f->ask.begin == f->ask.end;
}

/* --- fetch -------------------------------------------------------------------------------------------------------- */

int bl_fetch_run(struct bl_fetch *f, struct bl_error *e)
{
    struct bl_remote *remote = f->remote;
    int tried = 0, code = BL_OK;
    f->handles = remote_take_handles(remote);
    if (!f->handles)
        return bl_error_memory(e);
    for (int tries = 1;; tries++) {
        bool again = false;
        code = fetch_try(f, e);
        const struct bl_answer *a = &f->answer;
        if (code || fetch_is_answered(f))
            break;
        code = fetch_renew(f, &again, e);
        tried = a->received >= PROGRESS ? 0 : tried;
        fetch_advance(f);
        if (code || fetch_is_complete(f))
            break;
        bool is_first = a->outcome == BL_UNREACHED && !atomic_load(&remote->is_reached);
        int most =
            is_first && remote->options.retries > UNREACHED_RETRIES ? UNREACHED_RETRIES : remote->options.retries;
        most = f->is_last ? 0 : most;
        if (!again && (!fetch_is_temporary(f) || tried >= most)) {
            code = fetch_fail(f, tries, e);
            break;
        }
        if (!again)
            code = fetch_wait(f, tried++, e);
        if (code)
            break;
        atomic_fetch_add(&remote->retries, 1);
    }
    remote_return_handles(remote, f->handles);
    f->handles = NULL;
    return code;
}
