/* The examples that AWS publishes: of "Signature Calculations for the Authorization Header" in the reference of S3, and
 * of the test suite of Signature Version 4. */
#include <dlfcn.h>

#include "remote/sign.h"
#include "unit.h"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#define HAS_HEADER 1
#else
#define HAS_HEADER 0
#endif

static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

/* Loads a library; false, and says so, if this machine does not have it. */
static bool library_load(const char *name, struct bl_curl *curl)
{
    struct bl_error e = {0};
    bool found;
    ck_assert_msg(bl_curl_load_file(name, curl, &found, &e) == BL_OK, "%s", e.text);
    if (!found)
        unit_skip("no libcurl");
    return found;
}

static const char access_suite[] = "AKIDEXAMPLE", secret_suite[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
static const char access_s3[] = "AKIAIOSFODNN7EXAMPLE", secret_s3[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

static const struct {
    const char *name, *access, *secret, *method, *host, *path;
    struct bl_pair query[3];
    const char *service, *range;
    time_t now;
    const char *scope, *headers, *signature;
} vectors[] = {
    {"get-vanilla",
     access_suite,
     secret_suite,
     "GET",
     "example.amazonaws.com",
     "/",
     {{0}},
     "service",
     NULL,
     1440938160,
     "20150830/us-east-1/service",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key-case",
     access_suite,
     secret_suite,
     "GET",
     "example.amazonaws.com",
     "/",
     {{"Param2", "value2"}, {"Param1", "value1"}},
     "service",
     NULL,
     1440938160,
     "20150830/us-east-1/service",
     "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"GET Object",
     access_s3,
     secret_s3,
     "GET",
     "examplebucket.s3.amazonaws.com",
     "/test.txt",
     {{0}},
     "s3",
     "bytes=0-9",
     1369353600,
     "20130524/us-east-1/s3",
     "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"GET Bucket Lifecycle",
     access_s3,
     secret_s3,
     "GET",
     "examplebucket.s3.amazonaws.com",
     "/",
     {{"lifecycle", ""}},
     "s3",
     NULL,
     1369353600,
     "20130524/us-east-1/s3",
     "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET Bucket",
     access_s3,
     secret_s3,
     "GET",
     "examplebucket.s3.amazonaws.com",
     "/",
     {{"prefix", "J"}, {"max-keys", "2"}},
     "s3",
     NULL,
     1369353600,
     "20130524/us-east-1/s3",
     "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

/* Compares the header Authorization of an example. */
static void check_vector(const struct bl_curl *curl, size_t i)
{
    struct bl_error e = {0};
    OWNED(bl_buffer_free) struct bl_buffer headers = {0};
    const struct bl_keys keys = {.access = (char *)vectors[i].access, .secret = (char *)vectors[i].secret};
    struct bl_signing signing = {.method = vectors[i].method,
                                 .host = vectors[i].host,
                                 .path = vectors[i].path,
                                 .query = vectors[i].query,
                                 .region = "us-east-1",
                                 .service = vectors[i].service,
                                 .range = vectors[i].range,
                                 .is_plain = strcmp(vectors[i].service, "s3") != 0,
                                 .keys = &keys,
                                 .now = vectors[i].now};
    char expected[512];
    while (signing.queries < 3 && vectors[i].query[signing.queries].name)
        signing.queries++;
    ck_assert_msg(bl_sign(curl, &signing, &headers, &e) == BL_OK, "%s", e.text);
    const char *last = headers.data;
    for (const char *at = headers.data; at < headers.data + headers.size; at += strlen(at) + 1)
        last = at;
    snprintf(expected, sizeof expected,
             "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s/aws4_request, SignedHeaders=%s, Signature=%s",
             vectors[i].access, vectors[i].scope, vectors[i].headers, vectors[i].signature);
    ck_assert_msg(strcmp(last, expected) == 0, "%s: %s instead of %s", vectors[i].name, last, expected);
}

UNIT_LOOP(requests_are_signed_as_in_published_examples, COUNT(libraries) * COUNT(vectors))
{
    struct bl_curl curl;
    if (library_load(libraries[_i / COUNT(vectors)], &curl))
        check_vector(&curl, (size_t)_i % COUNT(vectors));
}

UNIT_TEST(tokens_are_signed)
{
    struct bl_curl curl;
    if (!library_load(libraries[0], &curl))
        return;
    OWNED(bl_buffer_free) struct bl_buffer headers = {0};
    const struct bl_keys keys = {.access = (char *)access_s3, .secret = (char *)secret_s3, .token = (char *)"token+/="};
    const struct bl_signing signing = {
        .method = "GET", .host = "h", .path = "/", .region = "r", .service = "s3", .keys = &keys};
    ck_assert_int_eq(bl_sign(&curl, &signing, &headers, &e), BL_OK);
    ck_assert_ptr_nonnull(memmem(headers.data, headers.size, "x-amz-security-token: token+/=", 31));
    ck_assert_ptr_nonnull(memmem(headers.data, headers.size, "x-amz-date;x-amz-security-token,", 32));
}

UNIT_TEST(queries_are_sorted_by_their_names)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    const struct bl_pair query[] = {{"a-b", "1"}, {"a", "2"},        {"uploads", ""}, {"a", "10"},
                                    {"B", "x y"}, {"prefix", "a/b"}, {"c+", "="}};
    ck_assert_int_eq(bl_query_append(&out, query, COUNT(query), &e), BL_OK);
    ck_assert_str_eq(out.data, "B=x%20y&a=10&a=2&a-b=1&c%2B=%3D&prefix=a%2Fb&uploads=");
    struct bl_pair many[BL_SIGN_PAIRS_MAX + 1];
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = query[0];
    FAILS_WITH(bl_query_append(&out, many, COUNT(many), &e), BL_EFAIL, "17 parameters");
}

UNIT_TEST(a_library_that_is_not_there_is_not_found)
{
    struct bl_curl curl;
    bool found = true;
    ck_assert_int_eq(bl_curl_load_file("libbload-no-curl.so.4", &curl, &found, &e), BL_OK);
    ck_assert(!found);
    FAILS_WITH(bl_curl_load_file("libm.so.6", &curl, &found, &e), BL_EUSAGE, "libm.so.6 has no function curl_");
}

UNIT_TEST(what_is_loaded_is_described)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    void *library = dlopen(libraries[0], RTLD_NOW);
    if (!library && !(library = dlopen(libraries[1], RTLD_NOW)))
        FAILS_WITH(bl_curl_describe(&out, &e), BL_EUSAGE, "apt install libcurl4");
    else
        ck_assert_int_eq(bl_curl_describe(&out, &e), BL_OK);
    if (library)
        ck_assert_ptr_nonnull(strstr(out.data, "libcurl/"));
}

UNIT_TEST(numbers_are_those_of_the_header)
{
#if HAS_HEADER
#undef CURLOPT_PROTOCOLS
#define SAME_OPTION(name, number) ck_assert_int_eq((int)CURLOPT_##name, BL_CURLOPT_##name);
#define SAME_RESULT(name, number) ck_assert_int_eq((int)CURLE_##name, BL_CURLE_##name);
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"");
    BL_CURL_OPTIONS(SAME_OPTION)
    BL_CURL_RESULTS(SAME_RESULT)
    ck_assert_int_eq((int)CURLINFO_REDIRECT_URL, BL_CURLINFO_REDIRECT_URL);
    ck_assert_int_eq((int)CURLINFO_CAINFO, BL_CURLINFO_CAINFO);
    ck_assert_int_eq((int)CURLINFO_RESPONSE_CODE, BL_CURLINFO_RESPONSE_CODE);
    ck_assert_int_eq(CURLPROTO_HTTP | CURLPROTO_HTTPS, BL_CURL_HTTP_OR_HTTPS);
    ck_assert_int_eq(CURL_HTTP_VERSION_1_1, BL_CURL_HTTP_1_1);
    ck_assert_int_eq(CURL_SOCKET_BAD, BL_CURL_SOCKET_BAD);
    ck_assert_int_eq(CURL_GLOBAL_ALL, BL_CURL_GLOBAL_ALL);
    ck_assert_int_eq(CURL_ERROR_SIZE, BL_CURL_ERROR_SIZE);
    _Pragma("GCC diagnostic pop");
#else
    unit_skip("no curl/curl.h");
#endif
}
