#include "packing/fault_counts.h"

#include "base/text.h"
#include "kind/row.h"

struct bl_fault_counts bl_fault_counts_of(const struct bl_sequences *table)
{
    return (struct bl_fault_counts){.skipped = table->by_status[BL_ROW_SKIPPED],
                                    .failed = table->by_status[BL_ROW_FAILED],
                                    .damaged = table->damaged};
}

/* Only the first count has the noun. */
static void fault_count_append(struct bl_buffer *out, bool *first, int64_t count, const char *what)
{
    char number[BL_PLURAL_SIZE];
    if (!count)
        return;
    bl_buffer_printf(out, "%s%s %s", *first ? "" : ", ",
                     *first ? bl_text_plural(number, count, "input") : bl_text_count(number, count), what);
    *first = false;
}

void bl_fault_counts_append(struct bl_buffer *out, const struct bl_fault_counts *counts)
{
    char steps[BL_PLURAL_SIZE];
    bool first = true;
    fault_count_append(out, &first, counts->skipped, "skipped");
    fault_count_append(out, &first, counts->failed, "failed");
    if (counts->failed && counts->failed_steps)
        bl_buffer_printf(out, " (%s)", bl_text_plural(steps, counts->failed_steps, "step is zeros|steps are zeros"));
    fault_count_append(out, &first, counts->damaged, "damaged");
}
