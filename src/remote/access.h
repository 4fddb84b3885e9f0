/* Turns a URL into a request: finds the server and the path, and adds credentials and the signature. */
#ifndef BL_ACCESS_H
#define BL_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "remote/curl_library.h"
#include "remote/exchange.h"
#include "remote/sign.h"
#include "remote/url.h"

/* Choices of a user; texts may be NULL, and must live as long as what is opened with them. */
struct bl_remote_options {
    const char *endpoint; /* of s3:// and gs:// URLs: "https://minio.example.org:9000" */
    bool anonymous;       /* requests have no credentials */
    bool insecure;        /* plain HTTP may go to other machines, too */
    const char *lock_dir; /* where writers lock each other out, as the store compares no conditions; NULL: it does */
    int retries;          /* of a request that failed, in addition to the first try */
    int timeout;          /* seconds without bytes after which a connection is given up */
};

#define BL_REMOTE_RETRIES 7
#define BL_REMOTE_TIMEOUT 30

/* The purpose of a request. */
enum bl_purpose {
    BL_GET_OBJECT,
    BL_GET_LISTING, /* a part of the list of objects */
    BL_GET_COMMIT,  /* hf: what the revision means now */
    BL_GET_UPLOADS, /* a part of the list of uploads that were begun: the query says which */
};

struct bl_ask {
    const char *method;
    enum bl_purpose purpose;
    const char *token;  /* a listing: of the part; the first one has none. hf: the URL of the part */
    int64_t begin, end; /* a range of the object; end 0: all of it */
    const char *tag;    /* the object must have it, or NULL */
    bool is_new;        /* there must be no object: If-None-Match: * */
    /* Requests to a store have parameters, and may have a body; NULL: none. */
    const struct bl_pair *query;
    size_t queries;
    const struct bl_http_body *body;
};

/* A request that is ready to be sent. Start from {0}; free with bl_ready_free. */
struct bl_ready {
    struct bl_buffer url, headers; /* the headers as struct bl_http_request has them */
    enum bl_reach reach;
    bool is_direct;
    bool is_signed;
    char region[64]; /* for which it is signed */
};

void bl_ready_free(struct bl_ready *ready);

/* Credentials and places, for any number of threads. */
struct bl_access;

/* curl and cancel must outlive the access. BL_EUSAGE: an option is malformed. */
int bl_access_open(struct bl_access **out, const struct bl_curl *curl, const struct bl_remote_options *options,
                   const struct bl_cancel *cancel, struct bl_error *e);
void bl_access_close(struct bl_access *access);

/* Makes a request ready. BL_EUSAGE: there are no credentials, or the request would not be protected. */
int bl_access_prepare(struct bl_access *access, const struct bl_url *url, const struct bl_ask *ask,
                      struct bl_ready *ready, struct bl_error *e);

/* Keeps the region that a store says a bucket has. *is_new: it is a proper one, other than `used`. */
int bl_access_learn_region(struct bl_access *access, const struct bl_url *url, const char *region, const char *used,
                           bool *is_new, struct bl_error *e);

/* Forgets keys that were lent for a time: of a role, a program, the machine; or reads those of a session anew that are
 * in the profile's files. Returns whether there may be others now. */
bool bl_access_renew(struct bl_access *access, const struct bl_url *url);

/* Keeps the commit that a revision of a dataset of the Hub means, for all later requests. BL_EFAIL: it is none. */
int bl_access_learn_commit(struct bl_access *access, const struct bl_url *url, const char *commit, struct bl_error *e);

/* Whether the commit of the URL's revision is still to be asked for. */
bool bl_access_lacks_commit(struct bl_access *access, const struct bl_url *url);

/* The file of certificates that requests need, or NULL: libcurl's own. */
const char *bl_access_certificates(const struct bl_access *access);

#endif
