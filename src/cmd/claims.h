/* Tasks that take pieces of work from a store (--task auto/N with a URL as output): a process for each piece. */
#ifndef BL_CMD_CLAIMS_H
#define BL_CMD_CLAIMS_H

#include "cmd/output.h"

struct bl_claiming {
    const char *stage;   /* "scan" or "pack": the command, and the name of its claims */
    const char *url;     /* of the dataset */
    const char *scratch; /* the folder of the scratch, or NULL */
    int64_t pieces;      /* N */
    int64_t lease;       /* seconds */
    char **argv;         /* the command line, whose word auto/N is replaced for each piece; ended by NULL */
    struct bl_cmd_remote *remote;
};

/* Claims pieces and runs this command for each, until all are done or one fails. Waits for those that other processes
 * hold, and takes over those whose holders are silent for a lease. *partial: a piece ended with status 3. Errors as
 * those of bl_claims_next; BL_EUSAGE and BL_EFAIL also as the piece that failed; BL_ECANCEL after a signal, which the
 * piece got, too. */
int bl_cmd_run_claimed(struct bl_cmd *cmd, const struct bl_claiming *claiming, bool *partial);

#endif
