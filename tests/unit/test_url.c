#include "remote/url.h"
#include "unit.h"

/* URLs and their parts; NULL: none. */
static const struct {
    const char *text;
    enum bl_url_scheme scheme;
    const char *bucket, *revision, *key;
} urls[] = {
    {"s3://bucket/a/b.mp4", BL_URL_S3, "bucket", NULL, "a/b.mp4"},
    {"s3://bucket/", BL_URL_S3, "bucket", NULL, ""},
    {"s3://bucket", BL_URL_S3, "bucket", NULL, ""},
    {"S3://bucket/a b%20c+d", BL_URL_S3, "bucket", NULL, "a b%20c+d"}, /* a key is not encoded */
    {"s3://my.old_Bucket/../x//y", BL_URL_S3, "my.old_Bucket", NULL, "../x//y"},
    {"gs://bucket/key?x#y", BL_URL_GS, "bucket", NULL, "key?x#y"},
    {"https://example.org/a%20b?x=1", BL_URL_WEB, NULL, NULL, "https://example.org/a%20b?x=1"},
    {"http://[::1]:8080/a", BL_URL_WEB, NULL, NULL, "http://[::1]:8080/a"},
    {"hf://datasets/owner/name/data/a.parquet", BL_URL_HF, "datasets/owner/name", "main", "data/a.parquet"},
    {"hf://datasets/owner/name", BL_URL_HF, "datasets/owner/name", "main", ""},
    {"hf://datasets/owner/name@v1.0/a", BL_URL_HF, "datasets/owner/name", "v1.0", "a"},
    {"hf://datasets/owner/name@a%2Fb/c", BL_URL_HF, "datasets/owner/name", "a/b", "c"},
    {"hf://datasets/owner/name@refs/convert/parquet/c/d", BL_URL_HF, "datasets/owner/name", "refs/convert/parquet",
     "c/d"},
    {"hf://datasets/owner/name@refs/pr/12", BL_URL_HF, "datasets/owner/name", "refs/pr/12", ""},
};

static void check_same(const char *found, const char *expected)
{
    ck_assert_msg(!found == !expected && (!found || strcmp(found, expected) == 0), "%s instead of %s", found, expected);
}

UNIT_LOOP(urls_have_parts, COUNT(urls))
{
    OWNED(bl_url_free) struct bl_url url;
    ck_assert_int_eq(bl_url_parse(&url, urls[_i].text, &e), BL_OK);
    ck_assert_int_eq(url.scheme, urls[_i].scheme);
    check_same(url.bucket, urls[_i].bucket);
    check_same(url.revision, urls[_i].revision);
    check_same(url.key, urls[_i].key);
    ck_assert(bl_url_is(urls[_i].text));
}

static const struct {
    const char *text, *fault;
} malformed[] = {
    {"s3:///key", "it has no bucket"},
    {"s3://buc ket/key", "character that no bucket has"},
    {"s3://a..b/key", "dot or hyphen"},
    {"s3://.b/key", "dot or hyphen"},
    {"s3://b@evil.example/key", "character that no bucket has"},
    {"gs://", "it has no bucket"},
    {"ftp://host/file", "are not read, only s3, gs, https, http and hf"},
    {"az://container/blob", "are not read"},
    {"https://", "it has no host"},
    {"https:///path", "it has no host"},
    {"https://host:0/x", "its port"},
    {"https://host:99999/x", "its port"},
    {"https://host:80x/x", "its port"},
    {"https://[::1/x", "no closing bracket"},
    {"https://[::1]x/x", "its port"},
    {"https://ho^st/x", "its host has a character"},
    {"https://host/a b", "such as a space as %20"},
    {"https://host/a\nb", "such as a space as %20"},
    {"https://host/a\\b", "must be encoded"},
    {"https://host/\xc3\xa9", "must be encoded"},
    {"https://host/a#b", "must be encoded as %23"},
    {"https://user:secret@host/x", "https://...: it has a user name or password"},
    {"hf://owner/name/x", "hf://datasets/OWNER/NAME"},
    {"hf://datasets/name", "hf://datasets/OWNER/NAME"},
    {"hf://datasets//name", "hf://datasets/OWNER/NAME"},
    {"hf://datasets/../name/x", "hf://datasets/OWNER/NAME"},
    {"hf://datasets/o/n@/x", "its revision is malformed"},
    {"hf://datasets/o/n@%zz/x", "its revision is malformed"},
    {"hf://datasets/o/n/a/../b", "its path has an empty part"},
    {"hf://datasets/o/n/a//b", "its path has an empty part"},
    {"hf://datasets/o/n?x/b", "its repository has a character"},
};

UNIT_LOOP(malformed_urls_are_refused, COUNT(malformed))
{
    struct bl_url url;
    FAILS_WITH(bl_url_parse(&url, malformed[_i].text, &e), BL_EUSAGE, malformed[_i].fault);
    ck_assert_ptr_null(url.key);
}

UNIT_TEST(passwords_stay_out_of_messages)
{
    struct bl_url url;
    ck_assert_int_eq(bl_url_parse(&url, "https://user:secret@host/x", &e), BL_EUSAGE);
    ck_assert_ptr_null(strstr(e.text, "secret"));
}

UNIT_TEST(other_texts_are_no_urls)
{
    static const char *const texts[] = {"s3:/bucket", "s3", "", "file:///x", "a/s3://b", "hf:/x"};
    for (size_t i = 0; i < COUNT(texts); i++)
        ck_assert_msg(!bl_url_is(texts[i]), "%s", texts[i]);
}

UNIT_TEST(bytes_are_encoded_and_decoded)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    const char text[] = "a/b c+d~e_f-g.h%*'(\xc3\xa9";
    bl_url_append_encoded(&out, text, strlen(text), true);
    ck_assert_str_eq(out.data, "a/b%20c%2Bd~e_f-g.h%25%2A%27%28%C3%A9");
    int64_t size = bl_url_decode(out.data, out.size);
    ck_assert_int_eq(size, strlen(text));
    ck_assert_mem_eq(out.data, text, strlen(text));
    bl_buffer_clear(&out);
    bl_url_append_encoded(&out, "a/b", 3, false);
    ck_assert_str_eq(out.data, "a%2Fb");
    static const char *const wrong[] = {"%", "%4", "%4g", "%00", "a%"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text_copy[8];
        strcpy(text_copy, wrong[i]);
        ck_assert_msg(bl_url_decode(text_copy, strlen(wrong[i])) == -1, "%s", wrong[i]);
    }
}

static struct bl_site site_of(const char *url)
{
    struct bl_site site;
    const char *fault = bl_site_parse(&site, url);
    ck_assert_msg(!fault, "%s: %s", url, fault);
    return site;
}

UNIT_TEST(sites_are_compared)
{
    static const struct {
        const char *one, *other;
        bool equal;
    } pairs[] = {
        {"https://a.example/x", "https://A.Example:443/y", true},
        {"https://a.example", "http://a.example", false},
        {"https://a.example", "https://a.example:8443", false},
        {"https://a.example", "https://a.example.evil", false},
        {"https://a.example", "https://b.example", false},
        {"http://[::1]:80/", "http://[::1]/x", true},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct bl_site one = site_of(pairs[i].one), other = site_of(pairs[i].other);
        ck_assert_msg(bl_site_equal(&one, &other) == pairs[i].equal, "%s %s", pairs[i].one, pairs[i].other);
    }
}

UNIT_TEST(this_machine_is_known)
{
    static const struct {
        const char *url;
        bool is_loopback;
        const char *host;
    } sites[] = {
        {"http://localhost/", true, "localhost"},
        {"http://127.0.0.1:9000/", true, "127.0.0.1:9000"},
        {"http://[::1]:80/", true, "[::1]"},
        {"http://127.1.2.3", true, "127.1.2.3"},
        {"http://127.0.0.1.example.org/", false, NULL},
        {"http://127.example/", false, NULL},
        {"http://localhost.example.org/", false, NULL},
        {"http://10.0.0.1/", false, NULL},
        {"https://h:444/", false, "h:444"},
        {"https://h:443/", false, "h"},
        {"http://1270.0.0.1", false, NULL},
    };
    for (size_t i = 0; i < COUNT(sites); i++) {
        OWNED(bl_buffer_free) struct bl_buffer host = {0};
        struct bl_site site = site_of(sites[i].url);
        ck_assert_msg(bl_site_is_loopback(&site) == sites[i].is_loopback, "%s", sites[i].url);
        bl_site_append_host(&host, &site);
        if (sites[i].host)
            ck_assert_str_eq(host.data, sites[i].host);
    }
}

UNIT_TEST(tags_lose_their_quotes)
{
    static const char *const tags[][2] = {{"\"abc\"", "abc"}, {"W/\"abc\"", "W/abc"}, {"abc", "abc"},
                                          {"\"", "\""},       {"\"\"", ""},           {"", ""}};
    for (size_t i = 0; i < COUNT(tags); i++) {
        char tag[16];
        strcpy(tag, tags[i][0]);
        bl_tag_trim(tag);
        ck_assert_str_eq(tag, tags[i][1]);
    }
}
