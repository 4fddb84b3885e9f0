/* Loads libcurl, and finds the functions of SHA-256 and MD5 in the library that it has for TLS.
 *
 * A library of its own for them is not needed: whatever libcurl is linked with is loaded with it, and dlsym finds
 * symbols of a library's dependencies, too. Debian's libcurl4 brings OpenSSL, and libcurl3-gnutls brings GnuTLS. */
#include "remote/curl_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* The names of the library: that of most systems, then Debian's one with GnuTLS. */
static const char *const curl_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#define CURL_SYMBOL(result, name, parameters) {#name, offsetof(struct bl_curl, name)},

struct curl_symbol {
    const char *name;
    size_t at; /* of the pointer in the struct */
};

static const struct curl_symbol curl_functions[] = {BL_CURL_FUNCTIONS(CURL_SYMBOL)};
static const struct curl_symbol openssl_functions[] = {{"EVP_sha256", offsetof(struct bl_curl, openssl.sha256)},
                                                       {"EVP_md5", offsetof(struct bl_curl, openssl.md5)},
                                                       {"EVP_Digest", offsetof(struct bl_curl, openssl.digest)},
                                                       {"HMAC", offsetof(struct bl_curl, openssl.hmac)}};
static const struct curl_symbol gnutls_functions[] = {{"gnutls_hash_fast", offsetof(struct bl_curl, gnutls.digest)},
                                                      {"gnutls_hmac_fast", offsetof(struct bl_curl, gnutls.hmac)}};

#define GNUTLS_SHA256 6 /* of digests and of MACs */
#define GNUTLS_MD5 2

/* The library of this process, which bl_curl_load sets. */
static struct bl_curl curl_loaded;

/* Sets the pointers to these functions. POSIX has pointers to functions and to data in one size. Returns the first name
 * that the library and those that it needs do not have, or NULL. */
static const char *curl_resolve(void *handle, struct bl_curl *curl, const struct curl_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol)
            return symbols[i].name;
        memcpy((char *)curl + symbols[i].at, &symbol, sizeof symbol);
    }
    return NULL;
}

int bl_curl_load_file(const char *file, struct bl_curl *curl, bool *found, struct bl_error *e)
{
    struct bl_curl loaded = {.file = file};
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    *found = handle != NULL;
    if (!handle)
        return BL_OK;
    /* The library stays loaded, as it keeps state of the process. */
    const char *missing = curl_resolve(handle, &loaded, curl_functions, sizeof curl_functions / sizeof *curl_functions);
    if (missing)
        return bl_error_set(e, BL_EUSAGE, "%s has no function %s: another build of libcurl is needed", file, missing);
    if (curl_resolve(handle, &loaded, openssl_functions, sizeof openssl_functions / sizeof *openssl_functions)) {
        memset(&loaded.openssl, 0, sizeof loaded.openssl);
        if (curl_resolve(handle, &loaded, gnutls_functions, sizeof gnutls_functions / sizeof *gnutls_functions))
            return bl_error_set(e, BL_EUSAGE, "%s has TLS neither by OpenSSL nor by GnuTLS: another build is needed",
                                file);
    }
    if (loaded.curl_global_init(BL_CURL_GLOBAL_ALL) != BL_CURLE_OK)
        return bl_error_set(e, BL_EFAIL, "%s cannot be initialized", file);
    *curl = loaded;
    return BL_OK;
}

int bl_curl_load(const struct bl_curl **out, struct bl_error *e)
{
    bool found = curl_loaded.file != NULL;
    *out = &curl_loaded;
    for (size_t i = 0; i < sizeof curl_names / sizeof *curl_names && !found; i++)
        BL_TRY(bl_curl_load_file(curl_names[i], &curl_loaded, &found, e));
    if (found)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE,
                        "URLs need the library libcurl, which is not installed (Debian, Ubuntu: apt install libcurl4; "
                        "Fedora, Alpine: libcurl)");
}

int bl_curl_describe(struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_curl *curl;
    BL_TRY(bl_curl_load(&curl, e));
    bl_buffer_printf(out, "%s (%s)", curl->curl_version(), curl->file);
    return bl_buffer_check(out, e);
}

/* --- digests ------------------------------------------------------------------------------------------------------ */

int bl_curl_sha256(const struct bl_curl *curl, const void *data, size_t size, uint8_t out[BL_SHA256_SIZE],
                   struct bl_error *e)
{
    unsigned got = BL_SHA256_SIZE;
    bool good = curl->openssl.digest ? curl->openssl.digest(data, size, out, &got, curl->openssl.sha256(), NULL) == 1
                                     : curl->gnutls.digest(GNUTLS_SHA256, data, size, out) == 0;
    return good && got == BL_SHA256_SIZE ? BL_OK : bl_error_set(e, BL_EFAIL, "%s: SHA-256 failed", curl->file);
}

int bl_curl_hmac(const struct bl_curl *curl, const void *key, size_t key_size, const void *data, size_t size,
                 uint8_t out[BL_SHA256_SIZE], struct bl_error *e)
{
    unsigned got = BL_SHA256_SIZE;
    if (key_size > INT_MAX)
        return bl_error_set(e, BL_EFAIL, "a key of %zu bytes", key_size);
    bool good = curl->openssl.hmac
                    ? curl->openssl.hmac(curl->openssl.sha256(), key, (int)key_size, data, size, out, &got) != NULL
                    : curl->gnutls.hmac(GNUTLS_SHA256, key, key_size, data, size, out) == 0;
    return good && got == BL_SHA256_SIZE ? BL_OK : bl_error_set(e, BL_EFAIL, "%s: HMAC failed", curl->file);
}

bool bl_curl_md5(const struct bl_curl *curl, const void *data, size_t size, uint8_t out[BL_MD5_SIZE])
{
    unsigned got = BL_MD5_SIZE;
    bool good = curl->openssl.digest ? curl->openssl.digest(data, size, out, &got, curl->openssl.md5(), NULL) == 1
                                     : curl->gnutls.digest(GNUTLS_MD5, data, size, out) == 0;
    return good && got == BL_MD5_SIZE;
}
