/* Keeps redirects.
 *
 * A signed URL says in its query how long it is valid: as a time (Expires=, se=), or as a number of seconds from the
 * time of the signature on (X-Amz-Date=, X-Amz-Expires=; X-Goog- the same). */
#include "remote/detours.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "remote/url.h"

#define MARGIN                                                                                                         \
    60 /* seconds: a URL is not used so shortly before its end, since clocks differ and requests take time             \
        */

/* --- expiry ------------------------------------------------------------------------------------------------------- */

/* Copies the value of a parameter, decoded. False: the query has none of this name, or it is too long. */
static bool query_find(const char *url, const char *name, char *value, size_t size)
{
    const char *at = strchr(url, '?');
    size_t name_size = strlen(name);
    while (at) {
        at++;
        size_t whole = strcspn(at, "&#");
        if (whole > name_size && strncmp(at, name, name_size) == 0 && at[name_size] == '=' &&
            whole - name_size <= size) {
            size_t length = whole - name_size - 1;
            memcpy(value, at + name_size + 1, length);
            int64_t decoded = bl_url_decode(value, length);
            value[decoded > 0 ? decoded : 0] = '\0';
            return decoded > 0;
        }
        at = at[whole] == '&' ? at + whole : NULL;
    }
    return false;
}

/* Parses a time in UTC. */
static bool time_parse(const char *text, const char *form, int64_t *seconds)
{
    struct tm utc = {0};
    if (!strptime(text, form, &utc))
        return false;
    *seconds = (int64_t)timegm(&utc);
    return true;
}

int64_t bl_detour_expiry(const char *url)
{
    static const char *const pairs[][2] = {{"X-Amz-Date", "X-Amz-Expires"}, {"X-Goog-Date", "X-Goog-Expires"}};
    char text[64], length[64];
    int64_t first = 0, found, seconds;
    /* A URL may have both; the earlier end counts. */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (query_find(url, pairs[i][0], text, sizeof text) && query_find(url, pairs[i][1], length, sizeof length) &&
            time_parse(text, "%Y%m%dT%H%M%SZ", &found) &&
            bl_text_to_int(length, strlen(length), 0, INT32_MAX, &seconds))
            first = !first || found + seconds < first ? found + seconds : first;
    }
    if (query_find(url, "Expires", text, sizeof text) && bl_text_to_int(text, strlen(text), 1, INT64_MAX, &found))
        first = !first || found < first ? found : first;
    if (query_find(url, "se", text, sizeof text) && time_parse(text, "%Y-%m-%dT%H:%M:%SZ", &found))
        first = !first || found < first ? found : first;
    return first;
}

/* --- detours ------------------------------------------------------------------------------------------------------ */

int bl_detours_open(struct bl_detours *detours, struct bl_error *e)
{
    *detours = (struct bl_detours){0};
    return pthread_mutex_init(&detours->lock, NULL) == 0 ? BL_OK : bl_error_memory(e);
}

static void detour_clear(struct bl_detour *detour)
{
    free(detour->name);
    free(detour->url);
    *detour = (struct bl_detour){0};
}

void bl_detours_close(struct bl_detours *detours)
{
    for (size_t i = 0; i < BL_DETOURS; i++)
        detour_clear(&detours->detour[i]);
    (void)pthread_mutex_destroy(&detours->lock);
}

/* Returns the detour of an object, or NULL. The lock is held. */
static struct bl_detour *detour_of(struct bl_detours *detours, const char *name)
{
    for (size_t i = 0; i < BL_DETOURS; i++) {
        if (detours->detour[i].name && strcmp(detours->detour[i].name, name) == 0)
            return &detours->detour[i];
    }
    return NULL;
}

void bl_detours_keep(struct bl_detours *detours, const char *name, const char *url, const char *tag)
{
    struct bl_detour own = {.name = strdup(name), .url = strdup(url), .expires = bl_detour_expiry(url)};
    size_t size = strlen(tag);
    if (!own.name || !own.url) {
        detour_clear(&own);
        return;
    }
    if (size < sizeof own.tag)
        memcpy(own.tag, tag, size + 1);
    (void)pthread_mutex_lock(&detours->lock);
    struct bl_detour *known = detour_of(detours, name), *place = known ? known : &detours->detour[0];
    for (size_t i = 1; i < BL_DETOURS && !known; i++)
        place = detours->detour[i].used < place->used ? &detours->detour[i] : place;
    own.used = ++detours->uses;
    detour_clear(place);
    *place = own;
    (void)pthread_mutex_unlock(&detours->lock);
}

char *bl_detours_find(struct bl_detours *detours, const char *name, char tag[BL_TAG_SIZE])
{
    char *url = NULL;
    (void)pthread_mutex_lock(&detours->lock);
    struct bl_detour *found = detour_of(detours, name);
    if (found && found->expires && found->expires - MARGIN <= (int64_t)time(NULL))
        detour_clear(found);
    else if (found) {
        found->used = ++detours->uses;
        memcpy(tag, found->tag, BL_TAG_SIZE);
        url = strdup(found->url);
    }
    (void)pthread_mutex_unlock(&detours->lock);
    return url;
}

void bl_detours_forget(struct bl_detours *detours, const char *name)
{
    (void)pthread_mutex_lock(&detours->lock);
    struct bl_detour *found = detour_of(detours, name);
    if (found)
        detour_clear(found);
    (void)pthread_mutex_unlock(&detours->lock);
}
