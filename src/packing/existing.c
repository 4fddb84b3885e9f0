/* A finished dataset in the directory: it must be of the same request. */
#include "base/fs.h"
#include "base/identity_lines.h"
#include "packing/identity.h"
#include "packing/internal.h"

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

/* Standard input can be read only once. If shards are missing, it is compared while it is read for them. */
static int dataset_compare_stdin(struct bl_packing *p, const struct bl_buffer *digest, const char *what,
                                 struct bl_error *e)
{
    if (!bl_packing_reads_stdin(p))
        return BL_OK;
    return p->repairing ? bl_packing_add_stdin(p, digest->data, e) : bl_packing_compare_stdin(p, digest, what, e);
}

/* Compares the configuration. Its line about standard input, if there is one, is moved to digest. */
static int dataset_compare_configuration(const struct bl_packing *p, const struct bl_manifest *m, const char *what,
                                         struct bl_buffer *digest, struct bl_error *e)
{
    struct bl_buffer lines = {0};
    int code = bl_identity_of_manifest(m, &lines, e);
    if (code)
        goto out;
    bl_packing_extract_stdin(&lines, digest);
    code = bl_identity_compare(lines.data, p->identity.data, what, e);
out:
    bl_buffer_free(&lines);
    return code;
}

/* Finds out whether the dataset is complete, or shards must be made again. */
static int dataset_compare(struct bl_packing *p, const char *what, struct bl_error *e)
{
    struct bl_buffer digest = {0};
    struct bl_manifest m = {0};
    struct bl_sequences table = {0};
    int code = bl_manifest_read(&m, p->request.output, e);
    if (code)
        goto out;
    code = dataset_compare_configuration(p, &m, what, &digest, e);
    if (code)
        goto out;
    code = bl_sequences_open_dataset(&table, p->request.output, NULL, e);
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
    if (p->complete && !p->request.task.set && !p->request.dry_run)
        code = bl_state_remove_leftovers(p->request.output, e);
out:
    bl_sequences_close(&table);
    bl_manifest_free(&m);
    bl_buffer_free(&digest);
    return code;
}

int bl_packing_find_dataset(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer what = {0};
    bool found;
    int code = bl_fs_find(p->request.output, BL_MANIFEST_FILE, &found, e);
    if (code || !found)
        return code;
    bl_buffer_printf(&what, "%s holds a dataset", p->request.output);
    code = bl_buffer_check(&what, e);
    if (!code)
        code = dataset_compare(p, what.data, e);
    bl_buffer_free(&what);
    return code;
}
