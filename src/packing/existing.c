/* A finished dataset in the directory: it must be of the same request. */
#include <string.h>
#include <unistd.h>

#include "base/identity_lines.h"
#include "packing/identity.h"
#include "packing/internal.h"
#include "store/dataset.h"

/* The inputs of an existing dataset must match its table. */
static int dataset_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    struct bl_error other = {0};
    int code = bl_packing_compare_inputs(p, table, &other);
    if (code == BL_EDATA)
        return bl_error_set(e, BL_EUSAGE, "%s holds a dataset of other inputs: %s (use the same inputs, or another -o)",
                            p->request.output, other.text);
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
    bl_buffer_printf(&path, "%s/" BL_SEQUENCES_FILE, p->request.output);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    code = bl_manifest_read(&m, p->request.output, e);
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
    if (p->complete && !p->request.task.set)
        code = bl_state_remove_leftovers(p->request.output, e);
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
    bl_buffer_printf(&path, "%s/" BL_MANIFEST_FILE, p->request.output);
    bl_buffer_printf(&what, "%s holds a dataset", p->request.output);
    int code = path.failed || what.failed ? bl_error_memory(e) : BL_OK;
    if (!code && access(path.data, F_OK) == 0)
        code = dataset_compare(p, what.data, e);
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    return code;
}
