/* The part of bload pack that bload plan and bload slurm use, which read the same YAML file. */
#ifndef BL_CMD_PACK_H
#define BL_CMD_PACK_H

#include "cmd/cmd.h"
#include "plan/options.h"
#include "run/options.h"

/* Checks the options that do not depend on the inputs. BL_EUSAGE. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options);

/* Makes --store the strategy, and sets T of a store that was not given to BL_T_AUTO. BL_EUSAGE: other options
 * contradict a store. */
int bl_pack_resolve_store(struct bl_cmd *cmd, const struct bl_pack_options *options, struct bl_plan_options *plan);

#endif
