#include "scan/progress.h"

void bl_scan_progress_count(struct bl_scan_progress *found, const struct bl_kind *kind, const struct bl_row *row)
{
    bool ok = row->status == BL_ROW_OK;
    found->rows++;
    found->steps += ok ? row->length : 0;
    found->skipped += row->status == BL_ROW_SKIPPED;
    found->excluded += row->status == BL_ROW_DROPPED;
    found->empty += bl_row_is_empty(row);
    found->damaged += ok && *row->reason;
    found->adjusted += ok && bl_row_is_adjusted(row);
    if (ok && kind)
        bl_kind_add_totals(kind, row, false, &found->totals);
}

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
    for (int t = 0; t < BL_TOTALS_MAX; t++) {
        all->totals.sum[t] += some->totals.sum[t];
        all->totals.rows[t] += some->totals.rows[t];
    }
}
