/* Answers of stores: listings of S3 and of the Hugging Face Hub, and what S3 says is wrong. */
#ifndef BL_LISTING_H
#define BL_LISTING_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* An object of a listing. The texts are NUL-terminated, and the callback's only while it runs. */
struct bl_listed {
    const char *key;
    int64_t size;
    const char *tag; /* its ETag, or on the Hub the identifier of its content */
};

typedef int bl_listed_emit(void *context, const struct bl_listed *object, struct bl_error *e);

/* Parses an answer of ListObjectsV2. next: gets the token with which the next part is requested; it stays empty at the
 * end. BL_EFAIL: the text is no such answer. */
int bl_listing_parse(const char *text, size_t size, bl_listed_emit *emit, void *context, struct bl_buffer *next,
                     struct bl_error *e);

/* Parses a list of files of the Hub: [{"type": "file", "path": ..., "size": ..., "oid": ...}, ...]. BL_EFAIL as above.
 */
int bl_tree_parse(const char *text, size_t size, bl_listed_emit *emit, void *context, struct bl_error *e);

/* An upload in parts that was begun, and neither completed nor ended. */
struct bl_pending {
    const char *key, *id;
    int64_t begun; /* seconds since 1970; 0: unknown */
};

typedef int bl_pending_emit(void *context, const struct bl_pending *upload, struct bl_error *e);

/* Where the next part of a list of uploads begins. */
struct bl_pending_place {
    struct bl_buffer key, id; /* empty: there is no next part */
};

void bl_pending_place_free(struct bl_pending_place *place);

/* Parses an answer of ListMultipartUploads. next: as in bl_listing_parse. BL_EFAIL: the text is no such answer. */
int bl_uploads_parse(const char *text, size_t size, bl_pending_emit *emit, void *context, struct bl_pending_place *next,
                     struct bl_error *e);

/* Appends the text of a member of an answer: "UploadId" of <InitiateMultipartUploadResult>. Stores differ in the name
 * of the outer element, and other clients ignore it; one that is called Error, which may have such a member, too, is no
 * answer. BL_EFAIL: there is none. */
int bl_store_member(const char *text, size_t size, const char *member, struct bl_buffer *out, struct bl_error *e);

/* Keys that AWS's service of tokens gives. Texts that the answer does not have are NULL. */
struct bl_sts_answer {
    char *access, *secret, *token, *expires; /* "2026-11-29T10:00:00Z" */
};

/* Parses an answer of AssumeRole and AssumeRoleWithWebIdentity. BL_EFAIL: it has no keys. Free with
 * bl_sts_answer_free. */
int bl_sts_parse(struct bl_sts_answer *answer, const char *text, size_t size, struct bl_error *e);
void bl_sts_answer_free(struct bl_sts_answer *answer);

/* What is wrong with a request to S3, or to the service of tokens; texts that the answer does not have are "". */
struct bl_store_fault {
    char code[64];     /* "NoSuchBucket" */
    char message[512]; /* a sentence */
    char region[64];   /* of the bucket */
};

/* Parses an answer that is an error; sets all texts to "" if it is none. */
void bl_store_fault_parse(struct bl_store_fault *fault, const char *text, size_t size);

#endif
