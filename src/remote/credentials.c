/* Reads settings: of the environment, of the files of a profile, and of the Hugging Face Hub's tools. key_sources.c
 * makes keys of them. */
#include "remote/credentials.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"

#define FILE_SIZE_MAX ((size_t)16 << 20)
#define TOKEN_SIZE_MAX 4096

const char *bl_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool bl_region_is_proper(const char *region)
{
    size_t size = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return size && size < 40 && !region[size];
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

int bl_keys_check(const struct bl_keys *keys, const char *what, struct bl_error *e)
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
        const char *value = names[i] ? bl_environment(names[i]) : NULL;
        if (value)
            BL_TRY(text_set(texts[i], value, strlen(value), e));
    }
    if (!keys->access && !keys->secret)
        bl_keys_free(keys);
    return bl_keys_check(keys, access, e);
}

/* --- files of profiles -------------------------------------------------------------------------------------------- */

/* The names of enum bl_setting. */
static const char *const setting_names[BL_SETTINGS] = {
    [BL_ROLE_ARN] = "role_arn",
    [BL_SOURCE_PROFILE] = "source_profile",
    [BL_CREDENTIAL_SOURCE] = "credential_source",
    [BL_ROLE_SESSION_NAME] = "role_session_name",
    [BL_EXTERNAL_ID] = "external_id",
    [BL_DURATION_SECONDS] = "duration_seconds",
    [BL_MFA_SERIAL] = "mfa_serial",
    [BL_WEB_IDENTITY_TOKEN_FILE] = "web_identity_token_file",
    [BL_CREDENTIAL_PROCESS] = "credential_process",
    [BL_SSO_SESSION] = "sso_session",
    [BL_SSO_START_URL] = "sso_start_url",
    [BL_SSO_REGION] = "sso_region",
    [BL_SSO_ACCOUNT_ID] = "sso_account_id",
    [BL_SSO_ROLE_NAME] = "sso_role_name",
};

/* Keeps a setting of the profile, unless another file has set it. */
static int profile_set(struct bl_profile *p, const char *name, size_t name_size, const char *value, size_t size,
                       struct bl_error *e)
{
    const struct {
        const char *name;
        char **text;
    } settings[] = {{"aws_access_key_id", &p->keys.access}, {"aws_secret_access_key", &p->keys.secret},
                    {"aws_session_token", &p->keys.token},  {"region", &p->region},
                    {"endpoint_url", &p->endpoint},         {"endpoint_url", &p->sts_endpoint}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings && size; i++) {
        if (strlen(settings[i].name) == name_size && memcmp(settings[i].name, name, name_size) == 0 &&
            !*settings[i].text)
            BL_TRY(text_set(settings[i].text, value, size, e));
    }
    for (size_t i = 0; i < BL_SETTINGS && size; i++) {
        if (strlen(setting_names[i]) == name_size && memcmp(setting_names[i], name, name_size) == 0 && !p->setting[i])
            BL_TRY(text_set(&p->setting[i], value, size, e));
    }
    return BL_OK;
}

/* The sections of a file: their titles are "[name]", "[profile name]" or "[sso-session name]". */
enum section { SECTION_CREDENTIALS, SECTION_PROFILE, SECTION_SSO };

/* Whether a line is the title of the section with this name. */
static bool title_is(const char *line, size_t size, const char *name, enum section section)
{
    static const char *const prefixes[] = {"", "profile", "sso-session"};
    const char *at = line + 1, *close = memchr(line, ']', size), *prefix = prefixes[section];
    if (!close)
        return false;
    size_t left = (size_t)(close - at), prefix_size = strlen(prefix);
    bl_text_trim(&at, &left, " \t");
    if (prefix_size && left > prefix_size && memcmp(at, prefix, prefix_size) == 0 &&
        (at[prefix_size] == ' ' || at[prefix_size] == '\t')) {
        at += prefix_size, left -= prefix_size;
        bl_text_trim(&at, &left, " \t\"");
    } else if (section == SECTION_SSO || (section == SECTION_PROFILE && strcmp(name, "default") != 0)) {
        return false;
    }
    return left == strlen(name) && memcmp(at, name, left) == 0;
}

/* Keeps the settings of a section of a file; *found: the file has the section. A file that does not exist has none.
 * Lines that begin with a space are settings within a setting, such as those of "s3 =". */
static int profile_read_file(struct bl_profile *p, const char *path, const char *name, enum section section,
                             bool *found, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bool exists, inside = false;
    const char *line;
    size_t at = 0, size;
    int code = bl_io_read_existing(path, FILE_SIZE_MAX, &text, &exists, e);
    while (!code && exists && bl_text_next_line(text.data ? text.data : "", text.size, &at, &line, &size)) {
        if (size && *line == '[') {
            inside = title_is(line, size, name, section);
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
    const char *path = variable ? bl_environment(variable) : NULL, *home = bl_environment("HOME");
    if (path)
        return strdup(path);
    return home ? bl_path_join(home, name) : NULL;
}

/* Reads the sections of this name in both files of profiles, and the section of SSO that they name. */
static int profile_read_files(struct bl_profile *p, const char *name, bool *found, struct bl_error *e)
{
    static const struct {
        const char *variable, *name;
        enum section section;
    } files[] = {{"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", SECTION_CREDENTIALS},
                 {"AWS_CONFIG_FILE", ".aws/config", SECTION_PROFILE},
                 {"AWS_CONFIG_FILE", ".aws/config", SECTION_SSO}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *section_name = files[i].section == SECTION_SSO ? p->setting[BL_SSO_SESSION] : name;
        char *path = section_name ? home_path(files[i].variable, files[i].name) : NULL;
        bool other = false;
        int code = path ? profile_read_file(p, path, section_name, files[i].section, &other, e) : BL_OK;
        if (!code && !i)
            code = bl_keys_check(&p->keys, path ? path : "", e);
        if (!code && path && files[i].section == SECTION_SSO && !other)
            code = bl_error_set(e, BL_EUSAGE, "%s: there is no section [sso-session %s], which the profile %s names",
                                path, section_name, name);
        *found = *found || other;
        free(path);
        BL_TRY(code);
    }
    return text_set(&p->name, name, strlen(name), e);
}

int bl_profile_read_named(struct bl_profile *profile, const char *name, struct bl_error *e)
{
    bool found = false;
    *profile = (struct bl_profile){0};
    int code = profile_read_files(profile, name, &found, e);
    if (!code && !found)
        code = bl_error_set(e, BL_EUSAGE, "neither ~/.aws/credentials nor ~/.aws/config has a profile %s", name);
    if (!code)
        code = bl_keys_check(&profile->keys, "the profile", e);
    if (code)
        bl_profile_free(profile);
    return code;
}

int bl_keys_read_environment(struct bl_keys *keys, struct bl_error *e)
{
    *keys = (struct bl_keys){0};
    return keys_from_environment(keys, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", e);
}

int bl_profile_read(struct bl_profile *profile, struct bl_error *e)
{
    static const struct {
        const char *name;
        size_t member;
    } variables[] = {{"AWS_REGION", offsetof(struct bl_profile, region)},
                     {"AWS_DEFAULT_REGION", offsetof(struct bl_profile, region)},
                     {"AWS_ENDPOINT_URL_S3", offsetof(struct bl_profile, endpoint)},
                     {"AWS_ENDPOINT_URL", offsetof(struct bl_profile, endpoint)},
                     {"AWS_ENDPOINT_URL_STS", offsetof(struct bl_profile, sts_endpoint)},
                     {"AWS_ENDPOINT_URL", offsetof(struct bl_profile, sts_endpoint)}};
    const char *chosen = bl_environment("AWS_PROFILE");
    struct bl_keys own = {0};
    bool found = false;
    *profile = (struct bl_profile){0};
    int code = bl_keys_read_environment(&own, e);
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !code; i++) {
        const char *value = bl_environment(variables[i].name);
        char **text = (char **)((char *)profile + variables[i].member);
        if (value && !*text)
            code = text_set(text, value, strlen(value), e);
    }
    if (!code)
        code = profile_read_files(profile, chosen ? chosen : "default", &found, e);
    /* A token of the files does not belong to keys of the environment. */
    if (own.access) {
        bl_keys_free(&profile->keys);
        profile->keys = own;
        profile->is_environment = true;
    } else {
        bl_keys_free(&own);
    }
    if (!code && chosen && !found && !profile->keys.access)
        code = bl_error_set(e, BL_EUSAGE, "neither ~/.aws/credentials nor ~/.aws/config has a profile %s", chosen);
    if (!code)
        code = bl_keys_check(&profile->keys, "the profile", e);
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
    free(profile->sts_endpoint);
    free(profile->name);
    for (size_t i = 0; i < BL_SETTINGS; i++)
        free(profile->setting[i]);
    *profile = (struct bl_profile){0};
}

/* --- Hugging Face Hub --------------------------------------------------------------------------------------------- */

int bl_hub_token(char **token, struct bl_error *e)
{
    const char *own = bl_environment("HF_TOKEN"), *home = bl_environment("HF_HOME");
    struct bl_buffer text = {0};
    bool exists = false;
    int code = BL_OK;
    char *path = NULL;
    *token = NULL;
    if (own)
        bl_buffer_text(&text, own);
    else if (home && !bl_environment("HF_TOKEN_PATH"))
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
