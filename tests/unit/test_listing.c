#include "remote/listing.h"
#include "unit.h"

/* Appends "KEY SIZE TAG;" of each object. */
static int take(void *context, const struct bl_listed *object, struct bl_error *e)
{
    (void)e;
    bl_buffer_printf(context, "%s %lld %s;", object->key, (long long)object->size, object->tag);
    return BL_OK;
}

#define OBJECT(key, size, tag)                                                                                         \
    "<Contents><Key>" key "</Key><LastModified>x</LastModified><ETag>" tag "</ETag><Size>" size                        \
    "</Size><Owner><ID>i</ID></Owner></Contents>"
#define LISTING(inside)                                                                                                \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" \
    "<Name>bucket</Name><Prefix>Key</Prefix>" inside "</ListBucketResult>\n"
#define URL "<EncodingType>url</EncodingType>"
#define LAST "<IsTruncated>false</IsTruncated>"

static const struct {
    const char *text, *objects, *next;
} listings[] = {
    {LISTING(LAST), "", ""},
    {"<ListBucketResult/>", "", ""},
    {LISTING(LAST OBJECT("a/b.mp4", "12", "&quot;e1&quot;")), "a/b.mp4 12 e1;", ""},
    {LISTING(LAST OBJECT("a", "0", "e")), "a 0 e;", ""},
    {LISTING(OBJECT("a%20b%2Bc+d%0A", "1", "") URL), "a b+c d\n 1 ;", ""}, /* the way of encoding comes last */
    {LISTING(OBJECT("a%20+", "1", "")), "a%20+ 1 ;", ""},
    {LISTING(OBJECT("&lt;&amp;&gt;&#65;&#x1F600;&apos;", "1", "")), "<&>A\xf0\x9f\x98\x80' 1 ;", ""},
    {LISTING("<IsTruncated>true</IsTruncated><NextContinuationToken>t+/=</NextContinuationToken>" OBJECT(
         "a", "1", "") "<!-- x --><CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>" OBJECT("b", "2", "")),
     "a 1 ;b 2 ;", "t+/="},
    /* Without more to come, a token is none. */
    {LISTING(LAST "<NextContinuationToken>t</NextContinuationToken>" OBJECT("a", "1", "")), "a 1 ;", ""},
    {LISTING("<X a=\"<>\" b='/>'/>" OBJECT("a", "9223372036854775807", "")), "a 9223372036854775807 ;", ""},
};

UNIT_LOOP(listings_are_parsed, COUNT(listings))
{
    OWNED(bl_buffer_free) struct bl_buffer objects = {0}, next = {0};
    int code = bl_listing_parse(listings[_i].text, strlen(listings[_i].text), take, &objects, &next, &e);
    ck_assert_msg(code == BL_OK, "%s", e.text);
    ck_assert_str_eq(objects.data ? objects.data : "", listings[_i].objects);
    ck_assert_str_eq(next.data ? next.data : "", listings[_i].next);
}

static const struct {
    const char *text, *fault;
} spoilt[] = {
    {"", "no listing"},
    {"<html><body>hello</body></html>", "no listing"},
    {"<ListBucketResult>", "no listing"},
    {"<ListBucketResult></ListBucketResul>", "no listing"},
    {"</ListBucketResult>", "no listing"},
    {"<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>&a;</ListBucketResult>", "no listing"},
    {LISTING("<![CDATA[x]]>"), "no listing"},
    {LISTING("&nbsp;"), "no listing"},
    {LISTING("&#xd800;"), "no listing"},
    {LISTING("&#0;"), "no listing"},
    {LISTING("&#99999999;"), "no listing"},
    {LISTING("<a><b></a></b>"), "no listing"},
    {LISTING("<a b=\"c>"), "no listing"},
    {LISTING("<>"), "no listing"},
    {LISTING(OBJECT("", "1", "")), "without a proper key"},
    {LISTING(OBJECT("a%0", "1", "") URL), "without a proper key"},
    {LISTING(OBJECT("a%00", "1", "") URL), "without a proper key"},
    {LISTING(OBJECT("a", "-1", "")), "a size that is no number"},
    {LISTING(OBJECT("a", "1e3", "")), "a size that is no number"},
    {LISTING("<Contents><Key>a</Key></Contents>"), "without a size"},
    {LISTING("<IsTruncated>true</IsTruncated>" OBJECT("a", "1", "")), "without the token"},
    {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></a></"
     "a></a>",
     "no listing"},
};

UNIT_LOOP(spoilt_listings_are_refused, COUNT(spoilt))
{
    OWNED(bl_buffer_free) struct bl_buffer objects = {0}, next = {0};
    FAILS_WITH(bl_listing_parse(spoilt[_i].text, strlen(spoilt[_i].text), take, &objects, &next, &e), BL_EFAIL,
               spoilt[_i].fault);
}

UNIT_TEST(a_listing_that_ends_early_is_refused)
{
    static const char text[] = LISTING(LAST OBJECT("a", "1", "e") OBJECT("b", "2", "f"));
    for (size_t size = 0; size < strlen(text) - 1; size++) {
        OWNED(bl_buffer_free) struct bl_buffer objects = {0}, next = {0};
        FREED char *copy = malloc(size + 1);
        memcpy(copy, text, size);
        FAILS_WITH(bl_listing_parse(copy, size, take, &objects, &next, &e), BL_EFAIL, "no listing");
    }
}

static int refuse(void *context, const struct bl_listed *object, struct bl_error *e)
{
    (void)context;
    return bl_error_set(e, BL_ECANCEL, "%s", object->key);
}

UNIT_TEST(the_caller_can_end_a_listing)
{
    static const char text[] = LISTING(OBJECT("a", "1", "") OBJECT("b", "1", ""));
    static const char files[] = "[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"x\"}]";
    OWNED(bl_buffer_free) struct bl_buffer next = {0};
    FAILS(bl_listing_parse(text, strlen(text), refuse, NULL, &next, &e), BL_ECANCEL, "a");
    FAILS(bl_tree_parse(files, strlen(files), refuse, NULL, &e), BL_ECANCEL, "a");
}

/* Appends "KEY ID BEGUN;" of each upload. */
static int take_upload(void *context, const struct bl_pending *upload, struct bl_error *e)
{
    (void)e;
    bl_buffer_printf(context, "%s %s %lld;", upload->key, upload->id, (long long)upload->begun);
    return BL_OK;
}

#define UPLOAD(key, id, begun)                                                                                         \
    "<Upload><Key>" key "</Key><UploadId>" id "</UploadId><Owner><ID>o</ID></Owner><Initiated>" begun                  \
    "</Initiated></Upload>"
#define UPLOADS(inside) "<ListMultipartUploadsResult><KeyMarker/>" inside "</ListMultipartUploadsResult>"
#define CUT "<IsTruncated>true</IsTruncated>"

static const struct {
    const char *text, *uploads; /* uploads: or what is wrong, after a "!" */
    const char *key, *id;       /* where the next part begins */
} pending[] = {
    {UPLOADS(LAST), "", "", ""},
    {"<ListMultipartUploadsResult/>", "", "", ""},
    {UPLOADS(UPLOAD("a%20b+c", "i+/=", "2026-11-29T10:20:30.000Z") URL LAST), "a b c i+/= 1795947630;", "", ""},
    {UPLOADS(UPLOAD("a%20+", "&lt;", "2026-11-29T10:20:30Z") LAST), "a%20+ < 1795947630;", "", ""},
    {UPLOADS(UPLOAD("a", "i", "yesterday") UPLOAD("b", "j", "") LAST), "a i 0;b j 0;", "", ""},
    {UPLOADS(CUT "<NextKeyMarker>a%2Bb</NextKeyMarker><NextUploadIdMarker>i%2B</NextUploadIdMarker>" URL), "", "a+b",
     "i%2B"},
    {UPLOADS(CUT "<NextKeyMarker>a</NextKeyMarker>"), "", "a", ""},
    {UPLOADS(LAST "<NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker>"), "", "", ""},
    {"", "!no list of uploads", NULL, NULL},
    {"<ListBucketResult/>", "!no list of uploads", NULL, NULL},
    {UPLOADS(LAST) "<", "!no list of uploads", NULL, NULL},
    {UPLOADS(UPLOAD("a", "", "") LAST), "!an upload without a key or name", NULL, NULL},
    {UPLOADS(UPLOAD("", "i", "") LAST), "!an upload without a key or name", NULL, NULL},
    {UPLOADS(UPLOAD("a%0", "i", "") URL LAST), "!an upload without a key or name", NULL, NULL},
    {UPLOADS(CUT), "!without the place of the next one", NULL, NULL},
    {UPLOADS(CUT "<NextKeyMarker>%</NextKeyMarker>" URL), "!without the place of the next one", NULL, NULL},
};

UNIT_LOOP(lists_of_uploads_are_parsed, COUNT(pending))
{
    OWNED(bl_buffer_free) struct bl_buffer uploads = {0};
    OWNED(bl_pending_place_free) struct bl_pending_place next = {0};
    const char *text = pending[_i].text, *expected = pending[_i].uploads;
    int code = bl_uploads_parse(text, strlen(text), take_upload, &uploads, &next, &e);
    if (*expected == '!') {
        FAILS_WITH(code, BL_EFAIL, expected + 1);
        return;
    }
    ck_assert_msg(code == BL_OK, "%s", e.text);
    ck_assert_str_eq(uploads.data ? uploads.data : "", expected);
    ck_assert_str_eq(next.key.data, pending[_i].key);
    ck_assert_str_eq(next.id.data, pending[_i].id);
}

UNIT_TEST(members_of_answers_are_found)
{
    static const char text[] =
        "<?xml version=\"1.0\"?>\n  <R xmlns=\"x\"><A>a&amp;b</A><B><C>c</C></B><A>d</A><E></E></R>";
    static const char *const missing[] = {"C", "E", "F", "R"};
    static const char fault[] = "<Error><Code>InvalidPart</Code><ETag>x</ETag></Error>";
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    ck_assert_int_eq(bl_store_member(text, strlen(text), "A", &out, &e), BL_OK);
    ck_assert_str_eq(out.data, "a&b");
    for (size_t i = 0; i < COUNT(missing); i++) {
        bl_error_clear(&e);
        bl_buffer_clear(&out);
        FAILS_WITH(bl_store_member(text, strlen(text), missing[i], &out, &e), BL_EFAIL, missing[i]);
    }
    bl_error_clear(&e);
    FAILS_WITH(bl_store_member(text, strlen(text) - 1, "A", &out, &e), BL_EFAIL, "the answer has no A");
    bl_error_clear(&e);
    FAILS_WITH(bl_store_member(fault, strlen(fault), "ETag", &out, &e), BL_EFAIL, "the answer has no ETag");
}

UNIT_TEST(faults_of_stores_are_parsed)
{
    struct bl_store_fault fault;
    static const char text[] = "<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>the "
                               "region &apos;x&apos; is wrong</Message><Region>eu-west-1</Region></Error>";
    bl_store_fault_parse(&fault, text, strlen(text));
    ck_assert_str_eq(fault.code, "AuthorizationHeaderMalformed");
    ck_assert_str_eq(fault.message, "the region 'x' is wrong");
    ck_assert_str_eq(fault.region, "eu-west-1");
    static const char sts[] =
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
        "<Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
    bl_store_fault_parse(&fault, sts, strlen(sts));
    ck_assert_str_eq(fault.code, "AccessDenied");
    ck_assert_str_eq(fault.message, "no");
    static const char *const others[] = {"", "Not Found", "<Error>", "<html><Code>x</Code></html>",
                                         "<ErrorResponse><Code>x</Code></ErrorResponse>"};
    for (size_t i = 0; i < COUNT(others); i++) {
        bl_store_fault_parse(&fault, others[i], strlen(others[i]));
        ck_assert_str_eq(fault.code, "");
    }
}

static const struct {
    const char *text, *files; /* files NULL: it is refused */
} trees[] = {
    {"[]", ""},
    {"[{\"type\": \"directory\", \"path\": \"d\", \"oid\": \"x\", \"size\": 0}]", ""},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":5,\"path\":\"d/\\u00e9.txt\"}]", "d/\xc3\xa9.txt 5 0a;"},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":5,\"path\":\"b\",\"lfs\":{\"oid\":\"ff\",\"size\":5,"
     "\"pointerSize\":1}}, {\"type\":\"file\",\"oid\":\"0b\",\"size\":6,\"path\":\"c\"}]",
     "b 5 ff;c 6 0b;"},
    {"", NULL},
    {"{}", NULL},
    {"[1]", NULL},
    {"[{}]", NULL},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":-5,\"path\":\"b\"}]", NULL},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":\"5\",\"path\":\"b\"}]", NULL},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":5}]", NULL},
    {"[{\"type\":\"file\",\"oid\":\"0a\",\"size\":5,\"path\":\"a\\u0000b\"}]", NULL},
    {"[{\"type\":\"file\",\"size\":5,\"path\":\"a\"}]", NULL},
    {"[{\"type\":\"file\"", NULL},
};

UNIT_LOOP(lists_of_the_hub_are_parsed, COUNT(trees))
{
    OWNED(bl_buffer_free) struct bl_buffer files = {0};
    if (!trees[_i].files)
        FAILS_WITH(bl_tree_parse(trees[_i].text, strlen(trees[_i].text), take, &files, &e), BL_EFAIL,
                   "no list of files");
    else
        ck_assert_int_eq(bl_tree_parse(trees[_i].text, strlen(trees[_i].text), take, &files, &e), BL_OK);
    if (trees[_i].files)
        ck_assert_str_eq(files.data ? files.data : "", trees[_i].files);
}

#define STS_KEYS                                                                                                       \
    "<Credentials><AccessKeyId>AK</AccessKeyId><SecretAccessKey>s&amp;/+</SecretAccessKey>"                            \
    "<SessionToken>t==</SessionToken><Expiration>2026-11-29T10:00:00Z</Expiration></Credentials>"

UNIT_TEST(keys_of_roles_are_parsed)
{
    static const char good[] = "<AssumeRoleResponse xmlns=\"x\"><AssumeRoleResult>\n <AssumedRoleUser><Arn>a</Arn>"
                               "</AssumedRoleUser>" STS_KEYS "</AssumeRoleResult></AssumeRoleResponse>";
    static const char *const bad[] = {"",
                                      "{}",
                                      "<AssumeRoleResponse><AssumeRoleResult>" STS_KEYS,
                                      "<AssumeRoleResponse>" STS_KEYS "</AssumeRoleResponse>",
                                      "<a><b><Credentials><AccessKeyId>AK</AccessKeyId></Credentials></b></a>",
                                      "<!DOCTYPE a><a><b>" STS_KEYS "</b></a>"};
    struct bl_sts_answer answer;
    ck_assert_msg(bl_sts_parse(&answer, good, strlen(good), &e) == BL_OK, "%s", e.text);
    ck_assert_str_eq(answer.access, "AK");
    ck_assert_str_eq(answer.secret, "s&/+");
    ck_assert_str_eq(answer.token, "t==");
    ck_assert_str_eq(answer.expires, "2026-11-29T10:00:00Z");
    bl_sts_answer_free(&answer);
    for (size_t i = 0; i < COUNT(bad); i++) {
        FAILS_WITH(bl_sts_parse(&answer, bad[i], strlen(bad[i]), &e), BL_EFAIL, "the answer has no credentials");
        ck_assert_ptr_null(answer.access);
    }
}
