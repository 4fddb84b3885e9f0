/* Signatures of requests to S3: Signature Version 4 of AWS, in the header Authorization.
 *
 * libcurl has one, too, but it neither sorts nor encodes queries, and leaves out headers that S3 requires. */
#ifndef BL_SIGN_H
#define BL_SIGN_H

#include <stddef.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "remote/curl_library.h"

/* A parameter of a query, or a header; not encoded. */
struct bl_pair {
    const char *name, *value;
};

/* Credentials. */
struct bl_keys {
    char *access, *secret;
    char *token;     /* of a session; NULL: there is none */
    int64_t expires; /* seconds since 1970; 0: never */
};

void bl_keys_free(struct bl_keys *keys);

#define BL_SIGN_PAIRS_MAX 16

/* For a body that is not signed, as TLS protects it. */
#define BL_SIGN_UNSIGNED "UNSIGNED-PAYLOAD"
#define BL_SIGN_PAYLOAD_SIZE (2 * BL_SHA256_SIZE + 1)

/* A request. */
struct bl_signing {
    const char *method;
    const char *host; /* as in the header Host */
    const char *path; /* encoded, from its slash on */
    const struct bl_pair *query;
    size_t queries; /* at most BL_SIGN_PAIRS_MAX */
    const char *region, *service;
    const char *payload; /* x-amz-content-sha256: the SHA-256 of the body in hexadecimal, or "UNSIGNED-PAYLOAD"; NULL:
                            there is no body */
    const char *range;   /* value of the header Range, which is signed, too; or NULL */
    bool is_plain;       /* without x-amz-content-sha256, which only S3 requires: for AWS's examples */
    const struct bl_keys *keys;
    time_t now;
};

/* Appends the query of a request: sorted, encoded, and each name with a "=": "a=1&uploads=". */
int bl_query_append(struct bl_buffer *out, const struct bl_pair *query, size_t queries, struct bl_error *e);

/* Sets the SHA-256 of a body, in hexadecimal. */
int bl_sign_hash(const struct bl_curl *curl, const void *data, size_t size, char payload[BL_SIGN_PAYLOAD_SIZE],
                 struct bl_error *e);

/* Appends the headers that a signed request has, each with a NUL after it: "x-amz-date: ...", and last Authorization.
 */
int bl_sign(const struct bl_curl *curl, const struct bl_signing *request, struct bl_buffer *headers,
            struct bl_error *e);

#endif
