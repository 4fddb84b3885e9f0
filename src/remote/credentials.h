/* Credentials, region and endpoint of S3, from where other tools find them. */
#ifndef BL_CREDENTIALS_H
#define BL_CREDENTIALS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "remote/sign.h"

/* The settings of the environment and of the files of a profile. */
struct bl_profile {
    struct bl_keys keys; /* empty: none were found */
    char *region;        /* or NULL */
    char *endpoint;      /* or NULL */
    char *unsupported;   /* a setting that says where keys are, and is not supported: "role_arn"; or NULL */
};

/* Reads the environment, and the profile $AWS_PROFILE, or "default", of ~/.aws/credentials and ~/.aws/config.
 * BL_EUSAGE: a profile that was named does not exist, or a half of the keys is missing. Free with bl_profile_free. */
int bl_profile_read(struct bl_profile *profile, struct bl_error *e);

/* Sets the HMAC keys of Google's store, if the environment has them. */
int bl_profile_read_google(struct bl_keys *keys, struct bl_error *e);

void bl_profile_free(struct bl_profile *profile);

/* Requests a URL of the machine's own services, with a header or NULL, and appends what it answers to out. *found:
 * there is such a service, and it has answered with 200. */
typedef int bl_metadata_get(void *context, const char *method, const char *url, const char *header,
                            struct bl_buffer *out, bool *found, struct bl_error *e);

/* Asks the service of the container, or that of the instance of EC2 (IMDSv2), for keys. keys stay empty if there is
 * neither. */
int bl_metadata_keys(struct bl_keys *keys, bl_metadata_get *get, void *context, struct bl_error *e);

/* Sets the token for the Hugging Face Hub: $HF_TOKEN, or that of its files; NULL: there is none. The caller frees it.
 */
int bl_hub_token(char **token, struct bl_error *e);

#endif
