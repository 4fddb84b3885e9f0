/* URLs of objects: their parts, and percent-encoding.
 *
 *     s3://BUCKET/KEY                          an object of S3, or of a store with the same interface
 *     gs://BUCKET/KEY                          one of Google's store, by its interface for S3
 *     https://HOST/PATH, http://HOST/PATH      a file of a web server
 *     hf://datasets/OWNER/NAME[@REVISION]/PATH a file of a dataset on the Hugging Face Hub
 *
 * A key is written as it is, without percent-encoding, as other tools of S3 do; the path of a web server is encoded. */
#ifndef BL_URL_H
#define BL_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

enum bl_url_scheme { BL_URL_S3, BL_URL_GS, BL_URL_WEB, BL_URL_HF };

/* The parts of a URL; free with bl_url_free. */
struct bl_url {
    enum bl_url_scheme scheme;
    char *bucket;   /* s3, gs: the bucket; hf: "datasets/OWNER/NAME"; web: NULL */
    char *revision; /* hf: as given, or "main"; others: NULL */
    char *key;      /* s3, gs: the key; hf: the path in the repository; may be "". web: the URL as given */
};

/* Whether the text begins with one of these schemes and "://". */
bool bl_url_is(const char *text);

/* Whether a part of the path is "." or "..", or empty but for the last one. */
bool bl_url_path_has_steps(const char *path);

/* Parses a URL. BL_EUSAGE: bload reads no URLs of this scheme, or the URL is malformed. The message begins with it. */
int bl_url_parse(struct bl_url *url, const char *text, struct bl_error *e);

/* Frees the parts; does nothing with {0}. */
void bl_url_free(struct bl_url *url);

/* Where a web URL leads to. The texts point into the URL. */
struct bl_site {
    bool is_plain;    /* http:// */
    const char *host; /* without brackets around an IPv6 address */
    size_t host_size;
    int port;         /* also if it is the scheme's own */
    const char *path; /* from its slash, "?" or "#" on, or "" */
};

/* Parses a URL of a web server. NULL, or what is wrong with it: "it has no host". */
const char *bl_site_parse(struct bl_site *site, const char *url);

/* Whether two sites have the same scheme, host and port: whether they may share credentials. */
bool bl_site_equal(const struct bl_site *a, const struct bl_site *b);

/* Whether the host is this machine: localhost, 127.0.0.0/8 or ::1. */
bool bl_site_is_loopback(const struct bl_site *site);

/* Appends "host" or "host:port", as a request's header Host has it. */
void bl_site_append_host(struct bl_buffer *out, const struct bl_site *site);

/* Appends the text with every byte encoded that is not a letter, digit, "-", ".", "_", "~", or, if slashes is set, a
 * slash. */
void bl_url_append_encoded(struct bl_buffer *out, const char *text, size_t size, bool slashes);

/* Decodes in place. Returns the new size, or -1: a "%" is not followed by two digits, or encodes a zero byte. */
int64_t bl_url_decode(char *text, size_t size);

/* Removes the quotes of an ETag in place; a weak one keeps the W/ before them. */
void bl_tag_trim(char *tag);

#endif
