/* The public functions of partitions (include/bload.h): they wrap the planner's assignment of sequences to ranks. */
#include "bload.h"

#include <stdlib.h>
#include <string.h>

#include "error_export.h"
#include "plan/assignment.h"

/* A partition, and the arrays to which it points. */
struct partition {
    struct bload_partition shown; /* first: what the program has a pointer to */
    struct bl_assignment assignment;
};

/* Copies the caller's options, as options_copy does. The first header with a partition has all members. BL_EUSAGE. */
static int partition_options_copy(const struct bload_partition_options *from, struct bload_partition_options *to,
                                  struct bl_error *e)
{
    const char *bytes = (const char *)from;
    if (!from || from->size < sizeof *to)
        return bl_error_set(e, BL_EUSAGE,
                            "the options have the size %zu: set it to sizeof(struct bload_partition_options)",
                            from ? from->size : 0);
    memcpy(to, from, sizeof *to);
    for (size_t i = sizeof *to; i < from->size; i++) {
        if (bytes[i])
            return bl_error_set(e, BL_EUSAGE, "the options have members that version " BLOAD_VERSION " does not know");
    }
    if ((unsigned)to->sync > BLOAD_SYNC_STEP)
        return bl_error_set(e, BL_EUSAGE, "unknown sync");
    return BL_OK;
}

int bload_partition_make(const int64_t *length, size_t count, const struct bload_partition_options *options,
                         struct bload_partition **out, struct bload_error *error)
{
    struct bl_error e = {0};
    struct bload_partition_options o;
    *out = NULL;
    struct partition *p = calloc(1, sizeof *p);
    int code = p ? partition_options_copy(options, &o, &e) : bl_error_memory(&e);
    if (!code) {
        const struct bl_assignment_options inner = {.ranks = o.ranks,
                                                    .micro_batches = o.micro_batches,
                                                    .max_tokens = o.max_tokens,
                                                    .multiple = o.multiple,
                                                    .sync = (enum bl_sync)o.sync,
                                                    .cost_alpha = o.cost_alpha,
                                                    .cost_beta = o.cost_beta,
                                                    .cost = o.cost,
                                                    .group = o.group,
                                                    .together = o.together,
                                                    .cancel = o.cancel};
        code = bl_assignment_make(&p->assignment, length, count, &inner, &e);
    }
    if (code) {
        free(p);
        return bl_error_export(code, &e, error);
    }
    const struct bl_assignment *a = &p->assignment;
    p->shown = (struct bload_partition){.ranks = a->ranks,
                                        .micro_batches = a->micro_batches,
                                        .micro_batches_bound = a->micro_batches_bound,
                                        .place = a->place,
                                        .cost = a->cost,
                                        .tokens = a->tokens,
                                        .lost = a->lost,
                                        .bound = a->bound};
    *out = &p->shown;
    return bl_error_export(BL_OK, &e, error);
}

/* NULL is accepted, as by free(3). */
void bload_partition_free(struct bload_partition *partition)
{
    struct partition *p = (struct partition *)partition;
    if (!p)
        return;
    bl_assignment_free(&p->assignment);
    free(p);
}
