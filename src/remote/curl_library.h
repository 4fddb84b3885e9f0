/* libcurl, which is loaded when the first URL is read: bload runs without it.
 *
 * bload declares what it calls itself, and includes no header of libcurl, as with HDF5. The binary interface of
 * libcurl.so.4 has only grown since 2006, so that one build works with every version, and needs no package to be built.
 * A test compares the numbers below with the header, where that is installed.
 *
 * SHA-256 and MD5 are of the library that libcurl has for TLS, OpenSSL or GnuTLS. */
#ifndef BL_CURL_LIBRARY_H
#define BL_CURL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- declarations ------------------------------------------------------------------------------------------------- */

/* Options, as OPTION(name, number). */
#define BL_CURL_OPTIONS(OPTION)                                                                                        \
    OPTION(WRITEDATA, 10001)                                                                                           \
    OPTION(URL, 10002)                                                                                                 \
    OPTION(READDATA, 10009)                                                                                            \
    OPTION(ERRORBUFFER, 10010)                                                                                         \
    OPTION(USERAGENT, 10018)                                                                                           \
    OPTION(LOW_SPEED_LIMIT, 19)                                                                                        \
    OPTION(LOW_SPEED_TIME, 20)                                                                                         \
    OPTION(HTTPHEADER, 10023)                                                                                          \
    OPTION(HEADERDATA, 10029)                                                                                          \
    OPTION(UPLOAD, 46)                                                                                                 \
    OPTION(CUSTOMREQUEST, 10036)                                                                                       \
    OPTION(NOPROGRESS, 43)                                                                                             \
    OPTION(NOBODY, 44)                                                                                                 \
    OPTION(XFERINFODATA, 10057)                                                                                        \
    OPTION(CAINFO, 10065)                                                                                              \
    OPTION(HTTP_VERSION, 84)                                                                                           \
    OPTION(BUFFERSIZE, 98)                                                                                             \
    OPTION(NOSIGNAL, 99)                                                                                               \
    OPTION(TIMEOUT_MS, 155)                                                                                            \
    OPTION(CONNECTTIMEOUT_MS, 156)                                                                                     \
    OPTION(OPENSOCKETDATA, 10164)                                                                                      \
    OPTION(SEEKDATA, 10168)                                                                                            \
    OPTION(NOPROXY, 10177)                                                                                             \
    OPTION(PROTOCOLS, 181)                                                                                             \
    OPTION(TCP_KEEPALIVE, 213)                                                                                         \
    OPTION(PATH_AS_IS, 234)                                                                                            \
    OPTION(SUPPRESS_CONNECT_HEADERS, 265)                                                                              \
    OPTION(WRITEFUNCTION, 20011)                                                                                       \
    OPTION(READFUNCTION, 20012)                                                                                        \
    OPTION(HEADERFUNCTION, 20079)                                                                                      \
    OPTION(OPENSOCKETFUNCTION, 20163)                                                                                  \
    OPTION(SEEKFUNCTION, 20167)                                                                                        \
    OPTION(XFERINFOFUNCTION, 20219)                                                                                    \
    OPTION(INFILESIZE_LARGE, 30115)

#define BL_CURL_OPTION_VALUE(name, number) BL_CURLOPT_##name = number,
enum { BL_CURL_OPTIONS(BL_CURL_OPTION_VALUE) };

/* Properties of a finished request. */
enum {
    BL_CURLINFO_REDIRECT_URL = 0x100000 + 31,
    BL_CURLINFO_CAINFO = 0x100000 + 61, /* since 7.84 */
    BL_CURLINFO_RESPONSE_CODE = 0x200000 + 2,
};

/* Results of a request. */
#define BL_CURL_RESULTS(RESULT)                                                                                        \
    RESULT(OK, 0)                                                                                                      \
    RESULT(UNSUPPORTED_PROTOCOL, 1)                                                                                    \
    RESULT(COULDNT_RESOLVE_PROXY, 5)                                                                                   \
    RESULT(COULDNT_RESOLVE_HOST, 6)                                                                                    \
    RESULT(COULDNT_CONNECT, 7)                                                                                         \
    RESULT(WEIRD_SERVER_REPLY, 8)                                                                                      \
    RESULT(HTTP2, 16)                                                                                                  \
    RESULT(PARTIAL_FILE, 18)                                                                                           \
    RESULT(WRITE_ERROR, 23)                                                                                            \
    RESULT(OPERATION_TIMEDOUT, 28)                                                                                     \
    RESULT(SSL_CONNECT_ERROR, 35)                                                                                      \
    RESULT(ABORTED_BY_CALLBACK, 42)                                                                                    \
    RESULT(GOT_NOTHING, 52)                                                                                            \
    RESULT(SEND_ERROR, 55)                                                                                             \
    RESULT(RECV_ERROR, 56)                                                                                             \
    RESULT(PEER_FAILED_VERIFICATION, 60)                                                                               \
    RESULT(SSL_CACERT_BADFILE, 77)

#define BL_CURL_RESULT_VALUE(name, number) BL_CURLE_##name = number,
enum { BL_CURL_RESULTS(BL_CURL_RESULT_VALUE) };

#define BL_CURL_ERROR_SIZE 256
#define BL_CURL_HTTP_1_1 2L
#define BL_CURL_HTTP_OR_HTTPS 3L
#define BL_CURL_SOCKET_BAD (-1)
#define BL_CURL_GLOBAL_ALL 3L

struct bl_curl_list;

/* The functions, as FUNCTION(result, name, (parameters)). */
#define BL_CURL_FUNCTIONS(FUNCTION)                                                                                    \
    FUNCTION(int, curl_global_init, (long flags))                                                                      \
    FUNCTION(char *, curl_version, (void))                                                                             \
    FUNCTION(void *, curl_easy_init, (void))                                                                           \
    FUNCTION(void, curl_easy_reset, (void *handle))                                                                    \
    FUNCTION(void, curl_easy_cleanup, (void *handle))                                                                  \
    FUNCTION(int, curl_easy_setopt, (void *handle, int option, ...))                                                   \
    FUNCTION(int, curl_easy_perform, (void *handle))                                                                   \
    FUNCTION(int, curl_easy_getinfo, (void *handle, int info, ...))                                                    \
    FUNCTION(const char *, curl_easy_strerror, (int result))                                                           \
    FUNCTION(struct bl_curl_list *, curl_slist_append, (struct bl_curl_list * list, const char *text))                 \
    FUNCTION(void, curl_slist_free_all, (struct bl_curl_list * list))

#define BL_CURL_MEMBER(result, name, parameters) result(*name) parameters;

struct bl_curl {
    BL_CURL_FUNCTIONS(BL_CURL_MEMBER)
    const char *file; /* the name of the library; NULL: it is not loaded */
    struct {
        const void *(*sha256)(void);
        const void *(*md5)(void);
        int (*digest)(const void *data, size_t size, uint8_t *out, unsigned *out_size, const void *type, void *engine);
        uint8_t *(*hmac)(const void *type, const void *key, int key_size, const uint8_t *data, size_t size,
                         uint8_t *out, unsigned *out_size);
    } openssl;
    struct {
        int (*digest)(int type, const void *data, size_t size, void *out);
        int (*hmac)(int type, const void *key, size_t key_size, const void *data, size_t size, void *out);
    } gnutls; /* one of the two has functions */
};

/* Loads libcurl, once for the process; call it before there are threads that could, too. BL_EUSAGE: it is not
 * installed, and the message says which package has it. */
int bl_curl_load(const struct bl_curl **out, struct bl_error *e);

/* Loads the library of this name into an empty struct, for tests. *found: whether there is one. */
int bl_curl_load_file(const char *file, struct bl_curl *curl, bool *found, struct bl_error *e);

/* Appends what is loaded: "libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13 ... (libcurl.so.4)". */
int bl_curl_describe(struct bl_buffer *out, struct bl_error *e);

/* --- digests ------------------------------------------------------------------------------------------------------ */

#define BL_SHA256_SIZE 32
#define BL_MD5_SIZE 16

/* BL_EFAIL: the library refuses, as it may where only certified code is allowed. */
int bl_curl_sha256(const struct bl_curl *curl, const void *data, size_t size, uint8_t out[BL_SHA256_SIZE],
                   struct bl_error *e);
int bl_curl_hmac(const struct bl_curl *curl, const void *key, size_t key_size, const void *data, size_t size,
                 uint8_t out[BL_SHA256_SIZE], struct bl_error *e);

/* Sets the MD5 of bytes. False: the library refuses it, as where only certified code is allowed. */
bool bl_curl_md5(const struct bl_curl *curl, const void *data, size_t size, uint8_t out[BL_MD5_SIZE]);

#endif
