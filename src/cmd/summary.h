/* What a person is told of a plan. */
#ifndef BL_SUMMARY_H
#define BL_SUMMARY_H

#include "plan/plan.h"

/* A few lines on stderr: blocks, bound and gap, padding and what naive padding would cost, what was deleted and cut. */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_options *options);

#endif
