/* What bload slurm has in common with bload pack, whose YAML file it reads. */
#ifndef BL_CMD_PACK_H
#define BL_CMD_PACK_H

#include "cmd/cmd.h"
#include "run/options.h"

/* Whether the options that do not depend on the inputs agree, and -T is given. BL_EUSAGE. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options);

#endif
