/* What the directory already holds: the SIMD level, the configuration, a finished dataset. */
#include <string.h>
#include <unistd.h>

#include "base/identity_lines.h"
#include "base/text.h"
#include "packing/identity.h"
#include "packing/internal.h"
#include "scan/compare.h"
#include "store/dataset.h"

int bl_packing_identify(const struct bl_packing_job *job, struct bl_buffer *lines, struct bl_error *e)
{
    bl_options_identity(job->given, lines);
    bl_identity_inputs(job->inputs, !job->sequences, lines);
    int code = bl_identity_file("sequences", job->sequences, lines, e);
    if (code)
        return code;
    if (!job->sequences)
        code = bl_identity_contents(job->inputs, lines, e);
    if (code)
        return code;
    code = bl_identity_tables(job->inputs, lines, e);
    if (code)
        return code;
    code = bl_identity_file("plan", job->plan, lines, e);
    return code ? code : bl_buffer_check(lines, e);
}

/* --- the SIMD level --------------------------------------------------------------------------------------------- */

/* Reads the level of the dataset in the directory, finished or not; *level stays unchanged if there is none. */
static int simd_recorded(const struct bl_packing *p, enum bl_simd *level, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    int code = BL_OK;
    if (bl_manifest_read(&m, p->job.output, &none) == BL_OK)
        bl_buffer_text(&name, m.simd);
    else
        code = bl_state_recorded(p->job.output, "simd", &name, e);
    if (!code && name.size)
        code = bl_simd_parse(name.data, level, e);
    bl_manifest_free(&m);
    bl_buffer_free(&name);
    return code;
}

/* The identity of the dataset contains the level, not how it was chosen. */
static int simd_use(struct bl_packing *p, enum bl_simd level, struct bl_error *e)
{
    p->env.simd = level;
    p->job.options->simd = (int)level + 1;
    return bl_simd_apply(level, e);
}

int bl_packing_choose_simd(struct bl_packing *p, struct bl_error *e)
{
    enum bl_simd level = bl_simd_best();
    p->simd_unset = !p->job.options->simd;
    if (!p->simd_unset)
        return simd_use(p, (enum bl_simd)(p->job.options->simd - 1), e);
    int code = simd_recorded(p, &level, e);
    return code ? code : simd_use(p, level, e);
}

/* --- the state -------------------------------------------------------------------------------------------------- */

/* Another process may have begun the dataset meanwhile, on a machine with another level; then that level holds. */
static int state_follow_simd(struct bl_packing *p, const struct bl_error *differs, struct bl_error *e)
{
    enum bl_simd level = p->env.simd;
    int code = p->simd_unset ? simd_recorded(p, &level, e) : BL_OK;
    if (code)
        return code;
    if (level == p->env.simd)
        return bl_error_set(e, differs->code, "%s", differs->text);
    code = simd_use(p, level, e);
    if (code)
        return code;
    bl_buffer_clear(&p->identity);
    code = bl_packing_identify(&p->job, &p->identity, e);
    return code ? code : bl_state_configure(&p->state, p->identity.data, e);
}

int bl_packing_enter(struct bl_packing *p, struct bl_error *e)
{
    const char *dir = p->job.output;
    struct bl_error differs = {0};
    int code = p->job.task.set ? bl_state_share(&p->state, dir, e) : bl_state_open(&p->state, dir, p->identity.data, e);
    if (code)
        return code;
    bl_heartbeat_begin(&p->heartbeat, dir, "pack", &p->job.task);
    if (!p->job.task.set)
        return BL_OK;
    code = bl_state_configure(&p->state, p->identity.data, &differs);
    if (code == BL_EUSAGE)
        return state_follow_simd(p, &differs, e);
    return code ? bl_error_set(e, code, "%s", differs.text) : BL_OK;
}

/* --- a finished dataset ----------------------------------------------------------------------------------------- */

int bl_packing_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->job.inputs;
    const struct bl_compare compare = {.files = p->job.sequences ? NULL : &inputs->files,
                                       .base = inputs->base,
                                       .kind = inputs->kind,
                                       .config = inputs->kind_config,
                                       .table = table,
                                       .workers = p->workers,
                                       .cancel = p->job.cancel};
    return inputs->kind ? bl_compare_run(&compare, e) : BL_OK;
}

/* The inputs of an existing dataset must match its table. */
static int dataset_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    struct bl_error other = {0};
    int code = bl_packing_compare_inputs(p, table, &other);
    if (code == BL_EDATA)
        return bl_error_set(e, BL_EUSAGE, "%s holds a dataset of other inputs: %s (use the same inputs, or another -o)",
                            p->job.output, other.text);
    return code ? bl_error_set(e, code, "%s", other.text) : BL_OK;
}

/* Formats the configuration in a manifest as identity lines. */
static int dataset_identity(const struct bl_manifest *m, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_text(out, "");
    for (size_t i = 0; i < m->configuration.count; i++)
        bl_buffer_printf(out, "%s: %s\n", m->configuration.pair[i].name, m->configuration.pair[i].value);
    return bl_buffer_check(out, e);
}

/* Standard input can be read only once. If shards are missing, it is compared while it is read for them. */
static int dataset_compare_stdin(struct bl_packing *p, const struct bl_buffer *digest, const char *what,
                                 struct bl_error *e)
{
    if (!bl_packing_reads_stdin(p))
        return BL_OK;
    return p->repairing ? bl_packing_add_stdin(p, digest->data, e) : bl_packing_compare_stdin(p, digest, what, e);
}

static int dataset_compare(struct bl_packing *p, const char *what, struct bl_error *e)
{
    struct bl_buffer path = {0}, lines = {0}, digest = {0};
    struct bl_manifest m = {0};
    struct bl_sequences table = {0};
    bl_buffer_printf(&path, "%s/" BL_SEQUENCES_FILE, p->job.output);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    code = bl_manifest_read(&m, p->job.output, e);
    if (code)
        goto out;
    code = dataset_identity(&m, &lines, e);
    if (code)
        goto out;
    bl_packing_extract_stdin(&lines, &digest);
    code = bl_identity_compare(lines.data, p->identity.data, what, e);
    if (code)
        goto out;
    code = bl_sequences_open(&table, &(const char *){path.data}, 1, false, e);
    if (code)
        goto out;
    code = dataset_compare_inputs(p, &table, e);
    if (code)
        goto out;
    code = bl_packing_find_missing(p, &m, e);
    if (code)
        goto out;
    code = dataset_compare_stdin(p, &digest, what, e);
    if (code)
        goto out;
    p->complete = !p->repairing;
    p->partial = !bl_sequences_is_clean(&table);
    p->existing = bl_fault_counts_of(&table);
    if (p->complete && !p->job.task.set)
        code = bl_state_remove_leftovers(p->job.output, e);
out:
    bl_sequences_close(&table);
    bl_manifest_free(&m);
    bl_buffer_free(&path);
    bl_buffer_free(&lines);
    bl_buffer_free(&digest);
    return code;
}

int bl_packing_find_dataset(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer path = {0}, what = {0};
    bl_buffer_printf(&path, "%s/" BL_MANIFEST_FILE, p->job.output);
    bl_buffer_printf(&what, "%s holds a dataset", p->job.output);
    int code = path.failed || what.failed ? bl_error_memory(e) : BL_OK;
    if (!code && access(path.data, F_OK) == 0)
        code = dataset_compare(p, what.data, e);
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    return code;
}
