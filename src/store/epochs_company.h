/* Company over the epochs of a dataset: how much of it is met again between the stored plan and those of its epochs. */
#ifndef BL_EPOCHS_COMPANY_H
#define BL_EPOCHS_COMPANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/company.h"
#include "store/manifest.h"

#define BL_EPOCHS_EACH_PAIR 20 /* epochs; if there are more, not every pair of plans is compared */

struct bl_epochs_company {
    int64_t epochs; /* with a plan of their own; 0: nothing is measured */
    bool each_pair; /* all pairs of plans are compared; else each with the next one and with the stored one */
    struct bl_company highest; /* of two plans: how many pairs of the later one were met in the earlier one; the
                                  two for which this share is highest */
    int64_t plan[2];           /* those two, by epochs, the earlier one first; 0: the stored plan */
};

/* Reads the plans, two at a time. count: rows of sequences.tsv. BL_EDATA: a plan is invalid. BL_EFAIL: one cannot be
 * read, or out of memory. */
int bl_epochs_company_measure(struct bl_epochs_company *company, const struct bl_manifest *manifest, const char *dir,
                              size_t count, struct bl_error *e);

#endif
