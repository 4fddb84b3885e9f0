/* Redirects of objects, which are kept so that later requests go to their targets at once.
 *
 * The Hugging Face Hub redirects each request to a server of contents, by a URL that is signed for a time. */
#ifndef BL_DETOURS_H
#define BL_DETOURS_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "remote/exchange.h"

#define BL_DETOURS 256 /* objects; the one that was used least lately makes room */

struct bl_detour {
    char *name; /* the URL of the object, or NULL: the place is free */
    char *url;
    char tag[BL_TAG_SIZE]; /* that the other server gave, or "" */
    int64_t expires;       /* seconds since 1970; 0: it is not known */
    int64_t used;          /* a count of uses */
};

/* For any number of threads. Begin with bl_detours_open. */
struct bl_detours {
    pthread_mutex_t lock;
    struct bl_detour detour[BL_DETOURS];
    int64_t uses;
};

int bl_detours_open(struct bl_detours *detours, struct bl_error *e);
void bl_detours_close(struct bl_detours *detours);

/* Keeps where the object is, until its URL expires. tag: what the server there called it, or "". Memory that runs out
 * is no error: the next request asks again. */
void bl_detours_keep(struct bl_detours *detours, const char *name, const char *url, const char *tag);

/* Returns the URL, which the caller frees, and sets the tag; NULL: none is known that is valid for a while. */
char *bl_detours_find(struct bl_detours *detours, const char *name, char tag[BL_TAG_SIZE]);

/* Forgets where the object is, since a request there failed. */
void bl_detours_forget(struct bl_detours *detours, const char *name);

/* When a signed URL ends to be valid, by its query, in seconds since 1970; 0: the query does not say. */
int64_t bl_detour_expiry(const char *url);

#endif
