/* Finds credentials: in the environment, in the files of a profile, at the service of a container or an instance.
 *
 * The order is that of AWS's own tools. Roles that would have to be assumed, and programs that print keys, are not
 * supported: bload names the setting and says how to export the keys that AWS's tools have made of it. */
#include "remote/credentials.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "base/text.h"
#include "remote/url.h"

#define FILE_SIZE_MAX ((size_t)16 << 20)
#define TOKEN_SIZE_MAX 4096

/* A variable that is set, and not empty, or NULL. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Replaces *text by a copy. */
static int text_set(char **text, const char *value, size_t size, struct bl_error *e)
{
    char *copy = strndup(value, size);
    if (!copy)
        return bl_error_memory(e);
    free(*text);
    *text = copy;
    return BL_OK;
}

/* Keys become headers: a line end in one would begin another header. what: names the source. */
static int keys_check(const struct bl_keys *keys, const char *what, struct bl_error *e)
{
    const char *const texts[] = {keys->access, keys->secret, keys->token};
    if (!keys->access != !keys->secret)
        return bl_error_set(e, BL_EUSAGE, "%s: there is %s access key without the other half", what,
                            keys->access ? "the id of an" : "a secret");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (const char *at = texts[i]; at && *at; at++) {
            if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
                return bl_error_set(e, BL_EUSAGE, "%s: an access key has a character that none has, such as a space",
                                    what);
        }
    }
    return BL_OK;
}

/* Sets keys from variables, if they are set. */
static int keys_from_environment(struct bl_keys *keys, const char *access, const char *secret, const char *token,
                                 struct bl_error *e)
{
    const char *const names[] = {access, secret, token};
    char **const texts[] = {&keys->access, &keys->secret, &keys->token};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = names[i] ? environment(names[i]) : NULL;
        if (value)
            BL_TRY(text_set(texts[i], value, strlen(value), e));
    }
    if (!keys->access && !keys->secret)
        bl_keys_free(keys);
    return keys_check(keys, access, e);
}

/* --- files of profiles -------------------------------------------------------------------------------------------- */

/* Settings of a profile that say where keys come from, in other ways than are supported. */
static const char *const profile_unsupported[] = {"role_arn", "credential_process", "sso_session", "sso_start_url",
                                                  "web_identity_token_file"};

/* Keeps a setting of the profile, unless another file has set it. */
static int profile_set(struct bl_profile *p, const char *name, size_t name_size, const char *value, size_t size,
                       struct bl_error *e)
{
    const struct {
        const char *name;
        char **text;
    } settings[] = {{"aws_access_key_id", &p->keys.access},
                    {"aws_secret_access_key", &p->keys.secret},
                    {"aws_session_token", &p->keys.token},
                    {"region", &p->region},
                    {"endpoint_url", &p->endpoint}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings && size; i++) {
        if (strlen(settings[i].name) == name_size && memcmp(settings[i].name, name, name_size) == 0)
            return *settings[i].text ? BL_OK : text_set(settings[i].text, value, size, e);
    }
    for (size_t i = 0; i < sizeof profile_unsupported / sizeof *profile_unsupported; i++) {
        if (strlen(profile_unsupported[i]) == name_size && memcmp(profile_unsupported[i], name, name_size) == 0)
            return text_set(&p->unsupported, name, name_size, e);
    }
    return BL_OK;
}

/* Whether a line is the title of the profile's section: "[name]", or in config "[profile name]". */
static bool title_is(const char *line, size_t size, const char *name, bool is_config)
{
    const char *at = line + 1, *close = memchr(line, ']', size);
    if (!close)
        return false;
    size_t left = (size_t)(close - at);
    bl_text_trim(&at, &left, " \t");
    if (is_config && left > 7 && memcmp(at, "profile", 7) == 0 && (at[7] == ' ' || at[7] == '\t')) {
        at += 7, left -= 7;
        bl_text_trim(&at, &left, " \t\"");
    } else if (is_config && strcmp(name, "default") != 0) {
        return false;
    }
    return left == strlen(name) && memcmp(at, name, left) == 0;
}

/* Keeps the settings of the profile in a file; *found: the file has the profile. A file that does not exist has none.
 * Lines that begin with a space are settings within a setting, such as those of "s3 =". */
static int profile_read_file(struct bl_profile *p, const char *path, const char *name, bool is_config, bool *found,
                             struct bl_error *e)
{
    struct bl_buffer text = {0};
    bool exists, inside = false;
    const char *line;
    size_t at = 0, size;
    int code = bl_io_read_existing(path, FILE_SIZE_MAX, &text, &exists, e);
    while (!code && exists && bl_text_next_line(text.data ? text.data : "", text.size, &at, &line, &size)) {
        if (size && *line == '[') {
            inside = title_is(line, size, name, is_config);
            *found = *found || inside;
            continue;
        }
        const char *equals = size ? memchr(line, '=', size) : NULL;
        if (!inside || !equals || strchr(" \t#;", *line))
            continue;
        const char *value = equals + 1;
        size_t name_size = (size_t)(equals - line), value_size = size - name_size - 1;
        /* A comment follows a space. */
        for (size_t i = 1; i < value_size; i++) {
            if (strchr("#;", value[i]) && strchr(" \t", value[i - 1]))
                value_size = i;
        }
        bl_text_trim(&line, &name_size, " \t");
        bl_text_trim(&value, &value_size, " \t\r");
        code = profile_set(p, line, name_size, value, value_size, e);
    }
    if (text.data)
        explicit_bzero(text.data, text.size);
    bl_buffer_free(&text);
    return code;
}

/* Returns the path of a file: that of the variable, or the one in the home folder; NULL: there is no home folder, or
 * memory ran out. The caller frees it. */
static char *home_path(const char *variable, const char *name)
{
    const char *path = variable ? environment(variable) : NULL, *home = environment("HOME");
    if (path)
        return strdup(path);
    return home ? bl_path_join(home, name) : NULL;
}

/* Reads both files of profiles. */
static int profile_read_files(struct bl_profile *p, const char *name, bool *found, struct bl_error *e)
{
    static const struct {
        const char *variable, *name;
        bool is_config;
    } files[] = {{"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", false}, {"AWS_CONFIG_FILE", ".aws/config", true}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = home_path(files[i].variable, files[i].name);
        int code = path ? profile_read_file(p, path, name, files[i].is_config, found, e) : BL_OK;
        if (!code && !i)
            code = keys_check(&p->keys, path ? path : "", e);
        free(path);
        BL_TRY(code);
    }
    return BL_OK;
}

int bl_profile_read(struct bl_profile *profile, struct bl_error *e)
{
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
    const char *chosen = environment("AWS_PROFILE");
    bool found = false;
    *profile = (struct bl_profile){0};
    int code =
        keys_from_environment(&profile->keys, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", e);
    for (size_t i = 0; i < 2 && !code; i++) {
        const char *region = environment(regions[i]), *endpoint = environment(endpoints[i]);
        if (region && !profile->region)
            code = text_set(&profile->region, region, strlen(region), e);
        if (!code && endpoint && !profile->endpoint)
            code = text_set(&profile->endpoint, endpoint, strlen(endpoint), e);
    }
    /* A token of the files does not belong to keys of the environment. */
    struct bl_keys own = profile->keys;
    if (own.access)
        profile->keys = (struct bl_keys){0};
    if (!code)
        code = profile_read_files(profile, chosen ? chosen : "default", &found, e);
    if (own.access) {
        bl_keys_free(&profile->keys);
        profile->keys = own;
    }
    if (!code && chosen && !found && !profile->keys.access)
        code = bl_error_set(e, BL_EUSAGE, "neither ~/.aws/credentials nor ~/.aws/config has a profile %s", chosen);
    if (!code)
        code = keys_check(&profile->keys, "the profile", e);
    if (code)
        bl_profile_free(profile);
    return code;
}

int bl_profile_read_google(struct bl_keys *keys, struct bl_error *e)
{
    *keys = (struct bl_keys){0};
    return keys_from_environment(keys, "GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY", NULL, e);
}

void bl_profile_free(struct bl_profile *profile)
{
    bl_keys_free(&profile->keys);
    free(profile->region);
    free(profile->endpoint);
    free(profile->unsupported);
    *profile = (struct bl_profile){0};
}

/* --- services of the machine -------------------------------------------------------------------------------------- */

/* Sets a text to the string of a member, if it is one. */
static int member_set(char **text, const struct bl_json_value *value, struct bl_error *e)
{
    struct bl_buffer plain = {0};
    struct bl_json_value string;
    int code = BL_OK;
    if (value->type == BL_JSON_STRING && bl_json_text(value, &plain, &string))
        code = text_set(text, string.text, string.size, e);
    bl_buffer_free(&plain);
    return code;
}

/* Parses the answer of a service: {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ..., "Expiration":
 * "2026-11-29T10:00:00Z"}. */
static int keys_parse(struct bl_keys *keys, const struct bl_buffer *answer, const char *url, struct bl_error *e)
{
    static const char *const names[] = {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"};
    struct bl_json_key key[4];
    struct bl_json_value value[4];
    struct bl_json_fault fault;
    char *expires = NULL;
    char **const texts[] = {&keys->access, &keys->secret, &keys->token, &expires};
    int code = BL_OK;
    for (size_t i = 0; i < 4; i++)
        (void)bl_json_key_parse(&key[i], names[i], strlen(names[i]));
    if (!answer->size || !bl_json_scan(answer->data, answer->size, key, 4, value, &fault))
        return bl_error_set(e, BL_EFAIL, "%s: the answer has no credentials", url);
    for (size_t i = 0; i < 4 && !code; i++)
        code = member_set(texts[i], &value[i], e);
    struct tm utc = {0};
    if (!code && expires && strptime(expires, "%Y-%m-%dT%H:%M:%S", &utc))
        keys->expires = timegm(&utc);
    free(expires);
    if (!code && (!keys->access || !keys->secret))
        code = bl_error_set(e, BL_EFAIL, "%s: the answer has no credentials", url);
    return code ? code : keys_check(keys, url, e);
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

/* Asks the service of a container, whose address is in the environment. */
static int metadata_ask_container(struct bl_keys *keys, bl_metadata_get *get, void *context, struct bl_error *e)
{
    const char *path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
               *file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
               *token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct bl_buffer url = {0}, header = {0}, answer = {0};
    bool found = false;
    int code = BL_OK;
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
        code = get(context, "GET", url.data, header.size ? header.data : NULL, &answer, &found, e);
    if (!code && found)
        code = keys_parse(keys, &answer, url.data, e);
    bl_buffer_free(&url);
    bl_buffer_free(&header);
    bl_buffer_free(&answer);
    return code;
}

/* Asks the service of an instance for the name of its role, and for the keys of that role. */
static int metadata_ask_instance(struct bl_keys *keys, bl_metadata_get *get, void *context, struct bl_error *e)
{
    static const char role_path[] = "/latest/meta-data/iam/security-credentials/";
    const char *disabled = environment("AWS_EC2_METADATA_DISABLED"),
               *service = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct bl_buffer url = {0}, header = {0}, role = {0}, answer = {0};
    bool found = false;
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
        code = get(context, "PUT", url.data, "X-aws-ec2-metadata-token-ttl-seconds: 21600", &header, &found, e);
    /* A token that is no text is none. */
    if (code || !found || bl_buffer_check(&header, e) || strpbrk(header.data, "\r\n") || header.size > TOKEN_SIZE_MAX)
        goto out;
    url.size = size;
    bl_buffer_text(&url, role_path);
    code = bl_buffer_check(&url, e);
    if (!code)
        code = get(context, "GET", url.data, header.data, &role, &found, e);
    /* The first line is the role; without one there are no keys. */
    size_t length = role.size ? strcspn(role.data, "\r\n") : 0;
    if (code || !found || !length)
        goto out;
    bl_url_append_encoded(&url, role.data, length, false);
    code = bl_buffer_check(&url, e);
    if (!code)
        code = get(context, "GET", url.data, header.data, &answer, &found, e);
    if (!code && found)
        code = keys_parse(keys, &answer, url.data, e);
out:
    bl_buffer_free(&url);
    bl_buffer_free(&header);
    bl_buffer_free(&role);
    bl_buffer_free(&answer);
    return code;
}

int bl_metadata_keys(struct bl_keys *keys, bl_metadata_get *get, void *context, struct bl_error *e)
{
    *keys = (struct bl_keys){0};
    int code = metadata_ask_container(keys, get, context, e);
    if (!code && !keys->access)
        code = metadata_ask_instance(keys, get, context, e);
    if (code)
        bl_keys_free(keys);
    return code;
}

/* --- Hugging Face Hub --------------------------------------------------------------------------------------------- */

int bl_hub_token(char **token, struct bl_error *e)
{
    const char *own = environment("HF_TOKEN"), *home = environment("HF_HOME");
    struct bl_buffer text = {0};
    bool exists = false;
    int code = BL_OK;
    char *path = NULL;
    *token = NULL;
    if (own)
        bl_buffer_text(&text, own);
    else if (home && !environment("HF_TOKEN_PATH"))
        path = bl_path_join(home, "token");
    else
        path = home_path("HF_TOKEN_PATH", ".cache/huggingface/token");
    if (path)
        code = bl_io_read_existing(path, TOKEN_SIZE_MAX, &text, &exists, e);
    const char *begin = text.data ? text.data : "";
    size_t size = text.size;
    bl_text_trim(&begin, &size, " \t\r\n");
    for (size_t i = 0; i < size && !code; i++) {
        if ((unsigned char)begin[i] <= ' ' || (unsigned char)begin[i] >= 0x7f)
            code = bl_error_set(e, BL_EUSAGE, "%s: the token for the Hugging Face Hub has a character that none has",
                                path ? path : "HF_TOKEN");
    }
    if (!code)
        code = bl_buffer_check(&text, e);
    if (!code && size)
        code = text_set(token, begin, size, e);
    free(path);
    bl_buffer_free(&text);
    return code;
}
