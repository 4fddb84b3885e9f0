/* Makes requests ready: finds the server and the path of a URL, and adds credentials.
 *
 * What is found once is kept for all threads, under a lock: keys, the regions of buckets, and the commits of datasets.
 * A redirect never comes here: what is added here goes to the servers that the user has named, and to no others. */
#include "remote/access.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "remote/credentials.h"
#include "remote/key_sources.h"

#define REGION_DEFAULT "us-east-1"
#define RENEW_SECONDS 300   /* before keys expire */
#define RENEW_AGAIN 30      /* seconds after which a renewal that failed is tried again */
#define READ_AGAIN 60       /* seconds for which keys that were found in files count as new */
#define LOCAL_SECONDS 2     /* within which a service of the machine must answer */
#define SERVICE_SECONDS 10  /* within which another service of keys must */
#define SERVICE_TRIES 3     /* of a request to it */
#define SERVICE_BYTES 65536 /* of an answer */
#define HASHED_MAX 65536    /* bytes of a body that is hashed though TLS protects it */

/* Something that a server said about a name: the region of a bucket, the commit of a revision. */
struct note {
    char *name, *value;
    struct note *next;
};

struct bl_access {
    const struct bl_curl *curl;
    struct bl_remote_options options;
    const struct bl_cancel *cancel;
    char *certificates;
    pthread_mutex_t lock; /* for all that follows */
    struct bl_profile profile;
    struct bl_keys google, keys;
    bool keys_are_lent;   /* there are others when these end */
    int64_t keys_renewed; /* seconds since 1970 from which on others are asked for; 0: these do not end */
    int64_t keys_read;    /* when others were found in the profile's files; 0: never */
    char *hub_token;
    bool has_profile, has_google, has_keys, has_hub_token; /* what was looked for */
    struct note *regions, *commits;
    void *handle; /* for services of the machine, or NULL */
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool file_is_missing(const char *path)
{
    return access(path, R_OK) != 0;
}

/* Finds the file of certificates. Libraries that were built for another system look for theirs where there is none. */
static int access_find_certificates(struct bl_access *access, struct bl_error *e)
{
    static const char *const variables[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"};
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"};
    const char *found = NULL, *own = NULL;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !found; i++) {
        const char *value = getenv(variables[i]);
        found = value && *value ? value : NULL;
    }
    bool asked = !found && access->curl->curl_easy_getinfo(access->handle, BL_CURLINFO_CAINFO, &own) == BL_CURLE_OK;
    if (asked && own && file_is_missing(own)) {
        for (size_t i = 0; i < sizeof files / sizeof *files && !found; i++)
            found = file_is_missing(files[i]) ? NULL : files[i];
    }
    access->certificates = found ? strdup(found) : NULL;
    return found && !access->certificates ? bl_error_memory(e) : BL_OK;
}

/* Refuses an endpoint that is no URL of a server. */
static int endpoint_check(const char *endpoint, struct bl_error *e)
{
    struct bl_site site;
    const char *fault = bl_site_parse(&site, endpoint);
    if (!fault && strpbrk(site.path, "?#"))
        fault = "it has more than a host and a path";
    return fault ? bl_error_set(e, BL_EUSAGE, "the endpoint %s is no URL of a server: %s", endpoint, fault) : BL_OK;
}

int bl_access_open(struct bl_access **out, const struct bl_curl *curl, const struct bl_remote_options *options,
                   const struct bl_cancel *cancel, struct bl_error *e)
{
    if (options->endpoint)
        BL_TRY(endpoint_check(options->endpoint, e));
    struct bl_access *access = calloc(1, sizeof *access);
    if (!access)
        return bl_error_memory(e);
    access->curl = curl;
    access->options = *options;
    access->cancel = cancel;
    access->handle = curl->curl_easy_init();
    int code = access->handle && pthread_mutex_init(&access->lock, NULL) == 0 ? BL_OK : bl_error_memory(e);
    if (code) {
        if (access->handle)
            curl->curl_easy_cleanup(access->handle);
        free(access);
        return code;
    }
    code = access_find_certificates(access, e);
    if (code)
        bl_access_close(access);
    else
        *out = access;
    return code;
}

static void notes_free(struct note *note)
{
    while (note) {
        struct note *next = note->next;
        free(note->name);
        free(note->value);
        free(note);
        note = next;
    }
}

void bl_access_close(struct bl_access *access)
{
    if (!access)
        return;
    access->curl->curl_easy_cleanup(access->handle);
    (void)pthread_mutex_destroy(&access->lock);
    bl_profile_free(&access->profile);
    bl_keys_free(&access->google);
    bl_keys_free(&access->keys);
    free(access->hub_token);
    free(access->certificates);
    notes_free(access->regions);
    notes_free(access->commits);
    free(access);
}

const char *bl_access_certificates(const struct bl_access *access)
{
    return access->certificates;
}

/* --- notes -------------------------------------------------------------------------------------------------------- */

/* Returns what is known of a name, or NULL. Notes are few: one for each bucket or dataset. */
static const char *note_find(const struct note *note, const char *name)
{
    while (note && strcmp(note->name, name) != 0)
        note = note->next;
    return note ? note->value : NULL;
}

/* Keeps what a server said about a name; a later note hides an earlier one. */
static int note_add(struct note **notes, const char *name, const char *value, struct bl_error *e)
{
    struct note *note = malloc(sizeof *note);
    if (!note)
        return bl_error_memory(e);
    *note = (struct note){strdup(name), strdup(value), *notes};
    if (!note->name || !note->value) {
        note->next = NULL;
        notes_free(note);
        return bl_error_memory(e);
    }
    *notes = note;
    return BL_OK;
}

int bl_access_learn_region(struct bl_access *access, const struct bl_url *url, const char *region, const char *used,
                           bool *is_new, struct bl_error *e)
{
    int code = BL_OK;
    *is_new = bl_region_is_proper(region) && strcmp(region, used) != 0;
    (void)pthread_mutex_lock(&access->lock);
    if (*is_new)
        code = note_add(&access->regions, url->bucket, region, e);
    (void)pthread_mutex_unlock(&access->lock);
    return code;
}

/* Appends the name under which the commit of a dataset is kept. */
static int commit_name(struct bl_buffer *name, const struct bl_url *url, struct bl_error *e)
{
    bl_buffer_printf(name, "%s@%s", url->bucket, url->revision);
    return bl_buffer_check(name, e);
}

int bl_access_learn_commit(struct bl_access *access, const struct bl_url *url, const char *commit, struct bl_error *e)
{
    struct bl_buffer name = {0};
    size_t size = strspn(commit, "0123456789abcdef");
    if (size < 40 || size > 64 || commit[size])
        return bl_error_set(e, BL_EFAIL, "the answer has no commit");
    int code = commit_name(&name, url, e);
    (void)pthread_mutex_lock(&access->lock);
    if (!code && !note_find(access->commits, name.data))
        code = note_add(&access->commits, name.data, commit, e);
    (void)pthread_mutex_unlock(&access->lock);
    bl_buffer_free(&name);
    return code;
}

bool bl_access_lacks_commit(struct bl_access *access, const struct bl_url *url)
{
    struct bl_buffer name = {0};
    if (url->scheme != BL_URL_HF || commit_name(&name, url, NULL))
        return false;
    (void)pthread_mutex_lock(&access->lock);
    bool lacks = !note_find(access->commits, name.data);
    (void)pthread_mutex_unlock(&access->lock);
    bl_buffer_free(&name);
    return lacks;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* Makes one exchange with a service of keys. No redirect is followed: keys come from the named server alone. */
static int service_exchange(struct bl_access *access, const struct bl_key_request *asked, struct bl_buffer *out,
                            struct bl_answer *answer, struct bl_error *e)
{
    struct bl_site site;
    const char *fault = bl_site_parse(&site, asked->url);
    if (fault)
        return bl_error_set(e, BL_EUSAGE, "%s: %s", asked->url, fault);
    bool is_near = bl_site_is_loopback(&site);
    if (!asked->is_local && site.is_plain && !is_near && !access->options.insecure)
        return bl_error_set(e, BL_EUSAGE, "%s: http:// protects no credentials: use https://, or --insecure",
                            asked->url);
    const struct bl_http_body body = {asked->form, asked->form ? strlen(asked->form) : 0};
    const int seconds = asked->is_local ? LOCAL_SECONDS : SERVICE_SECONDS;
    const struct bl_http_request request = {.method = asked->method,
                                            .url = asked->url,
                                            .headers = asked->headers,
                                            .body = asked->form ? &body : NULL,
                                            .is_direct = asked->is_local || is_near,
                                            .size = -1,
                                            .limit = SERVICE_BYTES,
                                            .connect_seconds = seconds,
                                            .stall_seconds = seconds,
                                            .certificates = access->certificates,
                                            .sink = bl_exchange_append,
                                            .context = out};
    return bl_exchange(access->curl, access->handle, &request, access->cancel, answer, e);
}

/* Whether a service of keys may answer if it is asked again. */
static bool service_is_busy(const struct bl_answer *answer)
{
    bool is_answer = answer->outcome == BL_ANSWERED;
    return is_answer ? answer->status >= 500 || answer->status == 429
                     : answer->outcome == BL_BROKEN || answer->outcome == BL_UNREACHED;
}

/* Asks a service of keys: bl_key_ask. */
static int access_ask_service(void *context, const struct bl_key_request *asked, struct bl_buffer *out, int *status,
                              struct bl_error *e)
{
    struct bl_access *access = context;
    const int tries = asked->is_local ? 1 : SERVICE_TRIES;
    const size_t begin = out->size;
    struct bl_answer answer = {0};
    int code = BL_OK;
    *status = 0;
    for (int i = 0; i < tries && !code; i++) {
        const struct timespec pause = {i, 250000000};
        if (i)
            (void)nanosleep(&pause, NULL);
        out->size = begin;
        bl_answer_free(&answer);
        code = service_exchange(access, asked, out, &answer, e);
        if (!service_is_busy(&answer))
            break;
    }
    if (!code && answer.outcome == BL_STOPPED)
        code = bl_error_set(e, BL_ECANCEL, "stopped");
    else if (!code && answer.outcome != BL_ANSWERED && !asked->is_local)
        code = bl_error_set(e, BL_EFAIL, "%s cannot be asked for credentials: %s", asked->url, answer.reason);
    *status = !code && answer.outcome == BL_ANSWERED ? answer.status : 0;
    if (answer.text.size)
        bl_buffer_append(out, answer.text.data, answer.text.size);
    bl_buffer_text(out, "");
    bl_answer_free(&answer);
    return code ? code : bl_buffer_check(out, e);
}

/* Finds keys anew. If that fails while those before are still valid, these are used, and others asked for later. The
 * lock is held. */
static int access_renew_keys(struct bl_access *access, struct bl_error *e)
{
    const struct bl_key_services services = {access_ask_service, access, access->curl};
    struct bl_error fault = {0};
    struct bl_keys keys;
    bool is_lent;
    int code = bl_keys_find(&keys, &is_lent, &access->profile, &services, &fault);
    int64_t now = (int64_t)time(NULL), left = access->has_keys ? access->keys.expires - now : 0;
    if (code && code != BL_ECANCEL && left > 0) {
        access->keys_renewed = now + (left / 2 < RENEW_AGAIN ? left / 2 : RENEW_AGAIN);
        return BL_OK;
    }
    if (code)
        return bl_error_pass(e, code, &fault);
    bl_keys_free(&access->keys);
    access->keys = keys;
    access->keys_are_lent = is_lent;
    access->has_keys = true;
    /* Keys for a short time are used for half of it. */
    left = keys.expires - now;
    int64_t early = left > 2 * (int64_t)RENEW_SECONDS ? RENEW_SECONDS : left / 2;
    access->keys_renewed = keys.expires ? keys.expires - (early > 0 ? early : 0) : 0;
    return BL_OK;
}

/* Sets the keys for a URL of a store. The lock is held. */
static int access_find_keys(struct bl_access *access, const struct bl_url *url, const struct bl_keys **keys,
                            struct bl_error *e)
{
    if (url->scheme == BL_URL_GS && !access->has_google)
        BL_TRY(bl_profile_read_google(&access->google, e));
    access->has_google = access->has_google || url->scheme == BL_URL_GS;
    *keys = url->scheme == BL_URL_GS && access->google.access ? &access->google : &access->keys;
    if (*keys == &access->google)
        return BL_OK;
    if (!access->has_keys || (access->keys_renewed && access->keys_renewed <= (int64_t)time(NULL)))
        BL_TRY(access_renew_keys(access, e));
    if (access->keys.access)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE,
                        "no credentials: set %s, or a profile in ~/.aws/credentials, or --anonymous for "
                        "public objects",
                        url->scheme == BL_URL_GS ? "GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY"
                                                 : "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

/* Reads the keys of the profile's files again, which a program may have renewed there. Returns whether there are others
 * now, or others were found a moment ago, by a request that failed at the same time. The lock is held. */
static bool access_read_keys_again(struct bl_access *access)
{
    struct bl_profile profile;
    struct bl_error none = {0};
    const struct bl_keys *old = &access->profile.keys, *found = &profile.keys;
    int64_t now = (int64_t)time(NULL);
    if (access->profile.is_environment || !old->token || bl_profile_read(&profile, &none))
        return false;
    if (found->access && (strcmp(found->access, old->access) != 0 || strcmp(found->secret, old->secret) != 0 ||
                          !found->token || strcmp(found->token, old->token) != 0)) {
        const struct bl_keys kept = profile.keys;
        profile.keys = access->profile.keys;
        access->profile.keys = kept;
        access->has_keys = false;
        access->keys_read = now;
    }
    bl_profile_free(&profile);
    return access->keys_read && now - access->keys_read < READ_AGAIN;
}

bool bl_access_renew(struct bl_access *access, const struct bl_url *url)
{
    (void)pthread_mutex_lock(&access->lock);
    bool is_store = url->scheme != BL_URL_WEB && url->scheme != BL_URL_HF;
    bool renews = is_store && access->keys.access && access->keys_are_lent;
    access->has_keys = access->has_keys && !renews;
    if (!renews && is_store && access->keys.access)
        renews = access_read_keys_again(access);
    (void)pthread_mutex_unlock(&access->lock);
    return renews;
}

/* --- stores ------------------------------------------------------------------------------------------------------- */

/* Whether a bucket's name can be the first part of a host's name, whose certificate is for one part. */
static bool bucket_is_host(const char *bucket)
{
    size_t size = strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return size >= 3 && size <= 63 && !bucket[size];
}

/* Appends the beginning of a URL of a bucket, without a slash at its end. The lock is held. */
static void store_append_base(struct bl_access *access, const struct bl_url *url, struct bl_ready *ready)
{
    const char *own = access->options.endpoint   ? access->options.endpoint
                      : url->scheme == BL_URL_S3 ? access->profile.endpoint
                                                 : NULL;
    const char *endpoint = own ? own : url->scheme == BL_URL_GS ? "https://storage.googleapis.com" : NULL;
    const char *suffix = strncmp(ready->region, "cn-", 3) == 0 ? ".cn" : "";
    if (endpoint) {
        size_t size = strlen(endpoint);
        while (size && endpoint[size - 1] == '/')
            size--;
        bl_buffer_append(&ready->url, endpoint, size);
    } else if (bucket_is_host(url->bucket)) {
        bl_buffer_printf(&ready->url, "https://%s.s3.%s.amazonaws.com%s", url->bucket, ready->region, suffix);
        return;
    } else {
        bl_buffer_printf(&ready->url, "https://s3.%s.amazonaws.com%s", ready->region, suffix);
    }
    bl_buffer_byte(&ready->url, '/');
    bl_url_append_encoded(&ready->url, url->bucket, strlen(url->bucket), false);
}

/* Sets the parameters of a request for a part of a listing. Returns their number. */
static size_t listing_query(const struct bl_url *url, const struct bl_ask *ask, struct bl_pair query[4])
{
    size_t count = 0;
    query[count++] = (struct bl_pair){"list-type", "2"};
    query[count++] = (struct bl_pair){"encoding-type", "url"};
    query[count++] = (struct bl_pair){"prefix", url->key};
    if (ask->token)
        query[count++] = (struct bl_pair){"continuation-token", ask->token};
    return count;
}

/* Sets the hash of a body by which it is signed. A large one that TLS protects is not read twice. */
static int ask_hash(const struct bl_curl *curl, const struct bl_ask *ask, bool is_plain,
                    char payload[BL_SIGN_PAYLOAD_SIZE], struct bl_error *e)
{
    if (!is_plain && ask->body->size > HASHED_MAX) {
        memcpy(payload, BL_SIGN_UNSIGNED, sizeof BL_SIGN_UNSIGNED);
        return BL_OK;
    }
    return bl_sign_hash(curl, ask->body->data, ask->body->size, payload, e);
}

/* Signs a request whose URL is complete but for its query. */
static int store_sign(struct bl_access *access, const struct bl_ask *ask, const struct bl_keys *keys,
                      const struct bl_pair *query, size_t queries, struct bl_ready *ready, struct bl_error *e)
{
    struct bl_site site;
    struct bl_buffer host = {0};
    char payload[BL_SIGN_PAYLOAD_SIZE];
    (void)bl_site_parse(&site, ready->url.data);
    if (ask->body)
        BL_TRY(ask_hash(access->curl, ask, site.is_plain, payload, e));
    bl_site_append_host(&host, &site);
    const struct bl_signing signing = {.method = ask->method,
                                       .host = host.data,
                                       .path = *site.path ? site.path : "/",
                                       .query = query,
                                       .queries = queries,
                                       .region = ready->region,
                                       .service = "s3",
                                       .payload = ask->body ? payload : NULL,
                                       .keys = keys,
                                       .now = time(NULL)};
    int code = bl_buffer_check(&host, e);
    if (!code)
        code = bl_sign(access->curl, &signing, &ready->headers, e);
    ready->is_signed = true;
    bl_buffer_free(&host);
    return code;
}

/* Reads the profile, once, and sets the region of a bucket: what the store said, or the profile. The lock
 * is held. */
static int store_find_region(struct bl_access *access, const struct bl_url *url, struct bl_ready *ready,
                             struct bl_error *e)
{
    if (!access->has_profile) {
        bl_profile_free(&access->profile);
        BL_TRY(bl_profile_read(&access->profile, e));
        if (access->profile.endpoint && !access->options.endpoint)
            BL_TRY(endpoint_check(access->profile.endpoint, e));
        if (access->profile.region && !bl_region_is_proper(access->profile.region))
            return bl_error_set(e, BL_EUSAGE, "%s is no name of a region", access->profile.region);
        access->has_profile = true;
    }
    const char *known = note_find(access->regions, url->bucket);
    const char *own = access->profile.region;
    const char *region = known ? known : url->scheme == BL_URL_GS ? "auto" : own ? own : REGION_DEFAULT;
    memcpy(ready->region, region, strlen(region) + 1);
    return BL_OK;
}

/* Makes a request to a store ready. The lock is held. */
static int store_prepare(struct bl_access *access, const struct bl_url *url, const struct bl_ask *ask,
                         struct bl_ready *ready, struct bl_error *e)
{
    const struct bl_keys *keys = NULL;
    struct bl_pair parts[4];
    bool is_listing = ask->purpose == BL_GET_LISTING;
    size_t queries = is_listing ? listing_query(url, ask, parts) : ask->queries;
    const struct bl_pair *query = is_listing ? parts : ask->query;
    BL_TRY(store_find_region(access, url, ready, e));
    if (!access->options.anonymous)
        BL_TRY(access_find_keys(access, url, &keys, e));
    store_append_base(access, url, ready);
    if (ask->purpose == BL_GET_OBJECT) {
        bl_buffer_byte(&ready->url, '/');
        bl_url_append_encoded(&ready->url, url->key, strlen(url->key), true);
    }
    BL_TRY(bl_buffer_check(&ready->url, e));
    if (keys)
        BL_TRY(store_sign(access, ask, keys, query, queries, ready, e));
    if (queries) {
        struct bl_site site;
        (void)bl_site_parse(&site, ready->url.data);
        bl_buffer_text(&ready->url, *site.path ? "?" : "/?");
        BL_TRY(bl_query_append(&ready->url, query, queries, e));
    }
    return BL_OK;
}

/* --- Hugging Face Hub --------------------------------------------------------------------------------------------- */

/* Returns the bytes of a path's folder: up to its last slash, or 0. */
static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Appends the URL of a request to the Hub. The lock is held. */
static int hub_append_url(struct bl_access *access, const struct bl_url *url, const struct bl_ask *ask,
                          struct bl_ready *ready, struct bl_error *e)
{
    const char *endpoint = getenv("HF_ENDPOINT");
    struct bl_buffer name = {0};
    endpoint = endpoint && *endpoint ? endpoint : "https://huggingface.co";
    BL_TRY(endpoint_check(endpoint, e));
    int code = commit_name(&name, url, e);
    const char *commit = code ? NULL : note_find(access->commits, name.data);
    bl_buffer_free(&name);
    BL_TRY(code);
    size_t size = strlen(endpoint);
    while (size && endpoint[size - 1] == '/')
        size--;
    bl_buffer_append(&ready->url, endpoint, size);
    static const char *const actions[] = {"resolve", "tree", "revision"};
    bl_buffer_printf(&ready->url, "%s/%s/%s/", ask->purpose == BL_GET_OBJECT ? "" : "/api", url->bucket,
                     actions[ask->purpose]);
    const char *revision = commit ? commit : url->revision;
    bl_url_append_encoded(&ready->url, revision, strlen(revision), false);
    size = ask->purpose == BL_GET_OBJECT    ? strlen(url->key)
           : ask->purpose == BL_GET_LISTING ? folder_size(url->key)
                                            : 0;
    if (size)
        bl_buffer_byte(&ready->url, '/');
    bl_url_append_encoded(&ready->url, url->key, size, true);
    if (ask->purpose == BL_GET_LISTING)
        bl_buffer_text(&ready->url, "?recursive=true");
    return bl_buffer_check(&ready->url, e);
}

/* Makes a request to the Hub ready. The lock is held. */
static int hub_prepare(struct bl_access *access, const struct bl_url *url, const struct bl_ask *ask,
                       struct bl_ready *ready, struct bl_error *e)
{
    if (!access->has_hub_token && !access->options.anonymous)
        BL_TRY(bl_hub_token(&access->hub_token, e));
    access->has_hub_token = true;
    BL_TRY(hub_append_url(access, url, ask, ready, e));
    if (ask->token) {
        /* The next part of a list has a URL, which must be one of the same server: the token goes there. */
        struct bl_site own, next;
        const char *fault = bl_site_parse(&own, ready->url.data);
        if (fault || bl_site_parse(&next, ask->token) || !bl_site_equal(&own, &next))
            return bl_error_set(e, BL_EFAIL, "the next part of the list is on another server");
        bl_buffer_clear(&ready->url);
        bl_buffer_text(&ready->url, ask->token);
    }
    if (access->hub_token) {
        bl_buffer_printf(&ready->headers, "Authorization: Bearer %s", access->hub_token);
        bl_buffer_byte(&ready->headers, '\0');
    }
    return BL_OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Appends the MD5 of the bytes of an object or a part: the store compares them, and one with Object Lock takes none
 * without it. Where the library refuses MD5, the header is left out. */
static void ready_append_digest(struct bl_ready *ready, const struct bl_curl *curl, const struct bl_ask *ask)
{
    uint8_t digest[BL_MD5_SIZE];
    if (!ask->body || strcmp(ask->method, "PUT") != 0 || !bl_curl_md5(curl, ask->body->data, ask->body->size, digest))
        return;
    bl_buffer_text(&ready->headers, "Content-MD5: ");
    bl_base64_append(&ready->headers, digest, sizeof digest);
    bl_buffer_byte(&ready->headers, '\0');
}

/* Says where a request may go. BL_EUSAGE: it would go unprotected through a network. */
static int ready_protect(struct bl_ready *ready, const struct bl_access *access, struct bl_error *e)
{
    struct bl_site site;
    const char *fault = bl_site_parse(&site, ready->url.data);
    if (fault)
        return bl_error_set(e, BL_EUSAGE, "%s", fault);
    bool is_near = bl_site_is_loopback(&site);
    if (site.is_plain && !is_near && !access->options.insecure)
        return bl_error_set(e, BL_EUSAGE, "http:// protects neither data nor credentials: use https://, or --insecure");
    ready->reach = site.is_plain && is_near ? BL_REACH_LOOPBACK : BL_REACH_ANY;
    ready->is_direct = is_near;
    return BL_OK;
}

int bl_access_prepare(struct bl_access *access, const struct bl_url *url, const struct bl_ask *ask,
                      struct bl_ready *ready, struct bl_error *e)
{
    int code = BL_OK;
    bl_buffer_clear(&ready->url);
    bl_buffer_clear(&ready->headers);
    ready->is_signed = false;
    *ready->region = '\0';
    (void)pthread_mutex_lock(&access->lock);
    if (url->scheme == BL_URL_WEB)
        bl_buffer_text(&ready->url, url->key);
    else
        code = url->scheme == BL_URL_HF ? hub_prepare(access, url, ask, ready, e)
                                        : store_prepare(access, url, ask, ready, e);
    (void)pthread_mutex_unlock(&access->lock);
    if (code)
        return code;
    /* Only a strong ETag can be compared by the server; a time of modification has spaces. */
    if (ask->tag && *ask->tag && strncmp(ask->tag, "W/", 2) != 0 && !strpbrk(ask->tag, " \"") &&
        url->scheme != BL_URL_HF) {
        bl_buffer_printf(&ready->headers, "If-Match: \"%s\"", ask->tag);
        bl_buffer_byte(&ready->headers, '\0');
    }
    ready_append_digest(ready, access->curl, ask);
    if (ask->is_new)
        bl_buffer_append(&ready->headers, "If-None-Match: *", sizeof "If-None-Match: *");
    BL_TRY(bl_buffer_check(&ready->url, e));
    BL_TRY(bl_buffer_check(&ready->headers, e));
    return ready_protect(ready, access, e);
}

void bl_ready_free(struct bl_ready *ready)
{
    bl_buffer_free(&ready->url);
    bl_buffer_free(&ready->headers);
}
