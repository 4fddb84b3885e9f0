/* Parses URLs.
 *
 * A URL becomes the path of rows in a dataset, and part of requests that are signed. So one with a password in it is
 * refused, and so is one that servers and libraries may read in different ways. */
#include "remote/url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define BUCKET_SIZE_MAX 255

static const struct url_scheme {
    const char *prefix;
    enum bl_url_scheme scheme;
} url_schemes[] = {{"s3://", BL_URL_S3},
                   {"gs://", BL_URL_GS},
                   {"https://", BL_URL_WEB},
                   {"http://", BL_URL_WEB},
                   {"hf://", BL_URL_HF}};

#define SCHEMES (sizeof url_schemes / sizeof *url_schemes)

/* Returns the scheme of a URL, or NULL. */
static const struct url_scheme *url_find_scheme(const char *text)
{
    for (size_t i = 0; i < SCHEMES; i++) {
        if (strncasecmp(text, url_schemes[i].prefix, strlen(url_schemes[i].prefix)) == 0)
            return &url_schemes[i];
    }
    return NULL;
}

bool bl_url_is(const char *text)
{
    return url_find_scheme(text) != NULL;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

/* Whether a byte is one of the set, or a letter or digit of ASCII, whatever the locale is. */
static bool byte_is_among(unsigned char byte, const char *set)
{
    return byte < 0x80 &&
           (((byte | 32) >= 'a' && (byte | 32) <= 'z') || (byte >= '0' && byte <= '9') || (byte && strchr(set, byte)));
}

void bl_url_append_encoded(struct bl_buffer *out, const char *text, size_t size, bool slashes)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte_is_among(byte, "-._~") || (slashes && byte == '/'))
            bl_buffer_byte(out, (char)byte);
        else
            bl_buffer_printf(out, "%%%02X", byte);
    }
}

int64_t bl_url_decode(char *text, size_t size)
{
    size_t to = 0;
    for (size_t at = 0; at < size; at++, to++) {
        text[to] = text[at];
        if (text[at] != '%')
            continue;
        int high = at + 2 < size ? bl_text_hex_digit(text[at + 1]) : -1;
        int low = at + 2 < size ? bl_text_hex_digit(text[at + 2]) : -1;
        if (high < 0 || low < 0 || (!high && !low))
            return -1;
        text[to] = (char)(high << 4 | low);
        at += 2;
    }
    return (int64_t)to;
}

void bl_tag_trim(char *tag)
{
    char *begin = tag + (strncmp(tag, "W/", 2) == 0 ? 2 : 0);
    size_t size = strlen(begin);
    if (size < 2 || begin[0] != '"' || begin[size - 1] != '"')
        return;
    memmove(begin, begin + 1, size - 2);
    begin[size - 2] = '\0';
}

/* --- web servers -------------------------------------------------------------------------------------------------- */

const char *bl_site_parse(struct bl_site *site, const char *url)
{
    const struct url_scheme *scheme = url_find_scheme(url);
    if (!scheme || scheme->scheme != BL_URL_WEB)
        return "it does not begin with https:// or http://";
    for (const char *at = url; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == '\\' || (unsigned char)*at >= 0x7f)
            return "it has a character that must be encoded, such as a space as %20";
    }
    *site = (struct bl_site){.host = url + strlen(scheme->prefix), .is_plain = strlen(scheme->prefix) == 7};
    size_t size = strcspn(site->host, "/?#");
    site->path = site->host + size;
    if (memchr(site->host, '@', size))
        return "it has a user name or password, which would be kept in the dataset";
    const char *end = site->host + size, *port;
    if (*site->host == '[') {
        const char *bracket = memchr(site->host, ']', size);
        if (!bracket)
            return "its host has no closing bracket";
        site->host++;
        site->host_size = (size_t)(bracket - site->host);
        port = bracket + 1;
    } else {
        const char *colon = memchr(site->host, ':', size);
        port = colon ? colon : end;
        site->host_size = (size_t)(port - site->host);
    }
    for (size_t i = 0; i < site->host_size; i++) {
        if (!byte_is_among((unsigned char)site->host[i], site->host[-1] == '[' ? ":." : "-._"))
            return "its host has a character that no host has";
    }
    int64_t number = site->is_plain ? 80 : 443;
    if (port < end && (*port != ':' || !bl_text_to_int(port + 1, (size_t)(end - port) - 1, 1, 65535, &number)))
        return "its port is no number from 1 to 65535";
    site->port = (int)number;
    return site->host_size ? NULL : "it has no host";
}

bool bl_site_equal(const struct bl_site *a, const struct bl_site *b)
{
    return a->is_plain == b->is_plain && a->port == b->port && a->host_size == b->host_size &&
           strncasecmp(a->host, b->host, a->host_size) == 0;
}

bool bl_site_is_loopback(const struct bl_site *site)
{
    static const char *const names[] = {"localhost", "::1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == site->host_size && strncasecmp(site->host, names[i], site->host_size) == 0)
            return true;
    }
    /* Four numbers, since "127.example.org" is a name. */
    int dots = 0;
    for (size_t i = 0; i < site->host_size; i++) {
        dots += site->host[i] == '.';
        if (site->host[i] != '.' && !isdigit((unsigned char)site->host[i]))
            return false;
    }
    return dots == 3 && strncmp(site->host, "127.", 4) == 0;
}

void bl_site_append_host(struct bl_buffer *out, const struct bl_site *site)
{
    bool brackets = memchr(site->host, ':', site->host_size) != NULL;
    bl_buffer_printf(out, "%s%.*s%s", brackets ? "[" : "", (int)site->host_size, site->host, brackets ? "]" : "");
    if (site->port != (site->is_plain ? 80 : 443))
        bl_buffer_printf(out, ":%d", site->port);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Returns what is wrong with the bucket and key of a store, or NULL. */
static const char *url_split_bucket(struct bl_url *url, const char *rest)
{
    size_t size = strcspn(rest, "/");
    if (!size)
        return "it has no bucket: BUCKET/KEY follows the two slashes";
    if (size > BUCKET_SIZE_MAX)
        return "its bucket is longer than buckets may be";
    for (size_t i = 0; i < size; i++) {
        if (!byte_is_among((unsigned char)rest[i], "-._"))
            return "its bucket has a character that no bucket has";
    }
    /* It becomes part of a host name, or of a path. */
    if (rest[0] == '.' || rest[0] == '-' || memmem(rest, size, "..", 2))
        return "its bucket has a dot or hyphen where no bucket has one";
    url->bucket = strndup(rest, size);
    url->key = strdup(rest + size + (rest[size] == '/'));
    return NULL;
}

bool bl_url_path_has_steps(const char *path)
{
    for (const char *at = path; *at;) {
        size_t size = strcspn(at, "/");
        if (!size || (size <= 2 && strspn(at, ".") >= size))
            return true;
        at += size + (at[size] == '/');
    }
    return false;
}

/* Returns the size of the revision that the text begins with: up to the next slash, but names of refs, such as
 * "refs/convert/parquet", have three parts. */
static size_t revision_size(const char *text)
{
    size_t size = 0;
    int parts = strncmp(text, "refs/convert/", 13) == 0 || strncmp(text, "refs/pr/", 8) == 0 ? 3 : 1;
    for (int i = 0; i < parts; i++)
        size += strcspn(text + size + (i > 0), "/") + (i > 0);
    return size;
}

/* Returns what is wrong with the repository, revision and path of a dataset on the Hub, or NULL. */
static const char *url_split_repository(struct bl_url *url, const char *rest)
{
    static const char form[] = "it is not of the form hf://datasets/OWNER/NAME[@REVISION]/PATH";
    static const char kind[] = "datasets/";
    if (strncmp(rest, kind, strlen(kind)) != 0)
        return form;
    const char *owner = rest + strlen(kind), *name = owner + strcspn(owner, "/@") + 1;
    if (name == owner + 1 || name[-1] != '/')
        return form;
    const char *end = name + strcspn(name, "/@");
    for (const char *at = owner; at < end; at++) {
        if (!byte_is_among((unsigned char)*at, "-._/"))
            return "its repository has a character that no repository has";
    }
    if (end == name || owner[0] == '.' || name[0] == '.')
        return form;
    const char *path = end;
    if (*end == '@') {
        size_t size = revision_size(end + 1);
        url->revision = strndup(end + 1, size);
        int64_t decoded = url->revision ? bl_url_decode(url->revision, size) : 0;
        if (decoded < 0 || !size)
            return "its revision is malformed";
        if (url->revision)
            url->revision[decoded] = '\0';
        path = end + 1 + size;
    } else {
        url->revision = strdup("main");
    }
    path += *path == '/';
    if (bl_url_path_has_steps(path))
        return "its path has an empty part, or one that is . or ..";
    url->bucket = strndup(rest, (size_t)(end - rest));
    url->key = strdup(path);
    return NULL;
}

int bl_url_parse(struct bl_url *url, const char *text, struct bl_error *e)
{
    const struct url_scheme *scheme = url_find_scheme(text);
    const char *fault = NULL;
    *url = (struct bl_url){0};
    if (!scheme)
        return bl_error_set(e, BL_EUSAGE, "%s: URLs of this kind are not read, only s3, gs, https, http and hf", text);
    url->scheme = scheme->scheme;
    const char *rest = text + strlen(scheme->prefix);
    if (scheme->scheme == BL_URL_WEB) {
        struct bl_site site;
        fault = bl_site_parse(&site, text);
        if (!fault && strchr(text, '#'))
            fault = "it has a #, which must be encoded as %23";
        url->key = strdup(text);
    } else if (scheme->scheme == BL_URL_HF) {
        fault = url_split_repository(url, rest);
    } else {
        fault = url_split_bucket(url, rest);
    }
    if (fault) {
        bl_url_free(url);
        /* A password stays out of logs. */
        size_t host = strcspn(rest, "/?#");
        const char *shown = memchr(rest, '@', host) && scheme->scheme == BL_URL_WEB ? rest + host : NULL;
        return bl_error_set(e, BL_EUSAGE, "%s%s: %s", shown ? scheme->prefix : text, shown ? "..." : "", fault);
    }
    bool complete =
        url->key && (scheme->scheme == BL_URL_WEB || url->bucket) && (scheme->scheme != BL_URL_HF || url->revision);
    if (!complete) {
        bl_url_free(url);
        return bl_error_memory(e);
    }
    return BL_OK;
}

void bl_url_free(struct bl_url *url)
{
    free(url->bucket);
    free(url->revision);
    free(url->key);
    *url = (struct bl_url){0};
}
