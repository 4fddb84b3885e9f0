/* Checks of the plans of epochs: each consists of the stored pieces, in as many blocks as the shards have. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "store/epochs.h"
#include "store/verify.h"

/* All pieces of a plan differ, so plans with the same sum have the same pieces, in any order. */
static uint64_t plan_sum_pieces(const struct bl_plan *plan)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < plan->pieces; p++) {
        const int64_t piece[] = {plan->sequence[p], plan->length[p], plan->source_start[p]};
        sum += bl_checksum(piece, sizeof piece);
    }
    return sum;
}

static int epoch_verify_pieces(const struct bl_verify *v, const struct bl_plan *plan, struct bl_error *e)
{
    if (plan->blocks != v->plan.blocks || plan->max_sequences > v->manifest.format.S)
        return bl_error_set(e, BL_EDATA,
                            "has %zu blocks of up to %" PRId64 " sequences, the dataset %zu of up to %" PRId64,
                            plan->blocks, plan->max_sequences, v->plan.blocks, v->manifest.format.S);
    if (plan->pieces != v->plan.pieces || plan_sum_pieces(plan) != plan_sum_pieces(&v->plan))
        return bl_error_set(e, BL_EDATA, "its pieces differ from the stored ones");
    return BL_OK;
}

static int epoch_verify_plan(const struct bl_verify *v, const char *path, struct bl_error *e)
{
    const struct bl_manifest *m = &v->manifest;
    struct bl_index index;
    struct bl_plan plan = {0};
    int code = bl_index_open_plan(&index, path, e);
    if (code)
        return code;
    code = bl_index_read_plan(&index, m->format.T, bl_manifest_align(m), &plan, e);
    if (code)
        goto out;
    plan.overlap = m->plan_info.overlap;
    code = bl_plan_check(&plan, v->sequences.length, v->sequences.count, e);
    if (code)
        goto out;
    if (v->has_plan)
        code = epoch_verify_pieces(v, &plan, e);
out:
    bl_plan_free(&plan);
    bl_index_close(&index);
    return code;
}

void bl_verify_epoch_strays(const struct bl_verify *v, bl_fault *fault, bl_fault *remark, void *context)
{
    char *path = bl_path_join(v->dir, BL_EPOCHS_DIR);
    DIR *entries = path ? opendir(path) : NULL;
    if (!entries && errno != ENOENT)
        fault(context, BL_EPOCHS_DIR, "cannot be read");
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        char name[sizeof entry->d_name + 16];
        snprintf(name, sizeof name, BL_EPOCHS_DIR "/%s", entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            bl_manifest_find_file(&v->manifest, name))
            continue;
        if (bl_epochs_is_leftover(&v->manifest, entry->d_name))
            remark(context, name, "left by an interrupted bload plan --dataset: ignored; the next one removes it");
        else
            fault(context, name, "belongs to no epoch of the dataset");
    }
    if (entries)
        closedir(entries);
    free(path);
}

void bl_verify_epochs(const struct bl_verify *v, bl_fault *fault, bl_fault *remark, void *context)
{
    for (size_t i = 0; i < v->manifest.files && v->has_sequences; i++) {
        const char *name = v->manifest.file[i].name;
        struct bl_error e = {0};
        if (!bl_epochs_number(name) || bl_cancelled(v->cancel))
            continue;
        char *path = bl_path_join(v->dir, name);
        bool missing = path && access(path, F_OK) != 0; /* reported before */
        int code = path ? BL_OK : bl_error_memory(&e);
        if (!code && !missing)
            code = epoch_verify_plan(v, path, &e);
        if (code)
            fault(context, name, e.text);
        free(path);
    }
    bl_verify_epoch_strays(v, fault, remark, context);
}
