/* Writes and reads the text of a claim. */
#include "remote/claim.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"

static const char *const claim_states[] = {"held", "free", "done"};

#define CLAIM_STATES (sizeof claim_states / sizeof *claim_states)

int bl_claim_init(struct bl_claim *claim, enum bl_claim_state state, int64_t lease, struct bl_error *e)
{
    *claim = (struct bl_claim){.state = state, .process = getpid(), .lease = lease};
    if (gethostname(claim->host, sizeof claim->host - 1) != 0 || !*claim->host)
        snprintf(claim->host, sizeof claim->host, "unknown");
    for (char *c = claim->host; *c; c++)
        *c = *c > ' ' && *c <= '~' ? *c : '?';
    if (getrandom(claim->random, sizeof claim->random, 0) != sizeof claim->random)
        return bl_error_errno(e, BL_EFAIL, "random bytes");
    return BL_OK;
}

void bl_claim_format(const struct bl_claim *claim, struct bl_buffer *out)
{
    size_t begin = out->size;
    bl_buffer_printf(
        out, "claim: %s\nhost: %s\nprocess: %" PRId64 "\nlease: %" PRId64 "\nrandom: %016" PRIx64 "%016" PRIx64 "\n",
        claim_states[claim->state], claim->host, claim->process, claim->lease, claim->random[0], claim->random[1]);
    if (claim->state != BL_CLAIM_DONE)
        return;
    bl_buffer_text(out, "filler: ");
    while (!out->failed && out->size - begin < BL_CLAIM_DONE_BYTES - 1)
        bl_buffer_byte(out, '.');
    bl_buffer_byte(out, '\n');
}

/* Sets the state. */
static bool claim_parse_state(struct bl_claim *claim, const char *value, size_t size)
{
    for (size_t i = 0; i < CLAIM_STATES; i++) {
        if (strlen(claim_states[i]) == size && memcmp(claim_states[i], value, size) == 0) {
            claim->state = (enum bl_claim_state)i;
            return true;
        }
    }
    return false;
}

/* Sets the host. */
static bool claim_parse_host(struct bl_claim *claim, const char *value, size_t size)
{
    if (!size || size >= sizeof claim->host)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (value[i] <= ' ' || value[i] > '~')
            return false;
    }
    memcpy(claim->host, value, size);
    claim->host[size] = '\0';
    return true;
}

/* Sets the member with this name. False: its value is none. */
static bool claim_parse_line(struct bl_claim *claim, int name, const char *value, size_t size)
{
    switch (name) {
    case 0:
        return claim_parse_state(claim, value, size);
    case 1:
        return claim_parse_host(claim, value, size);
    case 2:
        return bl_text_to_int(value, size, 1, INT64_MAX, &claim->process);
    default:
        return bl_text_to_int(value, size, 1, BL_LEASE_MAX, &claim->lease);
    }
}

int bl_claim_parse(struct bl_claim *claim, const char *text, size_t size, struct bl_error *e)
{
    static const char *const names[] = {"claim: ", "host: ", "process: ", "lease: "};
    const char *line;
    size_t at = 0, line_size;
    unsigned good = 0;
    *claim = (struct bl_claim){0};
    while (bl_text_next_line(text, size, &at, &line, &line_size)) {
        for (int i = 0; i < 4; i++) {
            size_t name_size = strlen(names[i]);
            if (line_size >= name_size && memcmp(line, names[i], name_size) == 0 &&
                claim_parse_line(claim, i, line + name_size, line_size - name_size))
                good |= 1U << i;
        }
    }
    return good == 15 ? BL_OK : bl_error_set(e, BL_EFAIL, "it is no claim of bload");
}
