#include "remote/key_sources.h"
#include "unit.h"

static const char *const variables[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_PROFILE",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_S3",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_ROLE_SESSION_NAME",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_CONFIG_FILE",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                        "AWS_EC2_METADATA_DISABLED",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                        "GS_ACCESS_KEY_ID",
                                        "GS_SECRET_ACCESS_KEY",
                                        "HF_TOKEN",
                                        "HF_HOME",
                                        "HF_TOKEN_PATH"};

/* Each test begins in an empty home folder, without variables. */
static void home_enter(void)
{
    unit_scratch_enter();
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", unit_scratch, 1);
    ck_assert_int_eq(system("mkdir -p .aws .cache/huggingface"), 0);
}

UNIT_EACH(home_enter, unit_scratch_leave)

static void write_profiles(void)
{
    unit_write_text(".aws/credentials", "# keys\n[default]\naws_access_key_id = AKDEFAULT\r\n"
                                        "aws_secret_access_key=sec/ret+=\n\n[other]\n  aws_access_key_id = nested\n"
                                        "aws_access_key_id\t=\tAKOTHER # mine\naws_secret_access_key = s2\n"
                                        "aws_session_token = to==\n");
    unit_write_text(".aws/config", "[default]\nregion = eu-west-1\ns3 =\n  region = wrong\n[profile other]\n"
                                   "region=us-west-2\nendpoint_url = http://127.0.0.1:9000\n[other]\nregion = wrong\n"
                                   "[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n");
}

static void check_text(const char *found, const char *expected)
{
    ck_assert_msg(!found == !expected && (!found || strcmp(found, expected) == 0), "%s instead of %s", found, expected);
}

static const struct {
    const char *named;        /* $AWS_PROFILE */
    const char *variables[6]; /* "NAME=VALUE" */
    const char *access, *secret, *token, *region, *endpoint, *role;
} profiles[] = {
    {NULL, {0}, "AKDEFAULT", "sec/ret+=", NULL, "eu-west-1", NULL, NULL},
    {"other", {0}, "AKOTHER", "s2", "to==", "us-west-2", "http://127.0.0.1:9000", NULL},
    {NULL, {"AWS_PROFILE=other"}, "AKOTHER", "s2", "to==", "us-west-2", "http://127.0.0.1:9000", NULL},
    {NULL, {"AWS_ACCESS_KEY_ID=AKENV", "AWS_SECRET_ACCESS_KEY=s3"}, "AKENV", "s3", NULL, "eu-west-1", NULL, NULL},
    {NULL,
     {"AWS_ACCESS_KEY_ID=AKENV", "AWS_SECRET_ACCESS_KEY=s3", "AWS_SESSION_TOKEN=t3", "AWS_PROFILE=other"},
     "AKENV",
     "s3",
     "t3",
     "us-west-2",
     "http://127.0.0.1:9000",
     NULL},
    {NULL, {"AWS_REGION=ap-1", "AWS_DEFAULT_REGION=ap-2"}, "AKDEFAULT", "sec/ret+=", NULL, "ap-1", NULL, NULL},
    {NULL,
     {"AWS_DEFAULT_REGION=ap-2", "AWS_ENDPOINT_URL=https://e"},
     "AKDEFAULT",
     "sec/ret+=",
     NULL,
     "ap-2",
     "https://e",
     NULL},
    {"other",
     {"AWS_ENDPOINT_URL=https://e", "AWS_ENDPOINT_URL_S3=https://s3"},
     "AKOTHER",
     "s2",
     "to==",
     "us-west-2",
     "https://s3",
     NULL},
    {"role", {0}, NULL, NULL, NULL, NULL, NULL, "arn:aws:iam::1:role/x"},
    {NULL, {"AWS_SHARED_CREDENTIALS_FILE=none"}, NULL, NULL, NULL, "eu-west-1", NULL, NULL},
    {NULL, {"HOME="}, NULL, NULL, NULL, NULL, NULL, NULL},
};

UNIT_LOOP(profiles_are_read, COUNT(profiles))
{
    OWNED(bl_profile_free) struct bl_profile profile;
    write_profiles();
    if (profiles[_i].named)
        setenv("AWS_PROFILE", profiles[_i].named, 1);
    for (size_t i = 0; i < 6 && profiles[_i].variables[i]; i++)
        ck_assert_int_eq(putenv((char *)profiles[_i].variables[i]), 0);
    ck_assert_msg(bl_profile_read(&profile, &e) == BL_OK, "%s", e.text);
    check_text(profile.keys.access, profiles[_i].access);
    check_text(profile.keys.secret, profiles[_i].secret);
    check_text(profile.keys.token, profiles[_i].token);
    check_text(profile.region, profiles[_i].region);
    check_text(profile.endpoint, profiles[_i].endpoint);
    check_text(profile.setting[BL_ROLE_ARN], profiles[_i].role);
}

UNIT_TEST(faults_of_profiles_are_named)
{
    struct bl_profile profile;
    write_profiles();
    setenv("AWS_PROFILE", "absent", 1);
    FAILS_WITH(bl_profile_read(&profile, &e), BL_EUSAGE, "has a profile absent");
    unsetenv("AWS_PROFILE");
    setenv("AWS_ACCESS_KEY_ID", "AK", 1);
    FAILS_WITH(bl_profile_read(&profile, &e), BL_EUSAGE, "the id of an access key without the other half");
    setenv("AWS_SECRET_ACCESS_KEY", "a\nX-Evil: 1", 1);
    FAILS_WITH(bl_profile_read(&profile, &e), BL_EUSAGE, "has a character that none has");
    ck_assert_ptr_null(strstr(e.text, "Evil"));
    unsetenv("AWS_ACCESS_KEY_ID");
    FAILS_WITH(bl_profile_read(&profile, &e), BL_EUSAGE, "a secret access key without the other half");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unit_write_text(".aws/credentials", "[default]\naws_secret_access_key = x\n");
    FAILS_WITH(bl_profile_read(&profile, &e), BL_EUSAGE, ".aws/credentials: there is a secret access key");
}

UNIT_TEST(google_has_keys_of_its_own)
{
    OWNED(bl_keys_free) struct bl_keys keys;
    ck_assert_int_eq(bl_profile_read_google(&keys, &e), BL_OK);
    ck_assert_ptr_null(keys.access);
    setenv("GS_ACCESS_KEY_ID", "GOOG1", 1);
    FAILS_WITH(bl_profile_read_google(&keys, &e), BL_EUSAGE, "GS_ACCESS_KEY_ID");
    bl_keys_free(&keys);
    setenv("GS_SECRET_ACCESS_KEY", "s", 1);
    ck_assert_int_eq(bl_profile_read_google(&keys, &e), BL_OK);
    ck_assert_str_eq(keys.secret, "s");
}

/* --- services of the machine --- */

#define ANSWER                                                                                                         \
    "{\"Code\": \"Success\", \"AccessKeyId\": \"AKROLE\", \"SecretAccessKey\": \"rs\", \"Token\": \"rt\", "            \
    "\"Expiration\": \"2026-11-29T10:00:00Z\"}"

/* What a service answers, and what it was asked. */
struct service {
    const char *answer[3][2]; /* the end of a URL, and its answer; NULL: 404 */
    struct bl_buffer asked;   /* "METHOD URL HEADER\n" */
};

static int service_ask_fake(void *context, const struct bl_key_request *request, struct bl_buffer *out, int *status,
                            struct bl_error *e)
{
    struct service *service = context;
    (void)e;
    *status = 404;
    ck_assert(request->is_local && !request->form);
    bl_buffer_printf(&service->asked, "%s %s %s\n", request->method, request->url,
                     request->headers->size ? request->headers->data : "-");
    for (size_t i = 0; i < 3 && service->answer[i][0]; i++) {
        size_t size = strlen(service->answer[i][0]), whole = strlen(request->url);
        if (*status == 200 || size > whole || strcmp(request->url + whole - size, service->answer[i][0]) != 0)
            continue;
        *status = service->answer[i][1] ? 200 : 404;
        bl_buffer_text(out, service->answer[i][1] ? service->answer[i][1] : "");
    }
    return BL_OK;
}

/* Finds the keys of the machine. */
static int machine_keys(struct bl_keys *keys, struct service *service, struct bl_error *fault)
{
    const struct bl_key_services services = {service_ask_fake, service, NULL};
    BL_TRY(bl_keys_ask_container(keys, &services, fault));
    return keys->access ? BL_OK : bl_keys_ask_instance(keys, &services, fault);
}

UNIT_TEST(an_instance_gives_keys)
{
    struct service service = {.answer = {{"/api/token", "tok"},
                                         {"/security-credentials/", "my-role\n"},
                                         {"/security-credentials/my-role", ANSWER}}};
    OWNED(bl_keys_free) struct bl_keys keys;
    ck_assert_int_eq(machine_keys(&keys, &service, &e), BL_OK);
    ck_assert_str_eq(keys.access, "AKROLE");
    ck_assert_str_eq(keys.token, "rt");
    ck_assert_int_eq(keys.expires, 1795946400);
    ck_assert_str_eq(service.asked.data,
                     "PUT http://169.254.169.254/latest/api/token X-aws-ec2-metadata-token-ttl-seconds: 21600\n"
                     "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/ "
                     "X-aws-ec2-metadata-token: tok\n"
                     "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/my-role "
                     "X-aws-ec2-metadata-token: tok\n");
    bl_buffer_free(&service.asked);
}

UNIT_TEST(a_container_gives_keys)
{
    struct service service = {.answer = {{"/creds", ANSWER}}};
    OWNED(bl_keys_free) struct bl_keys keys = {0};
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/creds", 1);
    ck_assert_int_eq(machine_keys(&keys, &service, &e), BL_OK);
    ck_assert_str_eq(keys.secret, "rs");
    ck_assert_str_eq(service.asked.data, "GET http://169.254.170.2/creds -\n");
    unsetenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/creds", 1);
    unit_write_text("token", "secret-token\n");
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", 1);
    bl_buffer_clear(&service.asked);
    bl_keys_free(&keys);
    ck_assert_int_eq(machine_keys(&keys, &service, &e), BL_OK);
    ck_assert_str_eq(service.asked.data, "GET http://169.254.170.23/v1/creds Authorization: secret-token\n");
    bl_buffer_clear(&service.asked);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/creds", 1);
    bl_keys_free(&keys);
    FAILS_WITH(machine_keys(&keys, &service, &e), BL_EUSAGE, "no https:// URL");
    ck_assert_int_eq((int)service.asked.size, 0);
    bl_buffer_free(&service.asked);
}

UNIT_TEST(without_a_service_there_are_no_keys)
{
    struct service none = {0}, roleless = {.answer = {{"/api/token", "t"}, {"/security-credentials/", ""}}},
                   odd = {
                       .answer = {{"/api/token", "t"}, {"/security-credentials/", "r"}, {"/r", "{\"Code\": \"x\"}"}}};
    OWNED(bl_keys_free) struct bl_keys keys;
    ck_assert_int_eq(machine_keys(&keys, &none, &e), BL_OK);
    ck_assert_ptr_null(keys.access);
    ck_assert_int_eq(machine_keys(&keys, &roleless, &e), BL_OK);
    ck_assert_ptr_null(keys.access);
    FAILS_WITH(machine_keys(&keys, &odd, &e), BL_EFAIL, "the answer has no credentials");
    bl_buffer_clear(&none.asked);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    ck_assert_int_eq(machine_keys(&keys, &none, &e), BL_OK);
    ck_assert_int_eq((int)none.asked.size, 0);
    bl_buffer_free(&none.asked);
    bl_buffer_free(&roleless.asked);
    bl_buffer_free(&odd.asked);
}

static const struct {
    const char *text;
    int64_t seconds;
} expiries[] = {{"2026-11-29T10:00:00Z", 1795946400},
                {"2026-11-29T10:00:00UTC", 1795946400},
                {"2026-11-29T10:00:00.123Z", 1795946400},
                {"2026-11-29T10:00:00+00:00", 1795946400},
                {"2026-11-29T10:00:00.5+02:30", 1795946400 - 9000},
                {"2026-11-29T10:00:00-01:00", 1795946400 + 3600},
                {"1795946400000", 1795946400},
                {"soon", 0},
                {"", 0}};

UNIT_LOOP(times_of_expiry_are_parsed, COUNT(expiries))
{
    ck_assert_int_eq(bl_key_expiry(expiries[_i].text), expiries[_i].seconds);
}

UNIT_TEST(sections_of_single_sign_on_are_read)
{
    OWNED(bl_profile_free) struct bl_profile profile;
    unit_write_text(".aws/config", "[sso-session corp]\nsso_start_url = https://x/start # mine\nsso_region=eu-west-1\n"
                                   "[profile corp]\nsso_session = corp\nsso_role_name = r\n"
                                   "[sso-session corpo]\nsso_region = wrong\n[corp]\nsso_region = wrong\n");
    setenv("AWS_PROFILE", "corp", 1);
    ck_assert_msg(bl_profile_read(&profile, &e) == BL_OK, "%s", e.text);
    check_text(profile.setting[BL_SSO_START_URL], "https://x/start");
    check_text(profile.setting[BL_SSO_REGION], "eu-west-1");
    check_text(profile.setting[BL_SSO_ROLE_NAME], "r");
    check_text(profile.setting[BL_ROLE_ARN], NULL);
}

/* --- Hugging Face Hub --- */

UNIT_TEST(tokens_of_the_hub_are_found)
{
    char *token = NULL;
    ck_assert_int_eq(bl_hub_token(&token, &e), BL_OK);
    ck_assert_ptr_null(token);
    unit_write_text(".cache/huggingface/token", "hf_file\n");
    ck_assert_int_eq(bl_hub_token(&token, &e), BL_OK);
    ck_assert_str_eq(token, "hf_file");
    free(token);
    setenv("HF_HOME", ".", 1);
    unit_write_text("token", "hf_home");
    ck_assert_int_eq(bl_hub_token(&token, &e), BL_OK);
    ck_assert_str_eq(token, "hf_home");
    free(token);
    setenv("HF_TOKEN", " hf_env ", 1);
    ck_assert_int_eq(bl_hub_token(&token, &e), BL_OK);
    ck_assert_str_eq(token, "hf_env");
    free(token);
    setenv("HF_TOKEN", "a\nX: y", 1);
    FAILS_WITH(bl_hub_token(&token, &e), BL_EUSAGE, "HF_TOKEN: the token");
    ck_assert_ptr_null(token);
}
