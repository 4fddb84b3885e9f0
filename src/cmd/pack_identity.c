/* What makes a dataset the same as the one that is there: its configuration, its inputs, its SIMD level. */
#include <unistd.h>

#include "base/identity_lines.h"
#include "cmd/identity.h"
#include "cmd/packing.h"
#include "scan/compare.h"
#include "store/manifest.h"

int bl_packing_identify(struct bl_cmd *cmd, struct bl_packing *p)
{
    bl_options_identity(&cmd->options, &p->identity);
    bl_identity_inputs(&p->inputs, !p->sequences_path, &p->identity);
    int code = bl_identity_file("sequences", p->sequences_path, &p->identity, &cmd->error);
    if (code)
        return code;
    if (!p->sequences_path)
        code = bl_identity_contents(&p->inputs, &p->identity, &cmd->error);
    if (code)
        return code;
    code = bl_identity_tables(&p->inputs, &p->identity, &cmd->error);
    if (code)
        return code;
    code = bl_identity_file("plan", p->plan_path, &p->identity, &cmd->error);
    if (code)
        return code;
    return bl_buffer_check(&p->identity, &cmd->error);
}

/* The configuration that a manifest holds, as identity lines. */
static int identity_of_manifest(const struct bl_manifest *m, struct bl_buffer *out, struct bl_error *e)
{
    for (size_t i = 0; i < m->configuration.count; i++)
        bl_buffer_printf(out, "%s: %s\n", m->configuration.pair[i].name, m->configuration.pair[i].value);
    return bl_buffer_check(out, e);
}

int bl_packing_compare(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_compare job = {.files = p->sequences_path ? NULL : &p->inputs.files,
                                   .base = p->inputs.base,
                                   .kind = p->inputs.kind,
                                   .config = p->inputs.kind_config,
                                   .table = table,
                                   .workers = p->workers,
                                   .cancel = p->env.cancel};
    return p->inputs.kind ? bl_compare_run(&job, e) : BL_OK;
}

/* The inputs of a dataset that is there must be those of its table. */
static int identity_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    struct bl_error other = {0};
    int code = bl_packing_compare(p, table, &other);
    if (code == BL_EDATA)
        return bl_error_set(e, BL_EUSAGE,
                            "%s holds a dataset of other inputs: %s (undo that, or choose another directory)",
                            p->output, other.text);
    return code ? bl_error_set(e, code, "%s", other.text) : BL_OK;
}

int bl_packing_find(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer path = {0}, there = {0}, what = {0}, input = {0};
    struct bl_manifest m = {0};
    struct bl_sequences table_there = {0};
    bl_buffer_printf(&path, "%s/" BL_MANIFEST_FILE, p->output);
    bl_buffer_printf(&what, "%s holds a dataset", p->output);
    int code = path.failed || what.failed ? bl_error_memory(e) : BL_OK;
    if (!code && access(path.data, F_OK) != 0) {
        bl_buffer_free(&path);
        bl_buffer_free(&what);
        return 0;
    }
    if (!code)
        code = bl_manifest_read(&m, p->output, e);
    if (!code)
        code = identity_of_manifest(&m, &there, e);
    bl_packing_extract_stdin(&there, &input);
    if (!code)
        code = bl_identity_compare(there.data ? there.data : "", p->identity.data, what.data, e);
    bl_buffer_clear(&path);
    bl_buffer_printf(&path, "%s/sequences.tsv", p->output);
    const char *table = path.data;
    if (!code)
        code = bl_sequences_open(&table_there, &table, 1, false, e);
    if (!code)
        code = identity_compare_inputs(p, &table_there, e);
    int lacks = code ? code : bl_packing_find_missing(cmd, p, &m);
    if (!lacks && bl_packing_reads_stdin(p))
        lacks = bl_packing_compare_stdin(p, &input, what.data, e);
    else if (lacks > 0 && bl_packing_reads_stdin(p) && bl_packing_add_stdin(p, input.data, e))
        lacks = BL_EFAIL; /* else what comes is compared while it is read */
    if (!lacks && !p->task.set)
        lacks = bl_state_remove_leftovers(p->output, e);
    if (lacks >= 0)
        p->partial = !bl_sequences_is_clean(&table_there);
    if (!lacks && !cmd->common.quiet)
        bl_cmd_print("%s is complete already: nothing to do", p->output);
    bl_sequences_close(&table_there);
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    bl_buffer_free(&input);
    return lacks < 0 ? lacks : !lacks;
}

/* The level that a dataset here, finished or begun, was made with; *level stays as it is when there is none. */
static int simd_recorded(const struct bl_packing *p, enum bl_simd *level, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    int code = BL_OK;
    if (bl_manifest_read(&m, p->output, &none) == BL_OK)
        bl_buffer_text(&name, m.simd);
    else
        code = bl_state_recorded(p->output, "simd", &name, e);
    if (code)
        goto out;
    if (name.size)
        code = bl_simd_parse(name.data, level, e);
out:
    bl_manifest_free(&m);
    bl_buffer_free(&name);
    return code;
}

int bl_packing_simd(struct bl_packing *p, struct bl_error *e)
{
    int code = BL_OK;
    p->env.simd = bl_simd_best();
    p->simd_unset = !p->options.simd;
    if (p->options.simd)
        p->env.simd = (enum bl_simd)(p->options.simd - 1);
    else
        code = simd_recorded(p, &p->env.simd, e);
    p->options.simd = (int)p->env.simd + 1; /* what identifies the dataset is the level, not how it was chosen */
    return code ? code : bl_simd_apply(p->env.simd, e);
}

/* Others may have begun in the meantime, on a machine with another level: then theirs holds. */
static int identity_follow(struct bl_cmd *cmd, struct bl_packing *p, const struct bl_error *differs)
{
    struct bl_error *e = &cmd->error;
    enum bl_simd level = p->env.simd;
    int code = p->simd_unset ? simd_recorded(p, &level, e) : BL_OK;
    if (!code && level == p->env.simd)
        return bl_error_set(e, differs->code, "%s", differs->text);
    p->env.simd = level;
    p->options.simd = (int)level + 1;
    if (!code)
        code = bl_simd_apply(level, e);
    bl_buffer_clear(&p->identity);
    if (!code)
        code = bl_packing_identify(cmd, p);
    return code ? code : bl_state_configure(&p->state, p->identity.data, e);
}

int bl_packing_enter(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error differs = {0};
    int code = p->task.set ? bl_state_share(&p->state, p->output, &cmd->error)
                           : bl_state_open(&p->state, p->output, p->identity.data, &cmd->error);
    if (!code)
        bl_heartbeat_begin(&p->heartbeat, p->output, "pack", &p->task);
    if (code || !p->task.set)
        return code;
    code = bl_state_configure(&p->state, p->identity.data, &differs);
    if (code == BL_EUSAGE)
        return identity_follow(cmd, p, &differs);
    return code ? bl_error_set(&cmd->error, code, "%s", differs.text) : BL_OK;
}
