/* The temporary folder of a dry run. It holds what a run keeps in DIR/.bload, and shards that are written to find out
 * how large encoded ones get, so that nothing is written where the dataset will be. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packing/internal.h"

#define DESCRIPTORS 16 /* of the walk that removes it */

static int scratch_make(struct bl_packing *p, struct bl_error *e)
{
    const char *dir = getenv("TMPDIR");
    struct bl_buffer path = {0};
    if (p->request.spool && access(p->request.spool, F_OK) == 0)
        dir = p->request.spool;
    bl_buffer_printf(&path, "%s/bload-dry-run-XXXXXX", dir && *dir ? dir : "/tmp");
    int code = bl_buffer_check(&path, e);
    if (!code && !mkdtemp(path.data))
        code = bl_error_errno(e, BL_EFAIL, "cannot make a temporary folder like %s (TMPDIR: another place)", path.data);
    if (code)
        bl_buffer_free(&path);
    p->scratch = path.data;
    return code;
}

int bl_packing_enter_scratch(struct bl_packing *p, struct bl_error *e)
{
    int code = bl_state_examine(p->request.output, p->identity.data, &p->begun, e);
    if (!code)
        code = scratch_make(p, e);
    return code ? code : bl_state_open(&p->state, p->scratch, p->identity.data, e);
}

static int scratch_remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void bl_packing_leave_scratch(struct bl_packing *p)
{
    if (p->scratch && nftw(p->scratch, scratch_remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 &&
        errno != ENOENT)
        bl_packing_message(p, true, "cannot remove the temporary folder %s: %s", p->scratch, strerror(errno));
    free(p->scratch);
    p->scratch = NULL;
}
