/* Finds the keys of a profile.
 *
 * A role's keys come from AWS's service of tokens, STS: a profile with keys of its own, or another source, signs the
 * request (AssumeRole), or a file has a token that another authority has signed (AssumeRoleWithWebIdentity). The
 * profile whose keys sign may assume a role itself. */
#include "remote/key_sources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "base/text.h"
#include "remote/listing.h"
#include "remote/url.h"

#define CHAIN_MAX 8         /* profiles that assume roles, one by the other */
#define FILE_SIZE_MAX 65536 /* of a token */
#define PAIRS_MAX 8         /* of a request to STS */
#define STS_VERSION "2011-06-15"

/* A search for keys. */
struct key_search {
    const struct bl_key_services *services;
    const struct bl_profile *chosen; /* has the region and endpoint of STS */
    const char *chain[CHAIN_MAX];    /* names of the profiles that lead to the present one */
    int depth;
};

static int search_profile(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys, bool *is_lent,
                          struct bl_error *e);

/* Copies keys that are the profile's own. */
static int keys_copy(struct bl_keys *to, const struct bl_keys *from, struct bl_error *e)
{
    *to = (struct bl_keys){.access = strdup(from->access),
                           .secret = strdup(from->secret),
                           .token = from->token ? strdup(from->token) : NULL,
                           .expires = from->expires};
    if (to->access && to->secret && !to->token == !from->token)
        return BL_OK;
    bl_keys_free(to);
    return bl_error_memory(e);
}

/* --- STS ---------------------------------------------------------------------------------------------------------- */

/* Appends the URL of the service: what the user named, or that of the region, or that of all regions. */
static void sts_append_url(const struct bl_profile *p, struct bl_buffer *url)
{
    const char *endpoint = p->sts_endpoint, *region = p->region;
    size_t size = endpoint ? strlen(endpoint) : 0;
    while (size && endpoint[size - 1] == '/')
        size--;
    if (size)
        bl_buffer_printf(url, "%.*s/", (int)size, endpoint);
    else if (region)
        bl_buffer_printf(url, "https://sts.%s.amazonaws.com%s/", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    else
        bl_buffer_text(url, "https://sts.amazonaws.com/");
}

/* Appends the headers that sign a request to the service. */
static int sts_sign(const struct key_search *s, const struct bl_keys *keys, const char *url, const char *form,
                    struct bl_buffer *headers, struct bl_error *e)
{
    struct bl_site site;
    struct bl_buffer host = {0};
    char payload[BL_SIGN_PAYLOAD_SIZE];
    const char *fault = bl_site_parse(&site, url);
    if (fault)
        return bl_error_set(e, BL_EUSAGE, "the endpoint %s is no URL of a server: %s", url, fault);
    BL_TRY(bl_sign_hash(s->services->curl, form, strlen(form), payload, e));
    bl_site_append_host(&host, &site);
    const struct bl_signing signing = {.method = "POST",
                                       .host = host.data,
                                       .path = site.path,
                                       .region = s->chosen->region ? s->chosen->region : "us-east-1",
                                       .service = "sts",
                                       .payload = payload,
                                       .is_plain = true,
                                       .keys = keys,
                                       .now = time(NULL)};
    int code = bl_buffer_check(&host, e);
    if (!code)
        code = bl_sign(s->services->curl, &signing, headers, e);
    bl_buffer_free(&host);
    return code;
}

/* Records why the service gives no keys. */
static int sts_fail(const char *url, const struct bl_buffer *answer, int status, struct bl_error *e)
{
    struct bl_store_fault fault;
    bl_store_fault_parse(&fault, answer->data ? answer->data : "", answer->size);
    int code = status >= 500 || status == 429 ? BL_EFAIL : BL_EUSAGE;
    if (!*fault.code)
        return bl_error_set(e, code,
                            "%s answers %d, and not as AWS's service of tokens does: AWS_ENDPOINT_URL_STS names it",
                            url, status);
    return bl_error_set(e, code, "%s answers %d %s%s%s", url, status, fault.code, *fault.message ? ": " : "",
                        fault.message);
}

/* Sends a request to the service. signer: the keys that sign it, or NULL. */
static int sts_ask(const struct key_search *s, const struct bl_pair *pair, size_t pairs, const struct bl_keys *signer,
                   struct bl_keys *keys, struct bl_error *e)
{
    struct bl_buffer url = {0}, form = {0}, headers = {0}, answer = {0};
    struct bl_sts_answer found = {0};
    int status = 0;
    sts_append_url(s->chosen, &url);
    int code = bl_buffer_check(&url, e);
    if (!code)
        code = bl_query_append(&form, pair, pairs, e);
    if (!code && signer)
        code = sts_sign(s, signer, url.data, form.data, &headers, e);
    bl_buffer_text(&headers, "Content-Type: application/x-www-form-urlencoded");
    bl_buffer_byte(&headers, '\0');
    if (!code)
        code = bl_buffer_check(&headers, e);
    const struct bl_key_request request = {.method = "POST", .url = url.data, .headers = &headers, .form = form.data};
    if (!code)
        code = s->services->ask(s->services->context, &request, &answer, &status, e);
    if (!code && status != 200)
        code = sts_fail(url.data, &answer, status, e);
    if (!code && bl_sts_parse(&found, answer.data ? answer.data : "", answer.size, e)) {
        bl_error_prefix(e, "%s", url.data);
        code = BL_EFAIL;
    }
    if (!code) {
        *keys =
            (struct bl_keys){found.access, found.secret, found.token, found.expires ? bl_key_expiry(found.expires) : 0};
        found.access = found.secret = found.token = NULL;
        code = bl_keys_check(keys, url.data, e);
    }
    bl_sts_answer_free(&found);
    if (form.data)
        explicit_bzero(form.data, form.size);
    if (answer.data)
        explicit_bzero(answer.data, answer.size);
    bl_buffer_free(&url);
    bl_buffer_free(&form);
    bl_buffer_free(&headers);
    bl_buffer_free(&answer);
    return code;
}

/* Adds the pairs that both requests have. name: NULL: the session is named after the time. Returns their number. */
static size_t sts_begin(struct bl_pair *pair, const char *action, const char *role, const char *name,
                        const char *seconds, char own_name[32])
{
    size_t count = 0;
    snprintf(own_name, 32, "bload-%lld", (long long)time(NULL));
    pair[count++] = (struct bl_pair){"Action", action};
    pair[count++] = (struct bl_pair){"Version", STS_VERSION};
    pair[count++] = (struct bl_pair){"RoleArn", role};
    pair[count++] = (struct bl_pair){"RoleSessionName", name ? name : own_name};
    if (seconds)
        pair[count++] = (struct bl_pair){"DurationSeconds", seconds};
    return count;
}

/* --- roles -------------------------------------------------------------------------------------------------------- */

/* Finds the keys of another profile, which sign the request for those of a role. */
static int role_find_source_profile(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys,
                                    struct bl_error *e)
{
    const char *name = p->setting[BL_SOURCE_PROFILE];
    struct bl_profile source;
    bool is_lent;
    if (strcmp(name, p->name) == 0 && !p->is_environment && p->keys.access)
        return keys_copy(keys, &p->keys, e);
    for (int i = 0; i < s->depth; i++) {
        if (strcmp(s->chain[i], name) == 0)
            return bl_error_set(e, BL_EUSAGE, "source_profile leads from %s to itself", name);
    }
    if (s->depth == CHAIN_MAX)
        return bl_error_set(e, BL_EUSAGE, "more than %d profiles lead from one to the other", CHAIN_MAX);
    int code = bl_profile_read_named(&source, name, e);
    if (code) {
        bl_error_prefix(e, "source_profile");
        return code;
    }
    /* The source's own keys come before a role of its own. */
    code = source.keys.access ? keys_copy(keys, &source.keys, e) : search_profile(s, &source, keys, &is_lent, e);
    if (!code && !keys->access)
        code = bl_error_set(e, BL_EUSAGE, "the profile %s, which source_profile names, has no keys", name);
    bl_profile_free(&source);
    return code;
}

/* Finds the keys that sign the request for those of a role. */
static int role_find_source(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys, struct bl_error *e)
{
    const char *source = p->setting[BL_CREDENTIAL_SOURCE];
    int code;
    if (!source == !p->setting[BL_SOURCE_PROFILE])
        return bl_error_set(e, BL_EUSAGE, "role_arn with %s: one of them says whose keys assume the role",
                            source ? "both source_profile and credential_source"
                                   : "neither source_profile nor credential_source");
    if (!source)
        return role_find_source_profile(s, p, keys, e);
    if (strcmp(source, "Environment") == 0)
        code = bl_keys_read_environment(keys, e);
    else if (strcmp(source, "Ec2InstanceMetadata") == 0)
        code = bl_keys_ask_instance(keys, s->services, e);
    else if (strcmp(source, "EcsContainer") == 0)
        code = bl_keys_ask_container(keys, s->services, e);
    else
        return bl_error_set(
            e, BL_EUSAGE, "credential_source %s is none of Environment, Ec2InstanceMetadata and EcsContainer", source);
    if (!code && !keys->access)
        code = bl_error_set(e, BL_EUSAGE, "credential_source %s gives no keys", source);
    return code;
}

/* Assumes the role of the profile. */
static int role_assume(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys, struct bl_error *e)
{
    struct bl_pair pair[PAIRS_MAX];
    struct bl_keys signer = {0};
    char name[32];
    if (p->setting[BL_MFA_SERIAL])
        return bl_error_set(e, BL_EUSAGE,
                            "mfa_serial needs a code, which bload does not ask for: export the keys of the role first "
                            "(eval \"$(aws configure export-credentials --profile %s --format env)\")",
                            p->name);
    int code = role_find_source(s, p, &signer, e);
    size_t pairs = sts_begin(pair, "AssumeRole", p->setting[BL_ROLE_ARN], p->setting[BL_ROLE_SESSION_NAME],
                             p->setting[BL_DURATION_SECONDS], name);
    if (p->setting[BL_EXTERNAL_ID])
        pair[pairs++] = (struct bl_pair){"ExternalId", p->setting[BL_EXTERNAL_ID]};
    if (!code) {
        code = sts_ask(s, pair, pairs, &signer, keys, e);
        if (code)
            bl_error_prefix(e, "role_arn %s", p->setting[BL_ROLE_ARN]);
    }
    bl_keys_free(&signer);
    return code;
}

/* Assumes a role by the token of a file, which is read each time, as its writer renews it. *found: the profile, or the
 * environment for the chosen one, names such a file. */
static int web_identity_assume(const struct key_search *s, const struct bl_profile *p, struct bl_keys *keys,
                               bool *found, struct bl_error *e)
{
    static const struct {
        const char *variable;
        enum bl_setting setting;
    } names[] = {{"AWS_WEB_IDENTITY_TOKEN_FILE", BL_WEB_IDENTITY_TOKEN_FILE},
                 {"AWS_ROLE_ARN", BL_ROLE_ARN},
                 {"AWS_ROLE_SESSION_NAME", BL_ROLE_SESSION_NAME}};
    const char *text[3];
    struct bl_pair pair[PAIRS_MAX];
    struct bl_buffer token = {0};
    char name[32];
    for (size_t i = 0; i < 3; i++) {
        const char *own = s->depth == 1 ? bl_environment(names[i].variable) : NULL;
        text[i] = own ? own : p->setting[names[i].setting];
    }
    *found = text[0] != NULL;
    if (!*found)
        return BL_OK;
    if (!text[1])
        return bl_error_set(
            e, BL_EUSAGE, "the token of a web identity, %s, is for a role: AWS_ROLE_ARN or role_arn names it", text[0]);
    struct bl_error fault = {0};
    if (bl_io_read_file(text[0], FILE_SIZE_MAX, &token, &fault)) {
        bl_buffer_free(&token);
        return bl_error_set(e, BL_EUSAGE, "the token of a web identity: %s", fault.text);
    }
    const char *begin = token.data ? token.data : "";
    size_t size = token.size;
    bl_text_trim(&begin, &size, " \t\r\n");
    char *trimmed = strndup(begin, size);
    size_t pairs =
        sts_begin(pair, "AssumeRoleWithWebIdentity", text[1], text[2], p->setting[BL_DURATION_SECONDS], name);
    pair[pairs++] = (struct bl_pair){"WebIdentityToken", trimmed};
    int code = trimmed ? sts_ask(s, pair, pairs, NULL, keys, e) : bl_error_memory(e);
    if (code)
        bl_error_prefix(e, "the role %s by the token in %s", text[1], text[0]);
    if (trimmed)
        explicit_bzero(trimmed, size);
    free(trimmed);
    if (token.data)
        explicit_bzero(token.data, token.size);
    bl_buffer_free(&token);
    return code;
}

/* --- single sign-on ----------------------------------------------------------------------------------------------- */

/* A token of "aws sso login". */
struct sso_token {
    char *text;
    int64_t expires;
};

/* Takes the token of a file if it is for this URL, and valid for longer than the one that is known. A file that is no
 * such token is left out: the folder has others, too. */
static int sso_take_file(struct sso_token *token, const char *path, const char *start_url, struct bl_error *e)
{
    static const char *const names[] = {"startUrl", "accessToken", "expiresAt"};
    struct bl_json_key key[3];
    struct bl_json_value value[3], string[3];
    struct bl_json_fault fault;
    struct bl_buffer text = {0}, plain[3] = {0};
    bool exists;
    char expires[64] = "";
    int code = bl_io_read_existing(path, FILE_SIZE_MAX, &text, &exists, e);
    for (size_t i = 0; i < 3; i++)
        (void)bl_json_key_parse(&key[i], names[i], strlen(names[i]));
    bool good = !code && exists && text.size && bl_json_scan(text.data, text.size, key, 3, value, &fault);
    for (size_t i = 0; i < 3 && good; i++)
        good = bl_json_text(&value[i], &plain[i], &string[i]);
    if (good && string[0].size == strlen(start_url) && memcmp(string[0].text, start_url, string[0].size) == 0 &&
        string[2].size < sizeof expires) {
        memcpy(expires, string[2].text, string[2].size);
        int64_t end = bl_key_expiry(expires);
        if (end > token->expires) {
            free(token->text);
            *token = (struct sso_token){strndup(string[1].text, string[1].size), end};
            code = token->text ? BL_OK : bl_error_memory(e);
        }
    }
    if (text.data)
        explicit_bzero(text.data, text.size);
    bl_buffer_free(&text);
    for (size_t i = 0; i < 3; i++)
        bl_buffer_free(&plain[i]);
    return code;
}

/* Finds the token for this URL among the files of "aws sso login"; text stays NULL if there is none. */
static int sso_find_token(struct sso_token *token, const char *start_url, struct bl_error *e)
{
    const char *home = bl_environment("HOME");
    char *folder = home ? bl_path_join(home, ".aws/sso/cache") : NULL;
    DIR *files = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    int code = BL_OK;
    while (files && !code && (entry = readdir(files))) {
        if (!bl_path_has_suffix(entry->d_name, ".json"))
            continue;
        char *path = bl_path_join(folder, entry->d_name);
        code = path ? sso_take_file(token, path, start_url, e) : bl_error_memory(e);
        free(path);
    }
    if (files)
        closedir(files);
    free(folder);
    return code;
}

/* Asks for the keys of a role by a token. */
static int sso_ask(const struct key_search *s, const struct bl_profile *p, const char *token, struct bl_keys *keys,
                   struct bl_error *e)
{
    static const struct bl_key_names names = {"roleCredentials.accessKeyId", "roleCredentials.secretAccessKey",
                                              "roleCredentials.sessionToken", "roleCredentials.expiration"};
    const char *endpoint = bl_environment("AWS_ENDPOINT_URL_SSO"), *region = p->setting[BL_SSO_REGION];
    const struct bl_pair query[] = {{"account_id", p->setting[BL_SSO_ACCOUNT_ID]},
                                    {"role_name", p->setting[BL_SSO_ROLE_NAME]}};
    struct bl_buffer url = {0}, headers = {0}, answer = {0};
    int status = 0;
    if (endpoint)
        bl_buffer_printf(&url, "%s/federation/credentials?", endpoint);
    else
        bl_buffer_printf(&url, "https://portal.sso.%s.amazonaws.com%s/federation/credentials?", region,
                         strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    bl_buffer_printf(&headers, "x-amz-sso_bearer_token: %s", token);
    bl_buffer_byte(&headers, '\0');
    int code = bl_query_append(&url, query, 2, e);
    if (!code)
        code = bl_buffer_check(&headers, e);
    const struct bl_key_request request = {.method = "GET", .url = url.data, .headers = &headers};
    if (!code)
        code = s->services->ask(s->services->context, &request, &answer, &status, e);
    if (!code && status == 401)
        code =
            bl_error_set(e, BL_EUSAGE, "the session of single sign-on has ended: aws sso login --profile %s", p->name);
    else if (!code && status != 200)
        code = bl_error_set(e, status >= 500 ? BL_EFAIL : BL_EUSAGE,
                            "single sign-on gives no keys of the role %s of the account %s: it answers %d",
                            p->setting[BL_SSO_ROLE_NAME], p->setting[BL_SSO_ACCOUNT_ID], status);
    if (!code)
        code = bl_keys_parse(keys, &answer, &names, "single sign-on", e);
    if (headers.data)
        explicit_bzero(headers.data, headers.size);
    if (answer.data)
        explicit_bzero(answer.data, answer.size);
    bl_buffer_free(&url);
    bl_buffer_free(&headers);
    bl_buffer_free(&answer);
    return code;
}

/* Finds the keys of a profile of single sign-on. */
static int sso_find_keys(const struct key_search *s, const struct bl_profile *p, struct bl_keys *keys,
                         struct bl_error *e)
{
    static const struct {
        enum bl_setting setting;
        const char *name;
    } needed[] = {{BL_SSO_START_URL, "sso_start_url"},
                  {BL_SSO_REGION, "sso_region"},
                  {BL_SSO_ACCOUNT_ID, "sso_account_id"},
                  {BL_SSO_ROLE_NAME, "sso_role_name"}};
    struct sso_token token = {0};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!p->setting[needed[i].setting])
            return bl_error_set(e, BL_EUSAGE,
                                "single sign-on needs %s, which neither the profile nor its sso-session has",
                                needed[i].name);
    }
    if (!bl_region_is_proper(p->setting[BL_SSO_REGION]))
        return bl_error_set(e, BL_EUSAGE, "sso_region %s is no name of a region", p->setting[BL_SSO_REGION]);
    int code = sso_find_token(&token, p->setting[BL_SSO_START_URL], e);
    const struct bl_keys check = {.token = token.text};
    if (!code && (!token.text || token.expires <= (int64_t)time(NULL)))
        code =
            bl_error_set(e, BL_EUSAGE,
                         "there is no session of single sign-on, or it has ended: aws sso login --profile %s", p->name);
    if (!code)
        code = bl_keys_check(&check, "the token of single sign-on", e);
    if (!code)
        code = sso_ask(s, p, token.text, keys, e);
    free(token.text);
    return code;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* Finds keys by the first setting of the profile that says where they are. */
static int profile_find_keys(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys, bool *is_lent,
                             struct bl_error *e)
{
    bool found;
    *is_lent = true;
    if (p->setting[BL_ROLE_ARN] && !p->setting[BL_WEB_IDENTITY_TOKEN_FILE])
        return role_assume(s, p, keys, e);
    int code = web_identity_assume(s, p, keys, &found, e);
    if (code || found)
        return code;
    if (p->setting[BL_SSO_SESSION] || p->setting[BL_SSO_START_URL])
        return sso_find_keys(s, p, keys, e);
    if (p->keys.access) {
        *is_lent = false;
        return keys_copy(keys, &p->keys, e);
    }
    return p->setting[BL_CREDENTIAL_PROCESS]
               ? bl_keys_run_program(keys, p->setting[BL_CREDENTIAL_PROCESS], "credential_process", e)
               : BL_OK;
}

/* Finds the keys of a profile, and names it in messages. */
static int search_profile(struct key_search *s, const struct bl_profile *p, struct bl_keys *keys, bool *is_lent,
                          struct bl_error *e)
{
    s->chain[s->depth++] = p->name;
    int code = profile_find_keys(s, p, keys, is_lent, e);
    s->depth--;
    /* A web identity of the environment belongs to no profile, and its messages name its file. */
    bool is_own = s->depth || !bl_environment("AWS_WEB_IDENTITY_TOKEN_FILE") ||
                  (p->setting[BL_ROLE_ARN] && !p->setting[BL_WEB_IDENTITY_TOKEN_FILE]);
    if (code && is_own)
        bl_error_prefix(e, "the profile %s", p->name);
    return code;
}

int bl_keys_find(struct bl_keys *keys, bool *is_lent, const struct bl_profile *profile,
                 const struct bl_key_services *services, struct bl_error *e)
{
    struct key_search search = {.services = services, .chosen = profile};
    *keys = (struct bl_keys){0};
    *is_lent = false;
    if (profile->is_environment)
        return keys_copy(keys, &profile->keys, e);
    int code = search_profile(&search, profile, keys, is_lent, e);
    if (!code && !keys->access)
        code = bl_keys_ask_container(keys, services, e);
    if (!code && !keys->access)
        code = bl_keys_ask_instance(keys, services, e);
    if (code)
        bl_keys_free(keys);
    return code;
}
