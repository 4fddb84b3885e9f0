/* The part of bload pack that bload slurm uses, which reads the same YAML file. */
#ifndef BL_CMD_PACK_H
#define BL_CMD_PACK_H

#include "cmd/cmd.h"
#include "run/options.h"

/* Checks the options that do not depend on the inputs. BL_EUSAGE. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options);

#endif
