#include "scan/progress.h"

void bl_scan_progress_add(struct bl_scan_progress *all, const struct bl_scan_progress *some)
{
    all->rows += some->rows;
    all->steps += some->steps;
    all->skipped += some->skipped;
    all->damaged += some->damaged;
    all->adjusted += some->adjusted;
    all->empty += some->empty;
    all->excluded += some->excluded;
    all->suppressed += some->suppressed;
    for (int t = 0; t < BL_TOTALS_MAX; t++)
        all->totals.sum[t] += some->totals.sum[t];
}
