/* The table of sequences: makes it by a scan, by merging the parts of tasks or by copying a given table, and checks it
 * against the request and its inputs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "run/packing.h"
#include "run/machine.h"
#include "run/mirror.h"
#include "scan/attributes.h"
#include "scan/compare.h"
#include "scan/extend.h"
#include "scan/merge.h"
#include "scan/scan.h"
#include "scan/subset.h"
#include "store/row_reader.h"

#define COPY_PIECE ((size_t)1 << 16) /* bytes of a table that are copied at a time */

/* --- standard input ----------------------------------------------------------------------------------------------- */

/* Standard input of bload pack. It can be read only once, so its checksum is part of the dataset's identity: DIR/.bload
 * stores it from the scan on, and the manifest's configuration later. A run that resumes, or finds a dataset, reads all
 * of standard input to compare it. */

#define NAME "standard input" /* name of the configuration line */
#define SUM_MAX ((size_t)64)

bool bl_packing_reads_stdin(const struct bl_packing *p)
{
    return !p->request.sequences && bl_input_set_has_stdin(p->request.inputs);
}

/* Hashes all of standard input. */
static int stdin_digest(const struct bl_packing *p, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_instream *stream = NULL;
    uint64_t sum = 0;
    int code = bl_instream_open(&stream, "-", 0, p->env.cancel, e);
    if (!code)
        code = bl_instream_drain(stream, &sum, e);
    if (stream)
        bl_instream_close(stream);
    bl_checksum_format(sum, digest);
    return code;
}

int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e)
{
    if (digest)
        bl_buffer_printf(&p->identity, NAME ": %s\n", digest);
    return bl_buffer_check(&p->identity, e);
}

/* Reports that standard input has another checksum. what: "DIR holds a dataset". Returns BL_EUSAGE. */
static int stdin_mismatch(const char *what, const char *there, const char *digest, struct bl_error *e)
{
    return bl_error_set(e, BL_EUSAGE,
                        "%s of another configuration: " NAME " is \"%s\" there, not \"%s\" (use the same input, or "
                        "another -o)",
                        what, there, digest);
}

/* Stores the checksum of what the scan has read of standard input, and adds it to the identity. sum 0: the scan did not
 * read it. */
static int stdin_keep(struct bl_packing *p, uint64_t sum, struct bl_error *e)
{
    struct bl_buffer path = {0};
    char digest[BL_DIGEST_SIZE];
    if (!sum)
        return BL_OK;
    bl_checksum_format(sum, digest);
    int code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    if (!code)
        code = bl_output_replace(path.data, digest, strlen(digest), e);
    bl_buffer_free(&path);
    return code ? code : bl_packing_add_stdin(p, digest, e);
}

/* Reads all of standard input and compares it with the checksum in the file. */
static int stdin_compare(struct bl_packing *p, const char *path, struct bl_error *e)
{
    struct bl_buffer scanned = {0}, what = {0};
    char digest[BL_DIGEST_SIZE];
    bl_buffer_printf(&what, "%s holds an unfinished dataset", p->request.output);
    bl_buffer_text(&scanned, "");
    int code = what.failed || scanned.failed ? bl_error_memory(e) : BL_OK;
    if (!code)
        code = bl_io_read_file(path, SUM_MAX, &scanned, e);
    if (!code)
        code = stdin_digest(p, digest, e);
    if (code)
        goto out;
    if (strcmp(scanned.data, digest) != 0)
        code = stdin_mismatch(what.data, scanned.data, digest, e);
    else
        code = bl_packing_add_stdin(p, digest, e);
out:
    bl_buffer_free(&scanned);
    bl_buffer_free(&what);
    return code;
}

/* Compares standard input with that of the scan, if a scan has been made. Without a finished shard the scan is repeated
 * instead. */
static int stdin_check(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bool begun = true; /* with tasks, assume that another one has begun */
    BL_TRY(p->request.task.set ? BL_OK : bl_state_has_shards(&p->state, &begun, e));
    if (!begun) {
        BL_TRY(bl_table_checksum_forget(&p->state, e));
        return bl_fs_remove(p->state.sequences, e);
    }
    int code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && exists)
        code = stdin_compare(p, path.data, e);
    bl_buffer_free(&path);
    return code;
}

void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest)
{
    char *line = lines->data ? strstr(lines->data, "\n" NAME ": ") : NULL;
    if (!line)
        return;
    char *value = line + strlen("\n" NAME ": "), *end = strchrnul(value, '\n');
    bl_buffer_append(digest, value, (size_t)(end - value));
    size_t tail = lines->size - (size_t)(end - lines->data);
    memmove(line, end, tail + 1);
    lines->size = (size_t)(line - lines->data) + tail;
}

int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    if (!there->size)
        return BL_OK;
    BL_TRY(stdin_digest(p, digest, e));
    if (strcmp(there->data, digest) == 0)
        return BL_OK;
    return stdin_mismatch(what, there->data, digest, e);
}

/* --- making the table --------------------------------------------------------------------------------------------- */

/* Counts and reports a row that the scan found unusable or damaged. */
static int table_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct bl_packing *p = sink;
    const struct bl_input_set *inputs = p->request.inputs;
    /* If files hold many sequences, their number is known only at the end: table_check_faults checks again. */
    bool many = !inputs->kind || inputs->kind->scan->chunk_bytes || bl_files_have_list(&inputs->files, inputs->kind);
    return bl_packing_fault(p, row, many ? INT64_MAX : (int64_t)inputs->files.count, e);
}

/* Shows files if their number is known, and rows otherwise. */
static void table_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct bl_packing *p = sink;
    p->progress.done = p->progress.total ? found->files : found->rows;
    p->progress.parts = p->progress.total ? found->parts : 0;
    p->progress.steps = found->steps;
    p->progress.steps_left = -1;
    p->progress.file = found->file;
    bl_packing_progress_tick(p);
}

static void table_on_merge_progress(void *sink, int64_t chunks)
{
    struct bl_packing *p = sink;
    p->progress.done = chunks;
    bl_packing_progress_tick(p);
}

/* Scans the inputs and writes the table to out. out NULL: the table exists, and the scan only fills the spool. */
static int table_run_scan(struct bl_packing *p, struct bl_output *out, struct bl_error *e)
{
    struct bl_input_set *inputs = p->request.inputs;
    struct bl_scan_progress found = {0};
    int64_t memory = p->request.options ? p->request.options->memory : 0;
    struct bl_scan scan = {.files = &inputs->files,
                           .base = inputs->base,
                           .kind = inputs->kind,
                           .config = inputs->kind_config,
                           .attributes = out ? inputs->attributes : NULL,
                           .exclusion = out ? inputs->exclusion : NULL,
                           .workers = p->pack.share.workers,
                           .env = &p->env,
                           .temporary = p->state.folder,
                           .memory = bl_memory_for_inputs(memory),
                           .memory_is_strict = memory > 0,
                           .fault = table_on_fault,
                           .tick = table_on_progress,
                           .sink = p,
                           .work = &p->request.times->scan};
    bool lists = bl_files_have_list(&inputs->files, inputs->kind); /* the number of their lines is unknown */
    bl_packing_progress_begin(p, "scan", lists ? "sequences" : "files",
                              bl_kind_steps(inputs->kind, inputs->kind_config),
                              lists ? 0 : (int64_t)inputs->files.count);
    int code = bl_scan_run(&scan, out, &found, e);
    bl_packing_progress_end(p);
    p->suppressed = found.suppressed;
    p->needed = found.needed;
    if (code || !out)
        return code;
    return stdin_keep(p, found.drained, e);
}

/* Writes the whole table: by a scan, from a view, or as a copy of a given table. A copy is needed since a resumed run
 * must use the same table. */
static int table_fill(void *packing, struct bl_output *out, struct bl_error *e)
{
    struct bl_packing *p = packing;
    const struct bl_input_set *inputs = p->request.inputs;
    if (p->request.view)
        return bl_packing_fill_view_table(p, out, e);
    if (!p->request.sequences)
        return table_run_scan(p, out, e);
    if (inputs->attributes || inputs->exclusion)
        return bl_join_run(p->request.sequences, inputs->attributes, inputs->exclusion, out, table_on_fault, p, e);
    /* In pieces, since the table may be larger than memory. */
    char piece[COPY_PIECE];
    const char *path = p->request.sequences;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    size_t got = 1;
    int code = BL_OK;
    while (!code && got) {
        code = bl_io_read(fd, piece, sizeof piece, &got, path, e);
        if (!code && got)
            code = bl_output_write(out, piece, got, e);
    }
    close(fd); /* read only: no data to lose */
    return code;
}

/* Shows the progress of choosing the subset, if it takes long. */
static void table_on_choice(void *sink, int64_t row, int64_t rows)
{
    struct bl_packing *p = sink;
    if (!row)
        bl_packing_progress_begin(p, "choose", "sequences", NULL, rows);
    p->progress.done = row;
    if (bl_progress_seconds(&p->progress) >= BL_PROGRESS_LATE)
        bl_packing_progress_tick(p);
}

/* Writes the rows of the subset, out of the table that fill writes. */
static int table_choose(struct bl_packing *p, bl_subset_fill *fill, void *context, struct bl_output *out,
                        struct bl_error *e)
{
    size_t at = 0, size;
    const char *line;
    struct bl_subset subset = {.options = p->request.subset,
                               .base = p->request.inputs->base,
                               .cancel = p->request.cancel,
                               .tick = table_on_choice,
                               .sink = p};
    int code = bl_subset_run(&subset, p->state.folder, fill, context, out, e);
    bl_packing_progress_end(p);
    while (!code && bl_text_next_line(subset.notes.data, subset.notes.size, &at, &line, &size))
        bl_packing_message(p, false, "%.*s", (int)size, line);
    bl_subset_free(&subset);
    return code;
}

/* Makes the table of this run. For a repair, the table of the finished dataset is used, which has only the subset
 * already. */
static int table_write(struct bl_packing *p, struct bl_error *e)
{
    struct bl_output out = {0};
    struct bl_checksum_state sum;
    int code = bl_output_own(&out, p->state.sequences, e);
    if (code)
        goto out;
    bl_checksum_begin(&sum);
    out.sum = &sum;
    code = p->repairing ? bl_packing_restore_table(p, &out, e) : table_choose(p, table_fill, p, &out, e);
    if (code)
        goto out;
    /* The table of the first task stays, and the others must be identical. */
    bool shared = p->request.task.set || p->request.mirror;
    code = shared ? bl_output_publish(&out, e) : bl_output_commit(&out, e);
    if (!code)
        code = bl_state_share_file(&p->state, BL_STATE_SEQUENCES, e);
    if (code == BL_EDATA && shared)
        bl_error_prefix(e, "this task sees other inputs than earlier tasks");
    if (!code)
        code = bl_table_checksum_keep(&p->state, bl_checksum_end(&sum), e);
out:
    bl_output_abort(&out);
    return code;
}

/* The parts of a scan that tasks shared, and what merging them found. */
struct table_parts {
    struct bl_merge merge;
    struct bl_merged merged;
};

static int table_fill_merged(void *parts, struct bl_output *out, struct bl_error *e)
{
    struct table_parts *t = parts;
    return bl_merge_run(&t->merge, out, &t->merged, e);
}

/* Merges the parts into the table. The first task's table stays; the others must have made the same. */
static int table_write_merged(struct bl_packing *p, struct table_parts *t, struct bl_error *e)
{
    struct bl_output out = {0};
    struct bl_checksum_state sum;
    int code = bl_table_checksum_forget(&p->state, e);
    if (!code)
        code = bl_output_own(&out, p->state.sequences, e);
    if (code)
        goto out;
    bl_checksum_begin(&sum);
    out.sum = &sum;
    code = table_choose(p, table_fill_merged, t, &out, e);
    if (code)
        goto out;
    code = bl_output_publish(&out, e);
    if (!code)
        code = bl_state_share_file(&p->state, BL_STATE_SEQUENCES, e);
    if (!code)
        code = bl_table_checksum_keep(&p->state, bl_checksum_end(&sum), e);
out:
    bl_output_abort(&out);
    return code;
}

/* Merges the parts, and reports rows of the table of attributes that belong to no sequence of any part. */
static int table_merge(struct bl_packing *p, const struct bl_parts *parts, struct bl_error *e)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    struct table_parts t = {.merge = {.folder = p->state.folder,
                                      .tasks = parts->tasks,
                                      .cancel = p->request.cancel,
                                      .fault = table_on_fault,
                                      .tick = table_on_merge_progress,
                                      .sink = p}};
    const struct bl_merged *merged = &t.merged;
    bl_packing_progress_begin(p, "merge", "chunks", NULL, 0);
    int code = table_write_merged(p, &t, e);
    bl_packing_progress_end(p);
    p->suppressed = merged->found.suppressed;
    if (code)
        goto out;
    if (p->request.plan_only)
        bl_packing_message(p, false, "%s: %s", bl_text_plural(a, parts->tasks, "part"),
                           bl_text_plural(b, merged->found.rows, "row"));
    if (merged->attributes && merged->unused)
        bl_packing_message(p, false, "%s: %s to no sequence", merged->attributes,
                           bl_text_plural(a, merged->unused, "row belongs|rows belong"));
out:
    free(merged->attributes);
    return code;
}

/* Makes the table, from the parts of a scan if tasks made one. A run without tasks does not wait for missing parts. */
static int table_make(struct bl_packing *p, bool *scanned, struct bl_error *e)
{
    struct bl_parts parts = {0};
    BL_TRY(bl_table_checksum_forget(&p->state, e));
    if (!p->repairing && !p->request.sequences)
        BL_TRY(bl_parts_find(&p->state, &parts, e));
    if (p->request.plan_only || (parts.tasks && (p->request.task.set || parts.missing < 0))) {
        BL_TRY(bl_parts_require(&p->state, &parts, e));
        return table_merge(p, &parts, e);
    }
    *scanned = !p->repairing && !p->request.sequences;
    BL_TRY(table_write(p, e));
    if (p->repairing)
        return BL_OK;
    return bl_input_set_unused(p->request.inputs, &p->unused, e);
}

/* --- checking the table ------------------------------------------------------------------------------------------- */

/* Checks that these options could have made the table. */
static int table_check(const struct bl_packing *p, struct bl_error *e)
{
    if (!p->table.kind)
        return bl_error_set(e, BL_EFAIL, "no usable input: there is nothing to pack%s%s",
                            p->table.count && !p->request.dry_run ? "; the reasons are in " : "",
                            p->table.count && !p->request.dry_run ? p->state.sequences : "");
    if (p->request.view)
        return BL_OK;
    if (!p->request.inputs->kind)
        return bl_error_set(e, BL_EUSAGE, "the table does not say what its sequences are: give --kind");
    if (p->table.mixed != SIZE_MAX)
        return bl_error_set(e, BL_EUSAGE,
                            "the table's rows differ in kind or sampling: row %zu differs from those before",
                            p->table.mixed);
    /* What a repair makes is compared with the dataset, which may be of an earlier version. */
    if (p->repairing)
        return BL_OK;
    const struct bl_input_set *inputs = p->request.inputs;
    struct bl_buffer sampling = {0};
    inputs->kind->scan->sampling(inputs->kind_config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    if (!code && *p->table.sampling && strcmp(sampling.data, p->table.sampling) != 0)
        code = bl_error_set(e, BL_EUSAGE, "the table was scanned with sampling \"%s\", the options say \"%s\" (%s)",
                            p->table.sampling, sampling.data,
                            p->request.sequences ? "use the same options, or scan again"
                                                 : "use the same options and version of bload, or another -o");
    bl_buffer_free(&sampling);
    return code;
}

/* Inputs that the scan found unusable count for --on-error and --max-failed. */
static int table_check_faults(struct bl_packing *p, struct bl_error *e)
{
    char a[BL_PLURAL_SIZE];
    const struct bl_sequences *t = &p->table;
    p->unusable = bl_sequences_unusable(t);
    if (p->request.options->on_error == BL_ON_ERROR_FAIL && p->unusable + t->damaged)
        return bl_error_set(
            e, BL_EFAIL, "%s (--on-error fail)",
            bl_text_plural(a, p->unusable + t->damaged, "input is unusable or damaged|inputs are unusable or damaged"));
    if (bl_tolerance_exceeded(&p->request.options->max_failed, p->unusable, (int64_t)t->count))
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " of %zu inputs are unusable: more than --max-failed allows",
                            p->unusable, t->count);
    return BL_OK;
}

int bl_packing_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    const struct bl_compare compare = {.files = p->request.sequences ? NULL : &inputs->files,
                                       .base = inputs->base,
                                       .kind = inputs->kind,
                                       .config = inputs->kind_config,
                                       .table = table,
                                       .workers = p->pack.share.workers,
                                       .cancel = p->request.cancel};
    return inputs->kind && !p->request.view ? bl_compare_run(&compare, e) : BL_OK;
}

/* Opens the table, after its checksum was verified, and checks that what was read is what was verified. */
static int table_open(struct bl_packing *p, struct bl_error *e)
{
    const char *path = p->state.sequences;
    const struct bl_sequences_columns columns =
        bl_plan_columns_wanted(p->request.options->group_by, p->request.plan_options);
    BL_TRY(bl_table_checksum_verify(&p->state, &p->table_checksum, e));
    BL_TRY(bl_sequences_open_columns(&p->table, &path, 1, &columns, e));
    return bl_table_checksum_compare(&p->table, p->table_checksum, e);
}

/* Sends a table that the scratch has and the store has not: the run that made it was killed. */
static int table_share_left(struct bl_packing *p, struct bl_error *e)
{
    if (!p->state.mirror || bl_mirror_had(p->state.mirror, BL_WORK_FOLDER "/" BL_STATE_SEQUENCES))
        return BL_OK;
    return bl_state_share_file(&p->state, BL_STATE_SEQUENCES, e);
}

/* Gets the table of sequences. A table of an earlier run must still describe the inputs. */
static int table_get(struct bl_packing *p, bool *scanned, struct bl_error *e)
{
    bool exists;
    int code = bl_fs_exists(p->state.sequences, &exists, e);
    if (!code && exists && bl_packing_reads_stdin(p) && !p->repairing)
        code = stdin_check(p, e); /* may remove the table */
    if (!code)
        code = bl_fs_exists(p->state.sequences, &exists, e);
    if (!code)
        code = exists ? table_share_left(p, e) : table_make(p, scanned, e);
    if (code)
        return code;
    code = table_open(p, e);
    /* Tasks skip this: each would read all files. A changed file is noticed when it is read. */
    if (code || *scanned || p->request.task.set || p->repairing)
        return code;
    struct bl_error other = {0};
    code = bl_packing_compare_inputs(p, &p->table, &other);
    if (code == BL_EDATA)
        return bl_error_set(e, BL_EFAIL, "the inputs changed since the scan: %s (use the same inputs, or another -o)",
                            other.text);
    return bl_error_pass(e, code, &other);
}

/* Merges the parts of a scan into the table, unless another process has done it. If the sources are known, the scan
 * must have used them. */
static int table_plan_only(struct bl_packing *p, struct bl_error *e)
{
    struct bl_parts parts;
    bool scanned;
    BL_TRY(bl_parts_find(&p->state, &parts, e));
    int code = BL_OK;
    if (parts.tasks && p->request.inputs->sources)
        code = bl_parts_agree(&p->state, parts.tasks, p->request.given, p->request.inputs, p->request.subset, e);
    else if (parts.tasks)
        code = bl_parts_check_subset(&p->state, p->request.given, p->request.subset, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(p->state.sequences, &exists, e);
    if (!code)
        code = exists ? table_share_left(p, e) : table_make(p, &scanned, e);
    if (code)
        return code;
    code = table_open(p, e);
    p->partial = !code && !bl_sequences_is_clean(&p->table);
    return code || !bl_packing_is_all_held(p) ? code : bl_packing_end_held(p, e);
}

/* Has the steps of texts read from the spool in the store, if there is one. Its files are listed here, so that no
 * request asks for each. */
static int table_find_spool(struct bl_packing *p, struct bl_error *e)
{
    struct bl_input_folder folder;
    p->env.spool_url = bl_mirror_spool_url(p->request.mirror);
    if (!p->env.spool_url)
        return BL_OK;
    if (bl_input_folder_open(&folder, p->env.spool_url) == 0) {
        bl_input_folder_close(&folder);
        return BL_OK;
    }
    if (errno != ENOENT)
        return bl_opener_fail("cannot list", p->env.spool_url, BL_EFAIL, e);
    /* An equal run has ended meanwhile, and removed it. */
    bl_far_forgive();
    p->env.spool_url = NULL;
    return BL_OK;
}

int bl_packing_table(struct bl_packing *p, struct bl_error *e)
{
    struct bl_input_set *inputs = p->request.inputs;
    bool scanned = false;
    if (p->request.plan_only)
        return table_plan_only(p, e);
    if (!p->request.dry_run) /* which needs the tokens of a few inputs only: see forecast.c */
        p->env.spool = p->request.spool ? p->request.spool : p->state.spool;
    if (p->env.spool && p->request.mirror && !p->request.spool)
        BL_TRY(table_find_spool(p, e));
    p->env.shared = p->request.task.set;
    BL_TRY(p->env.spool && p->request.spool ? bl_fs_mkdirs(p->request.spool, e) : BL_OK);
    BL_TRY(table_get(p, &scanned, e));
    if (bl_packing_is_all_held(p))
        return bl_packing_end_held(p, e);
    BL_TRY(table_check(p, e));
    BL_TRY(table_check_faults(p, e));
    if (inputs->exclusion && !scanned)
        BL_TRY(bl_exclusion_match(&p->table, inputs->exclusion, e));
    if (!p->request.task.index) { /* one of the tasks reports this for all */
        struct bl_buffer text = {0};
        bl_input_set_unmatched(inputs, &text);
        if (text.size && !text.failed)
            bl_packing_message(p, true, "%s", text.data);
        bl_buffer_free(&text);
    }
    if (scanned || !inputs->kind->spool || p->request.dry_run)
        return BL_OK;
    /* Readers need the spool. If the table existed before, the spool may be missing or incomplete. */
    if (p->request.sequences)
        BL_TRY(bl_input_set_list_table(inputs, &p->table, e));
    return table_run_scan(p, NULL, e);
}

/* --- checks before opening ---------------------------------------------------------------------------------------- */

/* Checks that the scan will have the column that an option names. option: without the dashes. */
static int table_check_column(const char *header, const char *option, const char *name, struct bl_error *e)
{
    bool is_cost = strcmp(option, "cost") == 0;
    if (bl_columns_find(header, name) >= 0)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "--%s %s: the scan has no such column (a table that has one: --sequences%s)",
                        option, name, is_cost ? "; a cost by lengths: ALPHA,BETA" : "");
}

/* Checks that a given table, with the attributes that are joined to it, has the columns of own fields. */
static int table_check_own(const struct bl_packing_request *request, struct bl_error *e)
{
    const struct bl_input_set *inputs = request->inputs;
    struct bl_buffer header = {0}, kind = {0};
    if (!inputs->own)
        return BL_OK;
    int code = bl_sequences_peek(request->sequences, &header, &kind, e);
    if (!code && inputs->attributes)
        bl_attributes_columns(inputs->attributes, &header);
    if (!code)
        code = bl_buffer_check(&header, e);
    if (!code)
        code = bl_own_check_columns(inputs->own, header.data, true, e);
    bl_buffer_free(&header);
    bl_buffer_free(&kind);
    return code;
}

int bl_packing_check_inputs(const struct bl_packing_request *request, struct bl_error *e)
{
    struct bl_buffer header = {0};
    const struct bl_sequences_columns columns =
        bl_plan_columns_wanted(request->options->group_by, request->plan_options);
    const struct bl_kind *kind = request->inputs->kind;
    BL_TRY(bl_extend_check(request->subset, kind ? kind->name : NULL, e));
    BL_TRY(bl_packing_check_cost(request, e));
    if (request->sequences)
        BL_TRY(table_check_own(request, e));
    if (request->sequences)
        return bl_packing_check_attributes(request, e);
    int code = bl_input_set_header(request->inputs, &header, e);
    if (!code)
        code = bl_subset_check_header(request->subset, header.data, "the table of this scan", e);
    if (!code && request->subset->split.parts) {
        bl_buffer_text(&header, "\tsplit");
        code = bl_buffer_check(&header, e);
    }
    if (!code && columns.group_by)
        code = table_check_column(header.data, "group-by", columns.group_by, e);
    if (!code && columns.together)
        code = table_check_column(header.data, "together", columns.together, e);
    for (int k = 0; !code && k < columns.numbers; k++)
        code = table_check_column(header.data, columns.number[k].option, columns.number[k].name, e);
    bl_buffer_free(&header);
    return code ? code : bl_packing_check_attributes(request, e);
}
