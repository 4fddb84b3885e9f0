/* Objects in stores and on web servers: their sizes, ranges of their bytes, and lists of them.
 *
 * An object is what it was when it was listed or stated: each answer is compared with its tag (its ETag, or what stands
 * for it) and its size, and another one ends the run. Requests that fail are repeated, with pauses; a transfer that
 * broke goes on where it ended.
 *
 * Errors: BL_EUSAGE from bl_remote_open, _stat and _list for what the user can change (no such bucket, access denied,
 * no credentials, a malformed URL), and BL_EFAIL for everything else, also from bl_remote_read and _save, since a
 * network that fails is no bad content. BL_ECANCEL. A message begins with the URL. */
#ifndef BL_REMOTE_H
#define BL_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "remote/access.h"

/* An object. Free with bl_remote_object_free, but for those that a list gives. */
struct bl_remote_object {
    char *url;
    char *tag; /* the ETag without quotes, or the time of the last change; the Hub: the hash of the content. "" if the
                  server tells nothing of this kind */
    int64_t size; /* bytes */
};

void bl_remote_object_free(struct bl_remote_object *object);

/* What was transferred. */
struct bl_remote_counts {
    int64_t requests; /* all of them: also those that failed, and redirects */
    int64_t retries;  /* of these, requests that repeated one */
    int64_t wanted;   /* bytes of objects that were asked for, and used */
    int64_t fetched;  /* bytes of all bodies that came */
    int64_t sent;     /* bytes of all bodies that were sent */
};

/* The client of a run, for any number of threads: each call that runs has connections of its own, which stay open for
 * the calls that follow. */
struct bl_remote;

/* Loads libcurl; call it before there are other threads. options and cancel (or NULL) must outlive the client. */
int bl_remote_open(struct bl_remote **out, const struct bl_remote_options *options, const struct bl_cancel *cancel,
                   struct bl_error *e);

/* Has all calls that run, and later ones, return BL_ECANCEL soon. */
void bl_remote_end(struct bl_remote *remote);

/* NULL is accepted. No call may be running. */
void bl_remote_close(struct bl_remote *remote);

/* Sets the size and tag of an object; one request. After an error the size is -1 where there is no such object. */
int bl_remote_stat(struct bl_remote *remote, const char *url, struct bl_remote_object *object, struct bl_error *e);

/* Gets each object of a list, which is valid during the call. Another result than BL_OK ends the list. */
typedef int bl_remote_emit(void *context, const struct bl_remote_object *object, struct bl_error *e);

/* Lists the objects whose URLs begin with this one, in the order of the store, a request for each thousand. Objects
 * that stand for folders (empty, with a slash at the end) are left out. BL_EUSAGE: there are none, or it is the URL of
 * a web server, which has no lists. */
int bl_remote_list(struct bl_remote *remote, const char *url, bl_remote_emit *emit, void *context, struct bl_error *e);

/* The same, where there may be none. */
int bl_remote_list_any(struct bl_remote *remote, const char *url, bl_remote_emit *emit, void *context,
                       struct bl_error *e);

/* Reads size bytes from offset on. They must be within the object. */
int bl_remote_read(struct bl_remote *remote, const struct bl_remote_object *object, int64_t offset, size_t size,
                   void *data, struct bl_error *e);

/* Gets bytes of an object, in order. Another result than BL_OK ends the fetch. */
typedef int bl_remote_sink(void *context, const void *data, size_t size, struct bl_error *e);

/* Fetches the bytes from begin to end, or all of the object where end is 0. *lacks_ranges, after a failure: the server
 * sends whole objects alone, and has sent no byte to the sink. */
int bl_remote_fetch(struct bl_remote *remote, const struct bl_remote_object *object, int64_t begin, int64_t end,
                    bl_remote_sink *sink, void *context, bool *lacks_ranges, struct bl_error *e);

/* Writes the whole object to a file that is empty, from its position on. */
int bl_remote_save(struct bl_remote *remote, const struct bl_remote_object *object, int fd, struct bl_error *e);

/* A small object as it is now. Free with bl_remote_text_free. */
struct bl_remote_text {
    bool exists;
    struct bl_buffer text; /* its bytes, with a NUL after them */
    char *tag;             /* its ETag, or "" */
    int64_t age; /* seconds since it was written, both times by the store's clock; -1: it does not tell them */
};

void bl_remote_text_free(struct bl_remote_text *text);

/* Reads an object of at most max bytes, and its tag and age, by one request. It is no error if there is none. */
int bl_remote_get(struct bl_remote *remote, const char *url, size_t max, struct bl_remote_text *out,
                  struct bl_error *e);

/* Counts bytes that were asked for, and turned out not to be needed. */
void bl_remote_count_unused(struct bl_remote *remote, int64_t bytes);
void bl_remote_count(struct bl_remote *remote, struct bl_remote_counts *counts);

#endif
