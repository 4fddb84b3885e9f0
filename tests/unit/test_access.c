/* Which requests are made of URLs, and where they may go. No request leaves this machine. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "remote/access.h"
#include "remote/remote.h"
#include "unit.h"

static const char *const variables[] = {"AWS_PROFILE",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_S3",
                                        "AWS_SESSION_TOKEN",
                                        "GS_ACCESS_KEY_ID",
                                        "GS_SECRET_ACCESS_KEY",
                                        "HF_TOKEN",
                                        "HF_HOME",
                                        "HF_TOKEN_PATH",
                                        "HF_ENDPOINT",
                                        "AWS_CONFIG_FILE",
                                        "CURL_CA_BUNDLE",
                                        "SSL_CERT_FILE",
                                        "AWS_CA_BUNDLE",
                                        "AWS_SHARED_CREDENTIALS_FILE"};

static void keys_enter(void)
{
    unit_scratch_enter();
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", unit_scratch, 1);
    setenv("AWS_ACCESS_KEY_ID", "AK", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

UNIT_EACH(keys_enter, unit_scratch_leave)

/* Loads libcurl; false, and says so, if this machine does not have it. */
static const struct bl_curl *curl_or_skip(void)
{
    const struct bl_curl *curl = NULL;
    struct bl_error e = {0};
    if (!bl_curl_load(&curl, &e))
        return curl;
    unit_skip(e.text);
    return NULL;
}

static const char zeros[65537];
static const struct bl_http_body body = {"abc", 3}, large_body = {zeros, sizeof zeros};
static const struct bl_pair part_query[] = {{"uploadId", "a+/="}, {"partNumber", "7"}},
                            uploads_query[] = {{"uploads", ""}, {"prefix", "p"}};

static const struct {
    const char *url;
    struct bl_remote_options options;
    struct bl_ask ask;
    const char *expected; /* the URL of the request; or how the fault begins, after a "!" */
    const char *header;   /* a part of a header, or NULL: it has none */
} requests[] = {
    {"s3://bucket/a b/c",
     {0},
     {.method = "GET"},
     "https://bucket.s3.us-east-1.amazonaws.com/a%20b/c",
     "Credential=AK/"},
    /* A certificate is for one part of a host's name, and host names have no upper case. */
    {"s3://my.bucket/k", {0}, {.method = "GET"}, "https://s3.us-east-1.amazonaws.com/my.bucket/k", ""},
    {"s3://Bucket/k", {0}, {.method = "GET"}, "https://s3.us-east-1.amazonaws.com/Bucket/k", ""},
    {"s3://bucket/../k", {0}, {.method = "GET"}, "https://bucket.s3.us-east-1.amazonaws.com/../k", ""},
    {"s3://bucket/p x/",
     {0},
     {.method = "GET", .purpose = BL_GET_LISTING},
     "https://bucket.s3.us-east-1.amazonaws.com/?encoding-type=url&list-type=2&prefix=p%20x%2F",
     ""},
    {"s3://my.bucket/p",
     {0},
     {.method = "GET", .purpose = BL_GET_LISTING, .token = "a+/="},
     "https://s3.us-east-1.amazonaws.com/"
     "my.bucket?continuation-token=a%2B%2F%3D&encoding-type=url&list-type=2&prefix=p",
     ""},
    {"s3://bucket/k",
     {.endpoint = "https://minio.example:9000/"},
     {.method = "GET"},
     "https://minio.example:9000/bucket/k",
     ""},
    {"s3://bucket/k",
     {.endpoint = "https://ceph.example/s3"},
     {.method = "GET"},
     "https://ceph.example/s3/bucket/k",
     "host: ceph.example"},
    {"s3://bucket/k", {.anonymous = true}, {.method = "GET"}, "https://bucket.s3.us-east-1.amazonaws.com/k", NULL},
    {"s3://bucket/k",
     {0},
     {.method = "GET", .tag = "abc"},
     "https://bucket.s3.us-east-1.amazonaws.com/k",
     "If-Match: \"abc\""},
    {"s3://bucket/k",
     {0},
     {.method = "PUT", .is_new = true, .body = &body},
     "https://bucket.s3.us-east-1.amazonaws.com/k",
     "If-None-Match: *"},
    {"s3://bucket/k",
     {0},
     {.method = "PUT", .body = &body},
     "https://bucket.s3.us-east-1.amazonaws.com/k",
     "x-amz-content-sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"s3://bucket/k",
     {0},
     {.method = "PUT", .body = &large_body},
     "https://bucket.s3.us-east-1.amazonaws.com/k",
     "x-amz-content-sha256: UNSIGNED-PAYLOAD"},
    {"s3://bucket/k",
     {.endpoint = "http://127.0.0.1:1"},
     {.method = "PUT", .body = &large_body},
     "http://127.0.0.1:1/bucket/k",
     "x-amz-content-sha256: 3266304f31be278d06c3bd3eb9aa3e00c59bedec0a890de466568b0b90b0e01f"},
    {"s3://my.bucket/k",
     {0},
     {.method = "PUT", .query = part_query, .queries = 2, .body = &body},
     "https://s3.us-east-1.amazonaws.com/my.bucket/k?partNumber=7&uploadId=a%2B%2F%3D",
     ""},
    {"s3://bucket/p",
     {0},
     {.method = "GET", .purpose = BL_GET_UPLOADS, .query = uploads_query, .queries = 2},
     "https://bucket.s3.us-east-1.amazonaws.com/?prefix=p&uploads=",
     ""},
    {"gs://bucket/k", {0}, {.method = "GET"}, "https://storage.googleapis.com/bucket/k", "/auto/s3/"},
    {"https://h.example/a%20b?x", {0}, {.method = "GET"}, "https://h.example/a%20b?x", NULL},
    {"https://h.example/a", {0}, {.method = "GET", .tag = "W/abc"}, "https://h.example/a", NULL},
    {"https://h.example/a",
     {0},
     {.method = "GET", .tag = "Tue, 14 Nov 2023 22:13:20 GMT"},
     "https://h.example/a",
     NULL},
    {"http://h.example/a", {0}, {.method = "GET"}, "!http:// protects neither", NULL},
    {"http://h.example/a", {.insecure = true}, {.method = "GET"}, "http://h.example/a", NULL},
    {"http://localhost:1/a", {0}, {.method = "GET"}, "http://localhost:1/a", NULL},
    {"s3://bucket/k", {.endpoint = "http://h.example"}, {.method = "GET"}, "!http:// protects neither", NULL},
    {"hf://datasets/o/n/d/a b",
     {0},
     {.method = "GET"},
     "https://huggingface.co/datasets/o/n/resolve/main/d/a%20b",
     NULL},
    {"hf://datasets/o/n@refs/pr/1/d/a",
     {0},
     {.method = "GET", .purpose = BL_GET_COMMIT},
     "https://huggingface.co/api/datasets/o/n/revision/refs%2Fpr%2F1",
     NULL},
    {"hf://datasets/o/n/d/a",
     {0},
     {.method = "GET", .purpose = BL_GET_LISTING},
     "https://huggingface.co/api/datasets/o/n/tree/main/d?recursive=true",
     NULL},
    {"hf://datasets/o/n",
     {0},
     {.method = "GET", .purpose = BL_GET_LISTING, .token = "https://huggingface.co/x?cursor=1"},
     "https://huggingface.co/x?cursor=1",
     NULL},
    {"hf://datasets/o/n",
     {0},
     {.method = "GET", .purpose = BL_GET_LISTING, .token = "https://huggingface.co.evil.example/x"},
     "!the next part of the list is on another server",
     NULL},
};

UNIT_LOOP(urls_become_requests, COUNT(requests))
{
    const struct bl_curl *curl = curl_or_skip();
    struct bl_access *access;
    struct bl_ready ready = {0};
    struct bl_url url;
    if (!curl)
        return;
    ck_assert_int_eq(bl_url_parse(&url, requests[_i].url, &e), BL_OK);
    ck_assert_int_eq(bl_access_open(&access, curl, &requests[_i].options, NULL, &e), BL_OK);
    int code = bl_access_prepare(access, &url, &requests[_i].ask, &ready, &e);
    if (requests[_i].expected[0] == '!') {
        ck_assert_int_ne(code, BL_OK);
        ck_assert_msg(strstr(e.text, requests[_i].expected + 1) == e.text, "%s", e.text);
    } else {
        ck_assert_msg(code == BL_OK, "%s", e.text);
        ck_assert_str_eq(ready.url.data, requests[_i].expected);
        const char *header = requests[_i].header;
        ck_assert_msg(header ? memmem(ready.headers.data, ready.headers.size, header, strlen(header)) != NULL
                             : ready.headers.size == 0,
                      "%s", requests[_i].url);
    }
    bl_ready_free(&ready);
    bl_access_close(access);
    bl_url_free(&url);
}

UNIT_TEST(regions_have_hosts_of_their_own)
{
    static const char *const regions[][2] = {{"eu-west-1", "https://bucket.s3.eu-west-1.amazonaws.com/k"},
                                             {"cn-north-1", "https://bucket.s3.cn-north-1.amazonaws.com.cn/k"},
                                             {"a/b", NULL}};
    const struct bl_curl *curl = curl_or_skip();
    static const struct bl_remote_options options = {0};
    static const struct bl_ask ask = {.method = "GET"};
    for (size_t i = 0; curl && i < COUNT(regions); i++) {
        struct bl_access *access;
        struct bl_ready ready = {0};
        struct bl_url url;
        setenv("AWS_REGION", regions[i][0], 1);
        ck_assert_int_eq(bl_url_parse(&url, "s3://bucket/k", &e), BL_OK);
        ck_assert_int_eq(bl_access_open(&access, curl, &options, NULL, &e), BL_OK);
        if (regions[i][1])
            ck_assert_int_eq(bl_access_prepare(access, &url, &ask, &ready, &e), BL_OK);
        else
            FAILS(bl_access_prepare(access, &url, &ask, &ready, &e), BL_EUSAGE, "a/b is no name of a region");
        if (regions[i][1])
            ck_assert_str_eq(ready.url.data, regions[i][1]);
        bl_ready_free(&ready);
        bl_access_close(access);
        bl_url_free(&url);
    }
}

UNIT_TEST(what_servers_say_is_kept)
{
    const struct bl_curl *curl = curl_or_skip();
    static const struct bl_remote_options options = {0};
    static const struct bl_ask ask = {.method = "GET"};
    struct bl_access *access;
    struct bl_ready ready = {0};
    struct bl_url url;
    bool is_new;
    if (!curl)
        return;
    ck_assert_int_eq(bl_access_open(&access, curl, &options, NULL, &e), BL_OK);
    ck_assert_int_eq(bl_url_parse(&url, "s3://bucket/k", &e), BL_OK);
    static const char *const improper[] = {"", "us-east-1", "evil.example/", "A", "x@y"};
    for (size_t i = 0; i < COUNT(improper); i++) {
        ck_assert_int_eq(bl_access_learn_region(access, &url, improper[i], "us-east-1", &is_new, &e), BL_OK);
        ck_assert_msg(!is_new, "%s", improper[i]);
    }
    ck_assert_int_eq(bl_access_learn_region(access, &url, "eu-north-1", "us-east-1", &is_new, &e), BL_OK);
    ck_assert(is_new);
    ck_assert_int_eq(bl_access_prepare(access, &url, &ask, &ready, &e), BL_OK);
    ck_assert_str_eq(ready.url.data, "https://bucket.s3.eu-north-1.amazonaws.com/k");
    bl_url_free(&url);
    ck_assert_int_eq(bl_url_parse(&url, "hf://datasets/o/n/k", &e), BL_OK);
    ck_assert(bl_access_lacks_commit(access, &url));
    FAILS_WITH(bl_access_learn_commit(access, &url, "main", &e), BL_EFAIL, "no commit");
    ck_assert_int_eq(bl_access_learn_commit(access, &url, "0123456789012345678901234567890123456789", &e), BL_OK);
    ck_assert(!bl_access_lacks_commit(access, &url));
    ck_assert_int_eq(bl_access_prepare(access, &url, &ask, &ready, &e), BL_OK);
    ck_assert_ptr_nonnull(strstr(ready.url.data, "/resolve/0123456789012345678901234567890123456789/k"));
    bl_ready_free(&ready);
    bl_access_close(access);
    bl_url_free(&url);
}

UNIT_TEST(certificates_are_found)
{
    const struct bl_curl *curl = curl_or_skip();
    static const struct bl_remote_options options = {0};
    static const char *const names[] = {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"};
    for (size_t i = 0; curl && i < COUNT(names); i++) {
        struct bl_access *access;
        setenv(names[i], names[i], 1);
        ck_assert_int_eq(bl_access_open(&access, curl, &options, NULL, &e), BL_OK);
        ck_assert_str_eq(bl_access_certificates(access), names[i]);
        bl_access_close(access);
    }
}

/* --- addresses --- */

static const char *const inner[] = {"127.0.0.1",
                                    "127.255.0.1",
                                    "10.1.2.3",
                                    "172.16.0.1",
                                    "172.31.255.1",
                                    "192.168.1.1",
                                    "169.254.169.254",
                                    "100.64.0.1",
                                    "0.0.0.0",
                                    "198.18.0.1",
                                    "224.0.0.1",
                                    "255.255.255.255",
                                    "[::1]",
                                    "[::]",
                                    "[fe80::1]",
                                    "[fd00:ec2::254]",
                                    "[::ffff:127.0.0.1]",
                                    "[::ffff:10.0.0.1]",
                                    "[64:ff9b::a00:1]",
                                    "[2002:7f00:1::]",
                                    "[::127.0.0.1]",
                                    "[fec0::1]",
                                    "[ff02::1]"};

/* Requests a URL; returns the outcome. */
static enum bl_http_outcome outcome_of(const struct bl_curl *curl, const char *url, enum bl_reach reach)
{
    struct bl_error e = {0};
    struct bl_answer answer;
    const struct bl_http_request request = {.method = "GET",
                                            .url = url,
                                            .reach = reach,
                                            .is_direct = true,
                                            .size = -1,
                                            .connect_seconds = 1,
                                            .stall_seconds = 1};
    void *handle = curl->curl_easy_init();
    ck_assert_ptr_nonnull(handle);
    ck_assert_int_eq(bl_exchange(curl, handle, &request, NULL, &answer, &e), BL_OK);
    enum bl_http_outcome outcome = answer.outcome;
    bl_answer_free(&answer);
    curl->curl_easy_cleanup(handle);
    return outcome;
}

UNIT_LOOP(redirects_do_not_reach_inner_addresses, COUNT(inner))
{
    const struct bl_curl *curl = curl_or_skip();
    char url[64];
    snprintf(url, sizeof url, "https://%s:9/", inner[_i]);
    if (curl && strchr(inner[_i], ':') && socket(AF_INET6, SOCK_STREAM, 0) < 0)
        unit_skip("no IPv6");
    else if (curl)
        ck_assert_msg(outcome_of(curl, url, BL_REACH_PUBLIC) == BL_REFUSED, "%s", url);
}

UNIT_TEST(plain_http_reaches_this_machine_alone)
{
    const struct bl_curl *curl = curl_or_skip();
    if (!curl)
        return;
    ck_assert_int_eq(outcome_of(curl, "http://10.0.0.1:9/", BL_REACH_LOOPBACK), BL_UNREACHED);
    ck_assert_int_eq(outcome_of(curl, "https://10.0.0.1:9/", BL_REACH_NEAR), BL_REFUSED);
    /* Nobody listens there; it was tried. */
    ck_assert_int_eq(outcome_of(curl, "http://127.0.0.1:9/", BL_REACH_LOOPBACK), BL_UNREACHED);
    ck_assert_int_eq(outcome_of(curl, "http://127.0.0.1:9/", BL_REACH_NEAR), BL_UNREACHED);
}

UNIT_TEST(malformed_options_are_refused)
{
    struct bl_remote *remote = NULL;
    static const struct bl_remote_options endpoint = {.endpoint = "s3.example.org"},
                                          query = {.endpoint = "https://h/?x"};
    if (!curl_or_skip())
        return;
    FAILS_WITH(bl_remote_open(&remote, &endpoint, NULL, &e), BL_EUSAGE, "the endpoint s3.example.org is no URL");
    FAILS_WITH(bl_remote_open(&remote, &query, NULL, &e), BL_EUSAGE, "more than a host and a path");
    ck_assert_ptr_null(remote);
}
