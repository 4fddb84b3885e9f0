/* Settings of AWS's and the Hub's tools, from where these find them: keys, region, endpoint, token. */
#ifndef BL_CREDENTIALS_H
#define BL_CREDENTIALS_H

#include <stdbool.h>

#include "base/error.h"
#include "remote/sign.h"

/* Settings of a profile that say where keys come from. */
enum bl_setting {
    BL_ROLE_ARN,
    BL_SOURCE_PROFILE,
    BL_CREDENTIAL_SOURCE,
    BL_ROLE_SESSION_NAME,
    BL_EXTERNAL_ID,
    BL_DURATION_SECONDS,
    BL_MFA_SERIAL,
    BL_WEB_IDENTITY_TOKEN_FILE,
    BL_CREDENTIAL_PROCESS,
    BL_SSO_SESSION,
    BL_SSO_START_URL,
    BL_SSO_REGION,
    BL_SSO_ACCOUNT_ID,
    BL_SSO_ROLE_NAME,
    BL_SETTINGS
};

/* The settings of the environment and of the files of a profile. Texts that are not set are NULL. */
struct bl_profile {
    char *name;
    struct bl_keys keys; /* empty: none were found */
    bool is_environment; /* the keys are those of the environment, and not of the files */
    char *region, *endpoint;
    char *sts_endpoint; /* of the service that gives keys of roles */
    char *setting[BL_SETTINGS];
};

/* Reads the environment, and the profile $AWS_PROFILE, or "default", of ~/.aws/credentials and ~/.aws/config.
 * BL_EUSAGE: a profile that was named does not exist, or a half of the keys is missing. Free with bl_profile_free. */
int bl_profile_read(struct bl_profile *profile, struct bl_error *e);

/* Reads a profile of the files alone. Errors as above. */
int bl_profile_read_named(struct bl_profile *profile, const char *name, struct bl_error *e);

void bl_profile_free(struct bl_profile *profile);

/* Sets the keys of the environment, if it has them. */
int bl_keys_read_environment(struct bl_keys *keys, struct bl_error *e);

/* Sets the HMAC keys of Google's store, if the environment has them. */
int bl_profile_read_google(struct bl_keys *keys, struct bl_error *e);

/* Refuses a half of the keys, and characters that no key has: keys become headers, and a line end in one would begin
 * another header. what: names the source. */
int bl_keys_check(const struct bl_keys *keys, const char *what, struct bl_error *e);

/* Whether a name can be that of a region: it becomes part of a host's name. */
bool bl_region_is_proper(const char *region);

/* A variable of the environment that is set, and not empty, or NULL. */
const char *bl_environment(const char *name);

/* Sets the token for the Hugging Face Hub: $HF_TOKEN, or that of its files; NULL: there is none. The caller frees it.
 */
int bl_hub_token(char **token, struct bl_error *e);

#endif
