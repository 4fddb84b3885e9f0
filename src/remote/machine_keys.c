/* Asks services and programs of this machine for keys, and parses what they answer. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "remote/key_sources.h"
#include "remote/url.h"

#define TOKEN_SIZE_MAX 65536   /* bytes */
#define ANSWER_SIZE_MAX 262144 /* bytes of what a program prints */

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Sets a text to a string or number of an answer, if it is one. */
static int member_set(char **text, const struct bl_json_value *value, struct bl_error *e)
{
    struct bl_buffer plain = {0};
    struct bl_json_value string = *value;
    bool is_text = value->type == BL_JSON_NUMBER || bl_json_text(value, &plain, &string);
    *text = is_text ? strndup(string.text, string.size) : NULL;
    bool failed = plain.failed || (is_text && !*text);
    if (plain.data)
        explicit_bzero(plain.data, plain.size);
    bl_buffer_free(&plain);
    return failed ? bl_error_memory(e) : BL_OK;
}

int64_t bl_key_expiry(const char *text)
{
    struct tm utc = {0};
    int64_t number;
    if (bl_text_to_int(text, strlen(text), 1, INT64_MAX, &number))
        return number / 1000;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (!rest)
        return 0;
    rest += *rest == '.' ? 1 + strspn(rest + 1, "0123456789") : 0;
    /* Programs write an offset, such as +00:00; all others write Z, or UTC. */
    struct tm offset = {0};
    bool has_offset = (*rest == '+' || *rest == '-') && strptime(rest + 1, "%H:%M", &offset);
    int64_t seconds = has_offset ? (offset.tm_hour * 60 + offset.tm_min) * 60 : 0;
    return (int64_t)timegm(&utc) - (*rest == '-' ? -seconds : seconds);
}

int bl_keys_parse(struct bl_keys *keys, const struct bl_buffer *answer, const struct bl_key_names *names,
                  const char *what, struct bl_error *e)
{
    const char *const members[] = {names->access, names->secret, names->token, names->expires};
    struct bl_json_key key[4];
    struct bl_json_value value[4];
    struct bl_json_fault fault;
    char *expires = NULL;
    char **const texts[] = {&keys->access, &keys->secret, &keys->token, &expires};
    int code = BL_OK;
    *keys = (struct bl_keys){0};
    for (size_t i = 0; i < 4; i++)
        (void)bl_json_key_parse(&key[i], members[i], strlen(members[i]));
    if (!answer->size || !bl_json_scan(answer->data, answer->size, key, 4, value, &fault))
        return bl_error_set(e, BL_EFAIL, "%s: the answer has no credentials", what);
    for (size_t i = 0; i < 4 && !code; i++)
        code = member_set(texts[i], &value[i], e);
    if (!code && expires)
        keys->expires = bl_key_expiry(expires);
    free(expires);
    if (!code && (!keys->access || !keys->secret))
        code = bl_error_set(e, BL_EFAIL, "%s: the answer has no credentials", what);
    if (!code)
        code = bl_keys_check(keys, what, e);
    if (code)
        bl_keys_free(keys);
    return code;
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static const struct bl_key_names service_names = {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};

/* Asks a service of the machine. header: a line, or NULL. */
static int service_ask(const struct bl_key_services *services, const char *method, const char *url, const char *header,
                       struct bl_buffer *out, int *status, struct bl_error *e)
{
    struct bl_buffer headers = {0};
    if (header)
        bl_buffer_append(&headers, header, strlen(header) + 1);
    const struct bl_key_request request = {.method = method, .url = url, .headers = &headers, .is_local = true};
    int code = bl_buffer_check(&headers, e);
    if (!code)
        code = services->ask(services->context, &request, out, status, e);
    bl_buffer_free(&headers);
    return code ? code : bl_buffer_check(out, e);
}

/* Refuses a service that would be asked through a network without TLS. */
static int container_check(const char *url, struct bl_error *e)
{
    static const char *const services[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
    struct bl_site site;
    const char *fault = bl_site_parse(&site, url);
    bool is_good = !fault && (!site.is_plain || bl_site_is_loopback(&site));
    for (size_t i = 0; i < sizeof services / sizeof *services && !fault; i++)
        is_good =
            is_good || (strlen(services[i]) == site.host_size && memcmp(services[i], site.host, site.host_size) == 0);
    return is_good ? BL_OK
                   : bl_error_set(e, BL_EUSAGE,
                                  "AWS_CONTAINER_CREDENTIALS_FULL_URI is no https:// URL, and none of "
                                  "this machine");
}

int bl_keys_ask_container(struct bl_keys *keys, const struct bl_key_services *services, struct bl_error *e)
{
    const char *path = bl_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *full = bl_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
               *file = bl_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
               *token = bl_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct bl_buffer url = {0}, header = {0}, answer = {0};
    int code = BL_OK, status = 0;
    *keys = (struct bl_keys){0};
    if (!path && !full)
        return BL_OK;
    bl_buffer_printf(&url, "%s%s", path ? "http://169.254.170.2" : "", path ? path : full);
    if (file || token)
        bl_buffer_text(&header, "Authorization: ");
    if (file)
        code = bl_io_read_file(file, TOKEN_SIZE_MAX, &header, e);
    else if (token)
        bl_buffer_text(&header, token);
    while (header.size && strchr("\r\n", header.data[header.size - 1]))
        header.data[--header.size] = '\0';
    if (!code && header.size && strpbrk(header.data, "\r\n"))
        code = bl_error_set(e, BL_EUSAGE, "the authorization token of the container has several lines");
    if (!code)
        code = bl_buffer_check(&url, e);
    if (!code)
        code = bl_buffer_check(&header, e);
    if (!code)
        code = container_check(url.data, e);
    if (!code)
        code = service_ask(services, "GET", url.data, header.size ? header.data : NULL, &answer, &status, e);
    if (!code && !status)
        code = bl_error_set(e, BL_EFAIL, "the container's service of credentials, %s, does not answer", url.data);
    else if (!code && status != 200)
        code = bl_error_set(e, BL_EFAIL, "the container's service of credentials, %s, answers %d", url.data, status);
    if (!code)
        code = bl_keys_parse(keys, &answer, &service_names, url.data, e);
    bl_buffer_free(&url);
    bl_buffer_free(&header);
    bl_buffer_free(&answer);
    return code;
}

/* Asks for the name of the instance's role, and for the keys of that role. */
int bl_keys_ask_instance(struct bl_keys *keys, const struct bl_key_services *services, struct bl_error *e)
{
    static const char role_path[] = "/latest/meta-data/iam/security-credentials/";
    const char *disabled = bl_environment("AWS_EC2_METADATA_DISABLED"),
               *service = bl_environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct bl_buffer url = {0}, header = {0}, role = {0}, answer = {0};
    int status = 0;
    *keys = (struct bl_keys){0};
    if (disabled && strcmp(disabled, "true") == 0)
        return BL_OK;
    size_t size = service ? strlen(service) : 0;
    while (size && service[size - 1] == '/')
        size--;
    bl_buffer_printf(&url, "%.*s", (int)(size ? size : 22), size ? service : "http://169.254.169.254");
    size = url.size;
    bl_buffer_text(&url, "/latest/api/token");
    bl_buffer_text(&header, "X-aws-ec2-metadata-token: ");
    int code = bl_buffer_check(&url, e);
    if (!code)
        code =
            service_ask(services, "PUT", url.data, "X-aws-ec2-metadata-token-ttl-seconds: 21600", &header, &status, e);
    /* A token that is no text is none. */
    if (code || status != 200 || bl_buffer_check(&header, e) || strpbrk(header.data, "\r\n") ||
        header.size > TOKEN_SIZE_MAX)
        goto out;
    url.size = size;
    bl_buffer_text(&url, role_path);
    code = bl_buffer_check(&url, e);
    if (!code)
        code = service_ask(services, "GET", url.data, header.data, &role, &status, e);
    /* The first line is the role; without one there are no keys. */
    size_t length = role.size ? strcspn(role.data, "\r\n") : 0;
    if (code || status != 200 || !length)
        goto out;
    bl_url_append_encoded(&url, role.data, length, false);
    code = bl_buffer_check(&url, e);
    if (!code)
        code = service_ask(services, "GET", url.data, header.data, &answer, &status, e);
    if (!code && status == 200)
        code = bl_keys_parse(keys, &answer, &service_names, url.data, e);
out:
    bl_buffer_free(&url);
    bl_buffer_free(&header);
    bl_buffer_free(&role);
    bl_buffer_free(&answer);
    return code;
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

int bl_keys_run_program(struct bl_keys *keys, const char *command, const char *what, struct bl_error *e)
{
    static const struct bl_key_names names = {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"};
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct bl_buffer out = {0};
    struct bl_error fault = {0};
    int status;
    *keys = (struct bl_keys){0};
    int code = bl_process_read(argv, &out, &status, e);
    if (!code && status)
        code = bl_error_set(e, BL_EUSAGE, "%s: the command ends with status %d", what, status);
    else if (!code && (out.size > ANSWER_SIZE_MAX || bl_keys_parse(keys, &out, &names, what, &fault)))
        code = bl_error_set(e, BL_EUSAGE,
                            "%s: the command prints no JSON with a proper AccessKeyId and SecretAccessKey", what);
    else if (!code && keys->expires && keys->expires <= (int64_t)time(NULL))
        code = bl_error_set(e, BL_EUSAGE, "%s: the command prints credentials that have expired", what);
    if (out.data)
        explicit_bzero(out.data, out.size);
    if (code)
        bl_keys_free(keys);
    bl_buffer_free(&out);
    return code;
}
