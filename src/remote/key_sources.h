/* Keys of S3 by the settings of a profile: its own, those of a role that it assumes, of a program, of single sign-on,
 * or of the machine. */
#ifndef BL_KEY_SOURCES_H
#define BL_KEY_SOURCES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "remote/credentials.h"
#include "remote/curl_library.h"
#include "remote/sign.h"

/* A request to a service that gives keys. */
struct bl_key_request {
    const char *method, *url;
    const struct bl_buffer *headers; /* lines, each with a NUL after it; or NULL */
    const char *form;                /* the body of a POST; or NULL */
    bool is_local;                   /* a service of this machine, which answers soon, or does not exist */
};

/* Makes a request, and appends the body of the answer to out, whatever its status is. *status: of HTTP; 0: a local
 * service did not answer. BL_EUSAGE, BL_EFAIL: another service cannot be reached, or not safely. */
typedef int bl_key_ask(void *context, const struct bl_key_request *request, struct bl_buffer *out, int *status,
                       struct bl_error *e);

/* What asks, and what signs requests. */
struct bl_key_services {
    bl_key_ask *ask;
    void *context;
    const struct bl_curl *curl;
};

/* Finds the keys of the profile, in the order of AWS's own tools: those of the environment; of a role that the profile
 * assumes; of a role by a web identity; of single sign-on; of the profile; of its program; of the container; of the
 * instance. keys stay empty if there are none. *is_lent: other keys can be had when these end. BL_EUSAGE: a setting is
 * wrong, or a service refuses what it asks for; the message names the profile or the file. */
int bl_keys_find(struct bl_keys *keys, bool *is_lent, const struct bl_profile *profile,
                 const struct bl_key_services *services, struct bl_error *e);

/* --- for key_sources.c -------------------------------------------------------------------------------------------- */

/* The names that an answer of JSON has for the texts of keys, and for their end. */
struct bl_key_names {
    const char *access, *secret, *token, *expires;
};

/* Parses an answer of JSON. what: names its source. BL_EFAIL: it has no keys. */
int bl_keys_parse(struct bl_keys *keys, const struct bl_buffer *answer, const struct bl_key_names *names,
                  const char *what, struct bl_error *e);

/* Seconds since 1970 of "2026-11-29T10:00:00Z", or of a number of milliseconds; 0: it is neither. */
int64_t bl_key_expiry(const char *text);

/* Ask the service of the container, whose address is in the environment, or that of the instance of EC2 (IMDSv2). keys
 * stay empty if there is none. BL_EUSAGE, BL_EFAIL: the container's service does not answer as it should. */
int bl_keys_ask_container(struct bl_keys *keys, const struct bl_key_services *services, struct bl_error *e);
int bl_keys_ask_instance(struct bl_keys *keys, const struct bl_key_services *services, struct bl_error *e);

/* Runs a command of the shell that prints keys as AWS's credential_process does. what: names the setting. BL_EUSAGE: it
 * fails, or prints none. */
int bl_keys_run_program(struct bl_keys *keys, const char *command, const char *what, struct bl_error *e);

#endif
