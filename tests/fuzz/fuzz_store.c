/* Answers of stores and of services of keys, and URLs: whatever a server sends is parsed, or refused with a message.
 * The first byte says what the others are. */
#include <string.h>

#include "fuzz.h"
#include "remote/claim.h"
#include "remote/key_sources.h"
#include "remote/listing.h"
#include "remote/url.h"
#include "scan/urls.h"

/* An object has a key, which is a text, and a size. */
static int check_object(void *context, const struct bl_listed *object, struct bl_error *e)
{
    (void)context, (void)e;
    never(!object->key[0] || object->size < 0 || !object->tag);
    return BL_OK;
}

/* An upload has a key and a name. */
static int check_upload(void *context, const struct bl_pending *upload, struct bl_error *e)
{
    (void)context, (void)e;
    never(!upload->key[0] || !upload->id[0]);
    return BL_OK;
}

/* A claim that is parsed can be written, and says the same then. */
static int check_claim(const char *text, size_t size, struct bl_error *e)
{
    struct bl_claim claim, same;
    struct bl_buffer out = {0};
    int code = bl_claim_parse(&claim, text, size, e);
    if (code)
        return code;
    bl_claim_format(&claim, &out);
    never(bl_claim_parse(&same, out.data, out.size, e) || same.state != claim.state || same.lease != claim.lease ||
          same.process != claim.process || strcmp(same.host, claim.host) != 0);
    never((out.size == BL_CLAIM_DONE_BYTES) != (claim.state == BL_CLAIM_DONE));
    bl_buffer_free(&out);
    return BL_OK;
}

static void check_url(const char *text)
{
    struct bl_url url;
    struct bl_error e = {0};
    struct bl_site site;
    int code = bl_url_parse(&url, text, &e);
    never(code ? !e.text[0] : !url.key);
    if (code)
        return;
    /* A host is a name or an address, and nothing that a request would read in another way. */
    never(url.scheme == BL_URL_WEB && (bl_site_parse(&site, text) || !site.host_size || strpbrk(text, " \r\n\\")));
    never(url.bucket && (!url.bucket[0] || strpbrk(url.bucket, " \r\n?#@\\")));
    bl_url_free(&url);
}

/* Answers with keys: those of the service of tokens, and those of JSON. */
static int check_keys(const char *text, size_t size, struct bl_error *e)
{
    static const struct bl_key_names names = {"AccessKeyId", "SecretAccessKey", "roleCredentials.sessionToken",
                                              "Expiration"};
    const struct bl_buffer answer = {.data = (char *)text, .size = size};
    struct bl_sts_answer sts;
    struct bl_keys keys;
    struct bl_error fault = {0};
    int code = bl_sts_parse(&sts, text, size, e);
    never(code ? sts.access || sts.secret : !sts.access || !sts.secret || !sts.token);
    if (!code && sts.expires)
        (void)bl_key_expiry(sts.expires);
    bl_sts_answer_free(&sts);
    int other = bl_keys_parse(&keys, &answer, &names, "it", &fault);
    never(other ? keys.access || !fault.text[0] : !keys.access || !keys.secret || strpbrk(keys.access, "\r\n "));
    bl_keys_free(&keys);
    return code;
}

/* A line of a list from afar: a URL, or a name in the folder of the list. */
static int check_line(const char *text, struct bl_error *e)
{
    static const char *const lists[] = {"s3://bucket/folder/list", "https://host/folder/list?a/b"};
    for (size_t i = 0; i < 2; i++) {
        struct bl_buffer url = {0};
        const char *end = strrchr(lists[i], '?');
        size_t folder = (size_t)(end ? end - lists[i] : (ptrdiff_t)strlen(lists[i])) - 4;
        int code = bl_url_resolve(&url, lists[i], text, e);
        bool is_own = !code && url.size >= folder && memcmp(url.data, lists[i], folder) == 0;
        never(!code && !is_own && strcmp(url.data, text) != 0);
        never(is_own && strcmp(url.data, text) != 0 && strstr(url.data, "/../"));
        bl_buffer_free(&url);
        if (code)
            return code;
    }
    return BL_OK;
}

/* A pattern, a line end, and a name. */
static int check_pattern(char *text, struct bl_error *e)
{
    struct bl_url_glob glob = {0};
    char *name = strchr(text, '\n');
    size_t size;
    if (!name)
        return BL_OK;
    *name++ = '\0';
    int code = bl_url_glob_open(&glob, text, e);
    if (!code)
        code = bl_url_glob_match(&glob, name, &size, e);
    never(!code && (size > strlen(name) || (size && name[size] && name[size] != '/')));
    bl_url_glob_free(&glob);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_error e = {0};
    struct bl_buffer next = {0};
    struct bl_pending_place place = {0};
    struct bl_store_fault fault;
    if (!size)
        return 0;
    /* Without room behind the text, so that reading beyond it is found. */
    char *text = malloc(size);
    never(!text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    int code = BL_OK;
    switch (data[0] & 15) {
    case 0:
        code = bl_listing_parse(text, size - 1, check_object, NULL, &next, &e);
        break;
    case 1:
        code = bl_tree_parse(text, size - 1, check_object, NULL, &e);
        break;
    case 2:
        bl_store_fault_parse(&fault, text, size - 1);
        break;
    case 4:
        code = check_keys(text, size - 1, &e);
        break;
    case 5:
        code = check_line(text, &e);
        break;
    case 6:
        code = check_pattern(text, &e);
        break;
    case 7:
        code = bl_uploads_parse(text, size - 1, check_upload, NULL, &place, &e);
        never(!code && (!place.key.data || !place.id.data || (place.id.size && !place.key.size)));
        break;
    case 8:
        code = bl_store_member(text, size - 1, "UploadId", &next, &e);
        never(!code && !next.size);
        break;
    case 9:
        code = check_claim(text, size - 1, &e);
        break;
    default:
        check_url(text);
    }
    never(code && !e.text[0]);
    bl_buffer_free(&next);
    bl_pending_place_free(&place);
    free(text);
    return 0;
}
