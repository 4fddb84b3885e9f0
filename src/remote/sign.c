/* Signs requests: AWS's documentation, "Signature Version 4 for API requests", has the steps and their names.
 *
 * A canonical text of the request is hashed, the hash is signed with a key that is derived from the secret, the day,
 * the region and the service. The server does the same, so each byte of that text must be the one the server makes of
 * the request that arrives. */
#include "remote/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/url.h"

/* SHA-256 of nothing. */
#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ALGORITHM "AWS4-HMAC-SHA256"

void bl_keys_free(struct bl_keys *keys)
{
    free(keys->access);
    if (keys->secret)
        explicit_bzero(keys->secret, strlen(keys->secret));
    free(keys->secret);
    free(keys->token);
    *keys = (struct bl_keys){0};
}

static void append_hexadecimal(struct bl_buffer *out, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bl_buffer_printf(out, "%02x", data[i]);
}

int bl_sign_hash(const struct bl_curl *curl, const void *data, size_t size, char payload[BL_SIGN_PAYLOAD_SIZE],
                 struct bl_error *e)
{
    uint8_t hash[BL_SHA256_SIZE];
    BL_TRY(bl_curl_sha256(curl, data, size, hash, e));
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(payload + 2 * i, 3, "%02x", hash[i]);
    return BL_OK;
}

/* Returns the value of x-amz-content-sha256. */
static const char *signing_payload(const struct bl_signing *request)
{
    return request->payload ? request->payload : EMPTY_HASH;
}

/* --- query -------------------------------------------------------------------------------------------------------- */

/* Orders parameters by their encoded names, and those of one name by their values, for qsort. */
static int encoded_compare(const void *a, const void *b)
{
    const struct bl_pair *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : strcmp(one->value, other->value);
}

int bl_query_append(struct bl_buffer *out, const struct bl_pair *query, size_t queries, struct bl_error *e)
{
    struct bl_buffer encoded = {0};
    struct bl_pair sorted[BL_SIGN_PAIRS_MAX];
    size_t at[BL_SIGN_PAIRS_MAX][2];
    if (queries > BL_SIGN_PAIRS_MAX)
        return bl_error_set(e, BL_EFAIL, "a query of %zu parameters", queries);
    for (size_t i = 0; i < queries; i++) {
        at[i][0] = encoded.size;
        bl_url_append_encoded(&encoded, query[i].name, strlen(query[i].name), false);
        bl_buffer_byte(&encoded, '\0');
        at[i][1] = encoded.size;
        bl_url_append_encoded(&encoded, query[i].value, strlen(query[i].value), false);
        bl_buffer_byte(&encoded, '\0');
    }
    int code = bl_buffer_check(&encoded, e);
    /* The buffer moves while it grows. */
    for (size_t i = 0; i < queries && !code; i++)
        sorted[i] = (struct bl_pair){encoded.data + at[i][0], encoded.data + at[i][1]};
    if (!code && queries)
        qsort(sorted, queries, sizeof *sorted, encoded_compare);
    for (size_t i = 0; i < queries && !code; i++)
        bl_buffer_printf(out, "%s%s=%s", i ? "&" : "", sorted[i].name, sorted[i].value);
    bl_buffer_free(&encoded);
    return code ? code : bl_buffer_check(out, e);
}

/* --- signature ---------------------------------------------------------------------------------------------------- */

/* A header that is signed. */
struct signed_header {
    const char *name; /* in lower case */
    const char *value;
};

#define SIGNED_MAX 5

/* Sets the headers that are signed, in the order of their names, and returns their number. */
static size_t signing_headers(const struct bl_signing *request, const char *date,
                              struct signed_header header[SIGNED_MAX])
{
    size_t count = 0;
    header[count++] = (struct signed_header){"host", request->host};
    if (request->range)
        header[count++] = (struct signed_header){"range", request->range};
    if (!request->is_plain)
        header[count++] = (struct signed_header){"x-amz-content-sha256", signing_payload(request)};
    header[count++] = (struct signed_header){"x-amz-date", date};
    if (request->keys->token)
        header[count++] = (struct signed_header){"x-amz-security-token", request->keys->token};
    return count;
}

/* Appends the canonical text of the request. names: those of the signed headers. */
static int signing_append_canonical(const struct bl_signing *request, const struct signed_header *header, size_t count,
                                    const char *names, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_printf(out, "%s\n%s\n", request->method, request->path);
    BL_TRY(bl_query_append(out, request->query, request->queries, e));
    bl_buffer_byte(out, '\n');
    for (size_t i = 0; i < count; i++)
        bl_buffer_printf(out, "%s:%s\n", header[i].name, header[i].value);
    bl_buffer_printf(out, "\n%s\n%s", names, signing_payload(request));
    return bl_buffer_check(out, e);
}

/* Signs the text with the key that is derived from the secret and each part of the scope. */
static int signing_sign(const struct bl_curl *curl, const struct bl_signing *request, const char *day,
                        const struct bl_buffer *text, uint8_t signature[BL_SHA256_SIZE], struct bl_error *e)
{
    const char *const scope[] = {day, request->region, request->service, "aws4_request"};
    struct bl_buffer secret = {0};
    uint8_t key[BL_SHA256_SIZE];
    bl_buffer_printf(&secret, "AWS4%s", request->keys->secret);
    int code = bl_buffer_check(&secret, e);
    for (size_t i = 0; i < sizeof scope / sizeof *scope && !code; i++) {
        const void *from = i ? (const void *)key : secret.data;
        code = bl_curl_hmac(curl, from, i ? sizeof key : secret.size, scope[i], strlen(scope[i]), key, e);
    }
    if (!code)
        code = bl_curl_hmac(curl, key, sizeof key, text->data, text->size, signature, e);
    if (secret.data)
        explicit_bzero(secret.data, secret.size);
    explicit_bzero(key, sizeof key);
    bl_buffer_free(&secret);
    return code;
}

int bl_sign(const struct bl_curl *curl, const struct bl_signing *request, struct bl_buffer *headers, struct bl_error *e)
{
    struct bl_buffer canonical = {0}, text = {0}, names = {0};
    struct signed_header header[SIGNED_MAX];
    uint8_t hash[BL_SHA256_SIZE];
    char date[32], day[16];
    struct tm utc;
    if (!gmtime_r(&request->now, &utc) || !strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &utc) ||
        !strftime(day, sizeof day, "%Y%m%d", &utc))
        return bl_error_set(e, BL_EFAIL, "the clock of this machine is wrong");
    size_t count = signing_headers(request, date, header);
    for (size_t i = 0; i < count; i++)
        bl_buffer_printf(&names, "%s%s", i ? ";" : "", header[i].name);
    int code = bl_buffer_check(&names, e);
    if (!code)
        code = signing_append_canonical(request, header, count, names.data, &canonical, e);
    if (!code)
        code = bl_curl_sha256(curl, canonical.data, canonical.size, hash, e);
    if (code)
        goto out;
    bl_buffer_printf(&text, ALGORITHM "\n%s\n%s/%s/%s/aws4_request\n", date, day, request->region, request->service);
    append_hexadecimal(&text, hash, sizeof hash);
    code = bl_buffer_check(&text, e);
    if (!code)
        code = signing_sign(curl, request, day, &text, hash, e);
    if (code)
        goto out;
    for (size_t i = 0; i < count; i++) {
        bl_buffer_printf(headers, "%s: %s", header[i].name, header[i].value);
        bl_buffer_byte(headers, '\0');
    }
    bl_buffer_printf(headers, "Authorization: " ALGORITHM " Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=%s, ",
                     request->keys->access, day, request->region, request->service, names.data);
    bl_buffer_text(headers, "Signature=");
    append_hexadecimal(headers, hash, sizeof hash);
    bl_buffer_byte(headers, '\0');
    code = bl_buffer_check(headers, e);
out:
    bl_buffer_free(&canonical);
    bl_buffer_free(&text);
    bl_buffer_free(&names);
    return code;
}
