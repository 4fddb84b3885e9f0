/* One request over HTTP and its answer, by libcurl.
 *
 * No redirect is followed here, and no request is repeated: the caller decides. The answer is checked before any byte
 * of it is used: whether it is the requested range of the requested object. */
#ifndef BL_EXCHANGE_H
#define BL_EXCHANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "remote/curl_library.h"

/* Which machines a request may go to; each address that libcurl connects to is compared. */
enum bl_reach {
    BL_REACH_ANY,      /* what the user named */
    BL_REACH_PUBLIC,   /* where a server redirects to: no loopback, private or link-local address */
    BL_REACH_NEAR,     /* where a server on this machine redirects to: a public address, or loopback */
    BL_REACH_LOOPBACK, /* plain HTTP: this machine alone */
};

/* The body of a request. */
struct bl_http_body {
    const void *data;
    size_t size;
};

/* Gets the bytes of an object, in order. BL_OK: go on. */
typedef int bl_exchange_sink(void *context, const void *data, size_t size, struct bl_error *e);

struct bl_http_request {
    const char *method; /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    const char *url;
    const struct bl_buffer *headers; /* lines, each with a NUL after it */
    enum bl_reach reach;
    bool is_direct;                  /* by no proxy */
    const struct bl_http_body *body; /* or NULL: there is none, and no Content-Length */
    int64_t begin, end;              /* the range that is requested by a header Range; end 0: the whole object */
    int64_t size;                    /* of the object; -1: it is not known, and neither are begin and end */
    const char *tag;                 /* the tag that the answer must have, or NULL */
    int64_t limit;                   /* bytes of an answer whose size is not known */
    int connect_seconds, stall_seconds;
    const atomic_bool *is_ending; /* once it is set, the exchange ends as if it was cancelled; or NULL */
    const char *certificates;     /* a file, or NULL: libcurl's own */
    bl_exchange_sink *sink;
    void *context;
};

/* What went wrong with an exchange. */
enum bl_http_outcome {
    BL_ANSWERED,  /* with any status; data of a status of 2xx are complete */
    BL_BROKEN,    /* the connection or the answer was faulty: another try may help */
    BL_REFUSED,   /* the answer is not the requested one, and another try would not help */
    BL_CHANGED,   /* the object has another tag or size */
    BL_UNREACHED, /* no server was reached: a wrong name, or a network that is down */
    BL_FAILED,    /* this machine failed, or the certificate is wrong; reason says it */
    BL_STOPPED    /* the work was cancelled */
};

#define BL_TAG_SIZE 256

struct bl_answer {
    enum bl_http_outcome outcome;
    int status;       /* of HTTP; 0: there was none */
    int64_t length;   /* Content-Length, or -1 */
    int64_t total;    /* the object's size, by Content-Range or Content-Length; -1: unknown */
    int64_t received; /* bytes given to the sink */
    int64_t fetched;  /* bytes of any body */
    int64_t sent;     /* bytes of the request's body */
    bool is_resent;   /* libcurl has begun the body anew: a server may have got the request twice */
    bool is_ranged;   /* Content-Range was understood */
    int64_t first, last;
    char tag[BL_TAG_SIZE]; /* the ETag without quotes, or else the time of the last modification, or "" */
    char region[64];       /* x-amz-bucket-region */
    char linked_tag[BL_TAG_SIZE];
    int64_t linked_size;    /* of what a redirect of the Hub leads to, or -1 */
    int64_t wait_seconds;   /* Retry-After, or -1 */
    int64_t date, modified; /* of the answer, and of the object's last change, by the server's clock: seconds since
                               1970; 0: it tells none */
    char *location;         /* the absolute URL of a redirect, or NULL */
    char *next;             /* the URL of Link with rel="next", as given, or NULL */
    struct bl_buffer text;  /* the beginning of a body that is no data */
    char reason[512];       /* of an outcome that is not BL_ANSWERED */
};

/* Makes a request by a handle of curl_easy_init. It may have been used: connections that are still open are used
 * again. answer: free with bl_answer_free. BL_OK also if the request fails; BL_EFAIL: memory ran out, or the sink
 * failed. */
int bl_exchange(const struct bl_curl *curl, void *handle, const struct bl_http_request *request,
                const struct bl_cancel *cancel, struct bl_answer *answer, struct bl_error *e);

/* A sink that appends the bytes to a struct bl_buffer. */
int bl_exchange_append(void *context, const void *data, size_t size, struct bl_error *e);

void bl_answer_free(struct bl_answer *answer);

#endif
