#include "store/epochs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "plan/planner.h"
#include "store/dataset.h"

struct adding {
    const struct bl_epochs *epochs;
    struct bl_dataset dataset;
    struct bl_plan stored; /* the plan that the dataset was packed by */
    uint32_t *group;       /* [stored.pieces] where it kept groups apart, or NULL */
    struct bl_planner planner;
};

/* The column by which the sequences were grouped, or "". */
static const char *group_by(const struct bl_manifest *m)
{
    for (size_t i = 0; i < m->configuration.count; i++)
        if (strcmp(m->configuration.pair[i].name, "group-by") == 0)
            return m->configuration.pair[i].value;
    return "";
}

/* The group of each stored piece, by the table that the dataset holds. */
static int find_groups(struct adding *a, struct bl_error *e)
{
    const char *column = group_by(&a->dataset.manifest);
    struct bl_sequences rows = {0};
    struct bl_buffer path = {0};
    if (!*column)
        return BL_OK;
    a->group = malloc((a->stored.pieces + 1) * sizeof *a->group);
    if (!a->group)
        return bl_error_memory(e);
    bl_buffer_printf(&path, "%s/" BL_SEQUENCES_FILE, a->epochs->dir);
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_sequences_open_grouped(&rows, (const char *const *)&path.data, 1, column, e);
    for (size_t p = 0; p < a->stored.pieces && !code; p++) {
        if (a->stored.sequence[p] >= rows.count)
            code = bl_error_set(e, BL_EFAIL, "%s: the plan has sequence %" PRIu32 ", and the table has %zu rows",
                                path.data, a->stored.sequence[p], rows.count);
        else
            a->group[p] = rows.group[a->stored.sequence[p]];
    }
    bl_sequences_close(&rows);
    bl_buffer_free(&path);
    return code;
}

static int check_dataset(const struct adding *a, struct bl_plan_options *o, struct bl_error *e)
{
    const struct bl_words *w = &a->dataset.manifest.words;
    const struct bl_epochs *x = a->epochs;
    if (strcmp(w->strategy, "sample") == 0 || strcmp(w->strategy, "mix") == 0)
        return bl_error_set(e, BL_EUSAGE, "%s holds clips (--strategy %s): another plan would have to cut others",
                            x->dir, w->strategy);
    *o = (struct bl_plan_options){
        .strategy = BL_STRATEGY_BLOCK,
        .fill = BL_FILL_PAPER, /* no search: the blocks are filled as the stored ones */
        .T = a->stored.T,
        .align = a->stored.align,
        .world_size = x->world_size ? x->world_size : w->world_size,
        .batch_size = x->batch_size ? x->batch_size : w->batch_size,
        .remainder = BL_REMAINDER_PAD, /* for blocks that are empty in the dataset, too */
        .balance = x->balance,
        .group = a->group,
    };
    if (w->blocks % (o->world_size * o->batch_size) != 0)
        return bl_error_set(e, BL_EUSAGE,
                            "the %" PRId64 " blocks of %s are no multiple of %" PRId64 " ranks times %" PRId64
                            " blocks: pack it for them",
                            w->blocks, x->dir, o->world_size, o->batch_size);
    return BL_OK;
}

/* The plan's sequences are stored pieces; afterwards they are rows, with the part of each. */
static int name_rows(const struct adding *a, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_plan *stored = &a->stored;
    plan->length = malloc((plan->pieces + 1) * sizeof *plan->length);
    plan->source_start = malloc((plan->pieces + 1) * sizeof *plan->source_start);
    if (!plan->length || !plan->source_start)
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t piece = plan->sequence[p];
        plan->sequence[p] = stored->sequence[piece];
        plan->length[p] = stored->length[piece];
        plan->source_start[p] = stored->source_start[piece];
    }
    return BL_OK;
}

static int write_epoch(struct adding *a, int64_t k, const struct bl_sequences *rows, struct bl_error *e)
{
    struct bl_plan plan = {0};
    struct bl_output out = {0};
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/" BL_EPOCHS_DIR "/epoch-%05" PRId64 ".safetensors", a->epochs->dir, k + 1);
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_planner_draw(&a->planner, a->epochs->seed + (uint64_t)k, a->stored.blocks, 0, &plan, e);
    if (!code)
        code = name_rows(a, &plan, e);
    if (!code)
        code = bl_output_open(&out, path.data, e);
    if (!code)
        code = bl_index_write(&out, &plan, rows->length, rows->count, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    bl_plan_free(&plan);
    bl_buffer_free(&path);
    return code;
}

/* Names a file in the manifest, unless it is there already: then its size and checksum are noted anew. */
static int note_file(struct bl_manifest *m, const char *dir, const char *name, struct bl_error *e)
{
    for (size_t i = 0; i < m->files; i++) {
        if (strcmp(m->file[i].name, name) != 0)
            continue;
        free(m->file[i].name);
        m->file[i] = m->file[--m->files];
        break;
    }
    return bl_manifest_add_file(m, dir, name, e);
}

static int note_epochs(struct adding *a, struct bl_error *e)
{
    struct bl_manifest *m = &a->dataset.manifest;
    int code = BL_OK;
    for (int64_t k = 0; k < a->epochs->count && !code; k++) {
        struct bl_buffer name = {0};
        bl_buffer_printf(&name, BL_EPOCHS_DIR "/epoch-%05" PRId64 ".safetensors", k + 1);
        code = bl_buffer_check(&name, e);
        if (!code)
            code = note_file(m, a->epochs->dir, name.data, e);
        bl_buffer_free(&name);
    }
    return code ? code : bl_manifest_write(m, a->epochs->dir, e);
}

static int add(struct adding *a, struct bl_error *e)
{
    struct bl_plan_options options;
    const struct bl_sequences *rows = NULL;
    struct bl_buffer path = {0};
    int code = bl_index_plan(&a->dataset.index, a->dataset.manifest.words.T, &a->stored, e);
    if (!code)
        code = find_groups(a, e);
    if (!code)
        code = check_dataset(a, &options, e);
    if (!code)
        code = bl_dataset_sequences(&a->dataset, &rows, e);
    if (!code)
        code = bl_planner_make(&a->planner, a->stored.length, a->stored.pieces, &options, e);
    if (!code)
        code = bl_planner_adopt(&a->planner, &a->stored, e);
    bl_buffer_printf(&path, "%s/" BL_EPOCHS_DIR, a->epochs->dir);
    if (!code)
        code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_io_mkdirs(path.data, e);
    for (int64_t k = 0; k < a->epochs->count && !code; k++)
        code = write_epoch(a, k, rows, e);
    bl_buffer_free(&path);
    return code ? code : note_epochs(a, e);
}

int bl_epochs_add(const struct bl_epochs *epochs, struct bl_error *e)
{
    struct adding a = {.epochs = epochs};
    int code = bl_dataset_open(&a.dataset, epochs->dir, e);
    if (code)
        return code;
    code = add(&a, e);
    bl_planner_free(&a.planner);
    bl_plan_free(&a.stored);
    free(a.group);
    bl_dataset_close(&a.dataset);
    return code;
}
