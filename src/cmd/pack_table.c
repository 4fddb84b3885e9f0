/* The table of a pack's inputs, and how many of them may be of no use. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "cmd/packing.h"
#include "cmd/parts.h"
#include "run/table_checksum.h"
#include "scan/scan.h"
#include "scan/join.h"
#include "kind/kinds.h"

int bl_packing_tolerate(struct bl_packing *p, const struct bl_row *row, const char *reason, int64_t inputs,
                        struct bl_error *e)
{
    p->useless++;
    if (p->options.on_error == BL_ON_ERROR_FAIL)
        return bl_error_set(e, BL_EFAIL, "%s: %s (--on-error fail)", row->id, reason);
    if (bl_tolerance_exceeded(&p->options.max_failed, p->useless, inputs) && inputs == INT64_MAX)
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " inputs are of no use: more than --max-failed allows", p->useless);
    if (bl_tolerance_exceeded(&p->options.max_failed, p->useless, inputs))
        return bl_error_set(e, BL_EFAIL,
                            "%" PRId64 " of %" PRId64 " inputs are of no use: more than --max-failed allows",
                            p->useless, inputs);
    return BL_OK;
}

int bl_packing_tolerate_damage(const struct bl_packing *p, const struct bl_row *row, const char *reason,
                               struct bl_error *e)
{
    if (p->options.on_error == BL_ON_ERROR_FAIL)
        return bl_error_set(e, BL_EFAIL, "%s: %s (--on-error fail)", row->id, reason);
    return BL_OK;
}

static int table_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct bl_packing *p = sink;
    bl_progress_clear(&p->progress);
    bl_inputs_print_fault(&p->inputs, row);
    /* Where files hold many sequences, how many there are is known in the end: check_faults looks again. */
    bool many = p->inputs.kind->scan->chunk_bytes || bl_files_have_list(&p->inputs.files, p->inputs.kind);
    int64_t inputs = many ? INT64_MAX : (int64_t)p->inputs.files.count;
    if (bl_row_is_empty(row))
        return BL_OK;
    if (row->status != BL_ROW_OK)
        return bl_packing_tolerate(p, row, row->reason, inputs, e);
    return bl_packing_tolerate_damage(p, row, row->reason, e);
}

static void table_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct bl_packing *p = sink;
    p->progress.done = p->progress.total ? found->files : found->rows;
    p->progress.parts = p->progress.total ? found->parts : 0;
    bl_packing_tick(p);
}

static int table_run_scan(struct bl_cmd *cmd, struct bl_packing *p, struct bl_output *out)
{
    struct bl_scan_progress found = {0};
    struct bl_scan job = {.files = &p->inputs.files,
                          .base = p->inputs.base,
                          .kind = p->inputs.kind,
                          .config = p->inputs.kind_config,
                          .attributes = out ? p->inputs.attributes : NULL,
                          .exclusion = out ? p->inputs.exclusion : NULL,
                          .workers = p->workers,
                          .env = &p->env,
                          .temporary = p->state.folder,
                          .fault = table_on_fault,
                          .tick = table_on_progress,
                          .sink = p};
    bool lists = bl_files_have_list(&p->inputs.files, p->inputs.kind); /* then there is no telling how many will come */
    bl_progress_start(&p->progress, cmd->common.quiet, "scan", lists ? "sequences" : "files", NULL,
                      lists ? 0 : (int64_t)p->inputs.files.count);
    int code = bl_scan_run(&job, out, &found, &cmd->error);
    bl_progress_end(&p->progress);
    p->suppressed = found.suppressed;
    return code || !out ? code : bl_packing_keep_stdin(p, found.drained, &cmd->error);
}

/* The table is whole. Of several tasks the first one's stays, and the others must have made the same. */
static int table_put(const struct bl_packing *p, struct bl_output *out, struct bl_error *e)
{
    if (!p->task.set)
        return bl_output_commit(out, e);
    int code = bl_output_publish(out, e);
    if (code < 0)
        bl_error_prefix(e, "this task sees other inputs than those before");
    return code < 0 ? code : BL_OK;
}

static int table_scan(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_output out = {0};
    int code = bl_output_own(&out, p->state.sequences, &cmd->error);
    if (code)
        goto out;
    code = table_run_scan(cmd, p, &out);
    if (code)
        goto out;
    code = table_put(p, &out, &cmd->error);
out:
    bl_output_abort(&out);
    return code;
}

/* A table that was given is copied: the run must go on with the same one. So is that of a finished dataset. */
static int table_copy(struct bl_packing *p, struct bl_error *e)
{
    struct bl_output out = {0};
    struct bl_buffer text = {0};
    int code = bl_output_own(&out, p->state.sequences, e);
    if (code)
        goto out;
    if (p->repairing)
        code = bl_packing_restore_table(p, &out, e);
    else if (p->inputs.attributes || p->inputs.exclusion)
        code = bl_join_run(p->sequences_path, p->inputs.attributes, p->inputs.exclusion, &out, table_on_fault, p, e);
    else
        code = bl_io_read_file(p->sequences_path, SIZE_MAX / 4, &text, e);
    if (code)
        goto out;
    if (text.size)
        code = bl_output_write(&out, text.data, text.size, e);
    if (code)
        goto out;
    code = table_put(p, &out, e);
out:
    bl_output_abort(&out);
    bl_buffer_free(&text);
    return code;
}

/* What a table says of its kind, or else --kind; *kind is NULL when it has no sequence that is of use. */
static int table_peek(const struct bl_packing *p, const struct bl_kind **kind, struct bl_error *e)
{
    struct bl_buffer header = {0}, name = {0};
    const struct bl_kind *said = p->inputs.kind_option ? bl_kinds[p->inputs.kind_option - 1] : NULL;
    int code = bl_sequences_peek(p->sequences_path, &header, &name, e);
    if (code)
        goto out;
    /* With attributes the column may be one of theirs: it is looked for when they are joined. */
    if (p->options.group_by && !p->inputs.table.path && bl_columns_find(header.data, p->options.group_by) < 0)
        code = bl_error_set(e, BL_EFAIL, "%s:1: no column \"%s\" to group by", p->sequences_path, p->options.group_by);
    else if (!name.size)
        *kind = said;
    else if (!(*kind = bl_kind_find(name.data)))
        code = bl_error_set(e, BL_EUSAGE, "the table's sequences are of the kind \"%s\", which is none", name.data);
    else if (said && *kind != said)
        code = bl_error_set(e, BL_EUSAGE, "--kind %s: the table's sequences are %s", said->name, name.data);
out:
    bl_buffer_free(&header);
    bl_buffer_free(&name);
    return code;
}

/* Columns that the scan will give come once, and that to group by is one of them. */
static int table_check_columns(const struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer header = {0};
    int code = bl_inputs_header(&p->inputs, &header, e);
    if (code)
        goto out;
    if (p->options.group_by && bl_columns_find(header.data, p->options.group_by) < 0)
        code = bl_error_set(e, BL_EUSAGE,
                            "--group-by %s: the scan gives no such column (a table that has one: --sequences)",
                            p->options.group_by);
out:
    bl_buffer_free(&header);
    return code;
}

int bl_packing_kind(struct bl_cmd *cmd, struct bl_packing *p)
{
    const struct bl_kind *kind = p->inputs.files.kind;
    int code = p->sequences_path ? table_peek(p, &kind, &cmd->error) : BL_OK;
    if (code)
        return code;
    if (kind)
        code = bl_inputs_use(&p->inputs, kind, cmd);
    if (code)
        return code;
    if (!p->sequences_path)
        code = table_check_columns(p, &cmd->error);
    if (code)
        return code;
    return bl_packing_check_attributes(p, &cmd->error);
}

/* The table must be one that these options would have made. */
static int table_check(const struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    if (!t->kind)
        return bl_error_set(e, BL_EFAIL, "not one input is of use: there is nothing to pack");
    if (!p->inputs.kind)
        return bl_error_set(e, BL_EUSAGE, "the table does not say what its sequences are: give --kind");
    if (t->mixed != SIZE_MAX)
        return bl_error_set(e, BL_EUSAGE,
                            "the table's rows differ in kind or sampling: row %zu is not like those before", t->mixed);
    struct bl_buffer sampling = {0};
    p->inputs.kind->scan->sampling(p->inputs.kind_config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    if (code)
        goto out;
    if (*t->sampling && strcmp(sampling.data, t->sampling) != 0)
        code = bl_error_set(e, BL_EUSAGE, "the table was scanned with sampling \"%s\", the options say \"%s\"",
                            t->sampling, sampling.data);
out:
    bl_buffer_free(&sampling);
    return code;
}

/* Inputs that the scan already found useless count for --on-error and --max-failed. */
static int table_check_faults(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    int64_t useless = bl_sequences_unusable(t);
    if (p->options.on_error == BL_ON_ERROR_FAIL && useless + t->damaged) {
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " inputs are of no use, %" PRId64 " are damaged (--on-error fail)",
                            useless, t->damaged);
    }
    p->useless = useless;
    if (bl_tolerance_exceeded(&p->options.max_failed, useless, (int64_t)t->count))
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " of %zu inputs are of no use: more than --max-failed allows",
                            useless, t->count);
    return BL_OK;
}

/* What readers need lies in the spool; where the table was there before, it may not, or not all of it. */
static int spool_fill(struct bl_cmd *cmd, struct bl_packing *p)
{
    int code = p->sequences_path ? bl_inputs_list_table(&p->inputs, &p->table, &cmd->error) : BL_OK;
    return code ? code : table_run_scan(cmd, p, NULL);
}

static int spool_make(struct bl_packing *p, struct bl_error *e)
{
    p->env.spool = p->spool ? p->spool : p->state.spool;
    p->env.shared = p->task.set;
    return p->spool ? bl_fs_mkdirs(p->spool, e) : BL_OK;
}

/* Where tasks scanned, their parts are the table: 1 when it was made of them, 0 when there are none, or a code. A run
 * without tasks does not wait for those that are missing. */
static int table_merge_parts(struct bl_packing *p, struct bl_error *e)
{
    struct bl_parts parts;
    struct bl_merged merged = {0};
    struct bl_merge job = {.cancel = p->env.cancel, .fault = table_on_fault, .sink = p};
    int code = bl_parts_find(&p->state, &parts, e);
    if (code || !parts.tasks || (!p->task.set && parts.missing >= 0))
        return code;
    code = bl_parts_require(&p->state, &parts, e);
    if (!code)
        code = bl_parts_merge(&p->state, &parts, &job, &merged, e);
    p->suppressed = merged.found.suppressed;
    bl_parts_print_unused(&merged);
    return code ? code : 1;
}

/* Makes the table, where there is none yet. */
static int table_make(struct bl_cmd *cmd, struct bl_packing *p, bool *scanned)
{
    struct bl_error *e = &cmd->error;
    int code = bl_table_checksum_forget(&p->state, e);
    if (code || p->repairing)
        return code ? code : table_copy(p, e);
    int merged = p->sequences_path ? 0 : table_merge_parts(p, e);
    if (merged)
        return merged < 0 ? merged : BL_OK;
    *scanned = !p->sequences_path;
    code = *scanned ? table_scan(cmd, p) : table_copy(p, e);
    return code ? code : bl_inputs_note_unused(&p->inputs, e);
}

/* A table that was there already must tell of the inputs as they are. */
static int table_compare_inputs(const struct bl_packing *p, struct bl_error *e)
{
    struct bl_error other = {0};
    int code = bl_packing_compare(p, &p->table, &other);
    if (code == BL_EDATA)
        return bl_error_set(
            e, BL_EFAIL, "the inputs changed since the scan: %s (undo that, or choose another directory)", other.text);
    return code ? bl_error_set(e, code, "%s", other.text) : BL_OK;
}

int bl_packing_table(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    bool scanned = false;
    int code = spool_make(p, e);
    if (!code && access(p->state.sequences, F_OK) == 0 && bl_packing_reads_stdin(p) && !p->repairing)
        code = bl_packing_check_stdin(p, e);
    if (!code && access(p->state.sequences, F_OK) != 0)
        code = table_make(cmd, p, &scanned);
    if (!code)
        code = bl_table_checksum_verify(&p->state, e);
    const char *path = p->state.sequences;
    if (!code && p->options.group_by)
        code = bl_sequences_open_grouped(&p->table, &path, 1, p->options.group_by, e);
    else if (!code)
        code = bl_sequences_open(&p->table, &path, 1, false, e);
    /* Of many tasks each would look at all files; what changed is noticed when it is read. */
    if (!code && !scanned && !p->task.set && !p->repairing)
        code = table_compare_inputs(p, e);
    if (!code)
        code = table_check(p, e);
    if (!code)
        code = table_check_faults(p, e);
    if (!code && p->inputs.exclusion && !scanned)
        code = bl_exclusion_match(&p->table, p->inputs.exclusion, e);
    if (!code && !p->task.index)
        bl_inputs_print_unmatched(&p->inputs);
    return code || scanned || !p->inputs.kind->spool ? code : spool_fill(cmd, p);
}
