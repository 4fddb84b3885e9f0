/* bload pack: sources in, a dataset out: scan, plan, read and assemble, write, finish. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "cmd/lengths.h"
#include "cmd/summary.h"
#include "run/fields.h"
#include "run/finish.h"
#include "run/memory.h"
#include "run/options.h"
#include "run/pack.h"
#include "run/progress.h"
#include "run/signals.h"
#include "run/state.h"
#include "scan/compare.h"
#include "scan/scan.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/plantable.h"
#include "store/shard.h"

struct packing {
    bool print_config;
    struct bl_pack_options options;
    struct bl_plan_options plan_options;
    struct bl_inputs inputs;
    char *output; /* the dataset's directory as it is to be opened */
    char *sequences_path, *plan_path;
    struct bl_buffer identity;
    struct bl_kind_env env;
    struct bl_state state;
    struct bl_sequences table;
    struct bl_plan plan;
    const struct bl_kind *kind;
    const void *kind_config;
    struct bl_format format;
    int workers, slots;
    struct bl_progress progress;
    int64_t useless; /* inputs of no use so far: skipped or failed */
    uint8_t *failed; /* a bit per sequence: it has been told, for an earlier piece */
    bool partial;    /* the status that BL_OK ends with */
    struct bl_finished finished;
    double seconds;
    int64_t steps; /* read in this run */
};

static const struct bl_option table[] = {
    {.name = "print-config",
     .type = &bl_option_flag,
     .command_line_only = true,
     .offset = offsetof(struct packing, print_config),
     .help = "print the effective configuration as YAML, do nothing"},
    {0},
};

/* --- what the dataset is ---------------------------------------------------------------------------------------- */

/* A path of an option: one from the YAML file counts from that file. To be freed; NULL when the option is not set. */
static int resolve(struct bl_cmd *cmd, const struct packing *p, const char *option, const char *path, char **out)
{
    bool from_file = bl_options_origin(&cmd->options, option) == BL_ORIGIN_FILE;
    *out = path ? bl_source_open_path(from_file ? p->inputs.config.directory : NULL, path) : NULL;
    return path && !*out ? bl_error_memory(&cmd->error) : BL_OK;
}

static int settle(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    int code = bl_inputs_settle(&p->inputs, cmd);
    if (!code)
        code = resolve(cmd, p, "output", p->options.output, &p->output);
    if (!code)
        code = resolve(cmd, p, "sequences", p->options.sequences, &p->sequences_path);
    if (!code)
        code = resolve(cmd, p, "plan", p->options.plan, &p->plan_path);
    if (code || p->print_config)
        return code;
    if (!p->output)
        return bl_error_set(e, BL_EUSAGE, "-o DIR must be given: the dataset's directory");
    if (p->sequences_path && p->inputs.sources && !p->inputs.config.sources)
        return bl_error_set(e, BL_EUSAGE, "sources or --sequences, not both");
    if (!p->sequences_path && !p->inputs.sources)
        return bl_error_set(e, BL_EUSAGE, "no source given (see bload pack --help)");
    if (p->plan_path && !p->sequences_path)
        return bl_error_set(e, BL_EUSAGE, "--plan needs --sequences: the table that it was made from");
    return bl_cmd_require_T(cmd);
}

static int add_checksum(struct packing *p, const char *name, const char *path, struct bl_error *e)
{
    int64_t bytes;
    uint64_t checksum;
    char digest[BL_DIGEST_SIZE];
    if (!path)
        return BL_OK;
    int code = bl_checksum_file(path, &bytes, &checksum, e);
    if (code)
        return code;
    bl_checksum_format(checksum, digest);
    bl_buffer_printf(&p->identity, "%s: %s\n", name, digest);
    return BL_OK;
}

/* Everything that decides the dataset's bytes beside the contents of the inputs and the versions. */
static int identify(struct bl_cmd *cmd, struct packing *p)
{
    bl_options_identity(&cmd->options, &p->identity);
    for (int s = 0; s < p->inputs.sources && !p->sequences_path; s++) {
        bl_buffer_text(&p->identity, "source ");
        bl_buffer_int(&p->identity, s + 1);
        bl_buffer_text(&p->identity, ": ");
        bl_text_escape(&p->identity, p->inputs.source[s].path, strlen(p->inputs.source[s].path));
        if (p->inputs.source[s].kind)
            bl_buffer_printf(&p->identity, " (%s)", p->inputs.source[s].kind->name);
        bl_buffer_byte(&p->identity, '\n');
    }
    int code = add_checksum(p, "sequences", p->sequences_path, &cmd->error);
    if (!code)
        code = add_checksum(p, "plan", p->plan_path, &cmd->error);
    return code ? code : bl_buffer_check(&p->identity, &cmd->error);
}

/* --- the inputs ------------------------------------------------------------------------------------------------- */

/* Whether an input of no use is one too many. */
static int tolerate(struct packing *p, const struct bl_row *row, const char *reason, int64_t inputs, struct bl_error *e)
{
    p->useless++;
    if (p->options.on_error == BL_ON_ERROR_FAIL)
        return bl_error_set(e, BL_EFAIL, "%s: %s (--on-error fail)", row->id, reason);
    if (bl_tolerance_exceeded(&p->options.max_failed, p->useless, inputs))
        return bl_error_set(e, BL_EFAIL,
                            "%" PRId64 " of %" PRId64 " inputs are of no use: more than --max-failed allows",
                            p->useless, inputs);
    return BL_OK;
}

static int refuse_damage(const struct packing *p, const struct bl_row *row, const char *reason, struct bl_error *e)
{
    if (p->options.on_error == BL_ON_ERROR_FAIL)
        return bl_error_set(e, BL_EFAIL, "%s: %s (--on-error fail)", row->id, reason);
    return BL_OK;
}

static int take_scan_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct packing *p = sink;
    bl_inputs_say_fault(row);
    if (row->status != BL_ROW_OK)
        return tolerate(p, row, row->reason, (int64_t)p->inputs.files.count, e);
    return refuse_damage(p, row, row->reason, e);
}

static void tick_scan(void *sink, size_t files, int64_t steps)
{
    struct packing *p = sink;
    (void)steps;
    p->progress.done = (int64_t)files;
    bl_progress_tick(&p->progress);
}

static int scan(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_output out = {0};
    struct bl_scan job = {.files = &p->inputs.files,
                          .base = p->inputs.base,
                          .kind_config = (const void *const *)p->inputs.kind_config,
                          .workers = p->workers,
                          .env = &p->env,
                          .fault = take_scan_fault,
                          .tick = tick_scan,
                          .sink = p};
    int code = bl_output_open(&out, p->state.sequences, &cmd->error);
    bl_progress_start(&p->progress, cmd->common.quiet, "scan", "files", NULL, (int64_t)p->inputs.files.count);
    if (!code)
        code = bl_scan_run(&job, &out, &cmd->error);
    bl_progress_end(&p->progress);
    if (!code)
        code = bl_output_commit(&out, &cmd->error);
    bl_output_abort(&out);
    return code;
}

/* A table that was given is copied: the run must go on with the same one. */
static int copy_table(struct packing *p, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = bl_io_slurp(p->sequences_path, SIZE_MAX / 4, &text, e);
    if (!code)
        code = bl_io_replace(p->state.sequences, text.data, text.size, e);
    bl_buffer_free(&text);
    return code;
}

static int open_table(const char *path, struct bl_sequences *out, struct bl_error *e)
{
    return bl_sequences_open(out, &path, 1, false, e);
}

/* The table must be one that these options would have made. */
static int check_table(struct packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    if (!t->kind)
        return bl_error_set(e, BL_EFAIL, "not one input is of use: there is nothing to pack");
    if (t->mixed != SIZE_MAX)
        return bl_error_set(e, BL_EUSAGE,
                            "the table's rows differ in kind or sampling: row %zu is not like those before", t->mixed);
    p->kind = bl_kind_find(t->kind);
    if (!p->kind)
        return bl_error_set(e, BL_EUSAGE, "the table's sequences are of the kind \"%s\", which is none", t->kind);
    for (int k = 0; bl_kinds[k]; k++) {
        if (bl_kinds[k] == p->kind)
            p->kind_config = p->inputs.kind_config[k];
    }
    struct bl_buffer sampling = {0};
    p->kind->sampling(p->kind_config, &sampling);
    int code = bl_buffer_check(&sampling, e);
    if (!code && strcmp(sampling.data, t->sampling) != 0)
        code = bl_error_set(e, BL_EUSAGE, "the table was scanned with sampling \"%s\", the options say \"%s\"",
                            t->sampling, sampling.data);
    bl_buffer_free(&sampling);
    return code;
}

/* Inputs that the scan already found useless count for --on-error and --max-failed. */
static int check_faults(struct packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    int64_t useless = t->by_status[BL_ROW_SKIPPED] + t->by_status[BL_ROW_FAILED];
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

/* The table of the scan in DIR/.bload: made now, or found there and compared with the inputs. */
static int get_table(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    bool found = access(p->state.sequences, F_OK) == 0;
    int code = BL_OK;
    if (!found)
        code = p->sequences_path ? copy_table(p, e) : scan(cmd, p);
    if (!code)
        code = open_table(p->state.sequences, &p->table, e);
    if (!code && found && !p->sequences_path)
        code = bl_scan_compare(&p->inputs.files, p->inputs.base, &p->table, e);
    if (!code)
        code = check_table(p, e);
    return code ? code : check_faults(p, e);
}

/* --- plan and format ------------------------------------------------------------------------------------------- */

static int get_plan(struct packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    if (!p->plan_path)
        return bl_plan_make(&p->plan, t->length, t->count, &p->plan_options, e);
    int64_t T;
    int code = bl_plan_T(&T, t->length, t->count, &p->plan_options, e);
    size_t size = strlen(p->plan_path);
    if (!code && size > 12 && strcmp(p->plan_path + size - 12, ".safetensors") == 0)
        return bl_index_load(&p->plan, p->plan_path, T, t->length, t->count, e);
    return code ? code : bl_plantable_read(&p->plan, p->plan_path, T, t->length, t->count, e);
}

static int make_format(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    int code =
        bl_fields_settle(&p->format.fields, p->kind, p->kind_config, &p->env, &p->table, p->inputs.base, p->workers, e);
    if (code)
        return code;
    p->format.T = p->plan.T;
    p->format.S = p->plan.max_sequences;
    p->format.blocks = (int64_t)p->plan.blocks;
    p->format.has_source_start = p->plan.cut > 0;
    p->format.has_segment_ids = p->options.segment_ids;
    p->format.compressed = p->options.compress.on;
    p->format.level = p->options.compress.level;
    code = bl_plan_digest(&p->plan, p->table.length, p->format.plan_digest, e);
    return code ? code : bl_format_init(&p->format, p->options.shard_size, e);
}

/* --- packing ---------------------------------------------------------------------------------------------------- */

static int take_outcome(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e)
{
    struct packing *p = sink;
    struct bl_row told = *row;
    told.reason = outcome->text;
    told.status = outcome->failed ? BL_ROW_FAILED : BL_ROW_OK;
    if (outcome->failed) {
        uint8_t *bits = &p->failed[outcome->row / 8], bit = (uint8_t)(1u << outcome->row % 8);
        if (*bits & bit)
            return BL_OK;
        *bits |= bit;
    }
    bool was_on = p->progress.on;
    bl_progress_end(&p->progress);
    p->progress.on = was_on;
    bl_inputs_say_fault(&told);
    if (outcome->failed)
        return tolerate(p, row, outcome->text, (int64_t)p->table.count, e);
    return refuse_damage(p, row, outcome->text, e);
}

static void tick_pack(void *sink, const struct bl_pack_progress *progress)
{
    struct packing *p = sink;
    p->progress.done = progress->blocks;
    p->progress.steps = p->steps = progress->steps;
    p->progress.steps_left = progress->steps_left;
    p->progress.bytes = progress->bytes;
    bl_progress_tick(&p->progress);
}

static int write_shards(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_pack job = {.dir = p->output,
                          .base = p->inputs.base,
                          .table = &p->table,
                          .plan = &p->plan,
                          .kind = p->kind,
                          .config = p->kind_config,
                          .format = &p->format,
                          .pad_repeat = p->options.pad == BL_PAD_REPEAT,
                          .workers = p->workers,
                          .slots = p->slots,
                          .env = &p->env,
                          .outcome = take_outcome,
                          .tick = tick_pack,
                          .sink = p};
    p->failed = calloc(p->table.count / 8 + 1, 1);
    int code = p->failed ? bl_shard_prepare(p->output, &cmd->error) : bl_error_memory(&cmd->error);
    if (!code)
        code = bl_shard_sweep(p->output, &cmd->error);
    if (!code)
        code = bl_finish_sweep(p->output, &cmd->error);
    bl_progress_start(&p->progress, cmd->common.quiet, "pack", "blocks", "frames", (int64_t)p->plan.blocks);
    if (!code)
        code = bl_pack_run(&job, &cmd->error);
    p->seconds = bl_progress_seconds(&p->progress);
    bl_progress_end(&p->progress);
    return code;
}

static int finish(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_buffer made = {0};
    p->kind->describe(p->kind_config, &made);
    int code = bl_buffer_check(&made, &cmd->error);
    struct bl_finish job = {.dir = p->output,
                            .table = &p->table,
                            .plan = &p->plan,
                            .plan_options = &p->plan_options,
                            .kind = p->kind,
                            .format = &p->format,
                            .identity = p->identity.data,
                            .simd = bl_simd_name(p->env.simd),
                            .made = made.data};
    if (!code)
        code = bl_finish_run(&job, &p->finished, &cmd->error);
    if (!code)
        code = bl_state_remove(&p->state, &cmd->error);
    p->partial = p->finished.skipped || p->finished.failed || p->finished.damaged;
    bl_buffer_free(&made);
    return code;
}

static void say_summary(const struct packing *p)
{
    char a[32], b[32], c[32];
    const struct bl_finished *f = &p->finished;
    bl_summary_plan(&p->plan, &p->plan_options);
    bl_cmd_say("%s: %s shards, %s; %s %s/s", p->output, bl_text_count(a, bl_format_shards(&p->format)),
               bl_text_size(b, f->bytes),
               bl_text_count(c, p->seconds > 0 ? (int64_t)((double)p->steps / p->seconds) : 0), "frames");
    if (p->partial)
        bl_cmd_say("%" PRId64 " inputs skipped, %" PRId64 " failed (%" PRId64 " steps left as zeros), %" PRId64
                   " damaged: sequences.tsv names them",
                   f->skipped, f->failed, f->failed_steps, f->damaged);
    bl_inputs_say_ignored(&p->inputs);
}

/* --- a dataset that is there ------------------------------------------------------------------------------------ */

/* The configuration that a manifest holds, as identity lines. */
static int manifest_identity(const struct bl_manifest *m, struct bl_buffer *out, struct bl_error *e)
{
    for (size_t i = 0; i < m->configuration.count; i++)
        bl_buffer_printf(out, "%s: %s\n", m->configuration.pair[i].name, m->configuration.pair[i].value);
    return bl_buffer_check(out, e);
}

/* 1 when the output holds this very dataset, complete; 0 when it holds none; or a code. */
static int find_complete(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer path = {0}, there = {0}, what = {0};
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
        code = manifest_identity(&m, &there, e);
    if (!code)
        code = bl_identity_compare(there.data ? there.data : "", p->identity.data, what.data, e);
    bl_buffer_clear(&path);
    bl_buffer_printf(&path, "%s/sequences.tsv", p->output);
    if (!code)
        code = open_table(path.data, &table_there, e);
    if (!code && !p->sequences_path)
        code = bl_scan_compare(&p->inputs.files, p->inputs.base, &table_there, e);
    if (!code)
        code = bl_state_clear(p->output, e);
    if (!code) {
        p->partial = !bl_sequences_clean(&table_there);
        if (!cmd->common.quiet)
            bl_cmd_say("%s is complete already: nothing to do", p->output);
    }
    bl_sequences_close(&table_there);
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    return code ? code : 1;
}

/* --- the command ------------------------------------------------------------------------------------------------ */

/* The level that a dataset here, finished or begun, was made with; *level stays as it is when there is none. */
static int recorded_simd(const struct packing *p, enum bl_simd *level, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    int code = BL_OK;
    if (bl_manifest_read(&m, p->output, &none) == BL_OK)
        bl_buffer_text(&name, m.simd);
    else
        code = bl_state_recall(p->output, "simd", &name, e);
    if (!code && name.size)
        code = bl_simd_parse(name.data, level, e);
    bl_manifest_free(&m);
    bl_buffer_free(&name);
    return code;
}

/* Without --simd: what a run here began with, so that it goes on alike, or the best of this machine. */
static int apply_simd(struct packing *p, struct bl_error *e)
{
    int code = BL_OK;
    p->env.simd = bl_simd_best();
    if (p->options.simd)
        p->env.simd = (enum bl_simd)(p->options.simd - 1);
    else
        code = recorded_simd(p, &p->env.simd, e);
    p->options.simd = (int)p->env.simd + 1; /* what identifies the dataset is the level, not how it was chosen */
    return code ? code : bl_simd_apply(p->env.simd, e);
}

static int print_config(struct bl_cmd *cmd, const struct packing *p)
{
    struct bl_buffer text = {0};
    bl_config_print(&cmd->options, p->inputs.source, p->inputs.sources, &text);
    int code = bl_buffer_check(&text, &cmd->error);
    if (!code)
        fwrite(text.data, 1, text.size, stdout); /* main checks standard output */
    bl_buffer_free(&text);
    return code;
}

static int build(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    int code = bl_state_open(&p->state, p->output, p->identity.data, e);
    if (!code)
        code = get_table(cmd, p);
    if (!code)
        code = get_plan(p, e);
    if (!code)
        code = make_format(cmd, p);
    if (!code)
        code = bl_memory_settle(p->options.memory, &p->table, &p->plan, &p->format, &p->workers, &p->slots, e);
    if (!code)
        code = write_shards(cmd, p);
    if (!code)
        code = finish(cmd, p);
    if (!code && !cmd->common.quiet)
        say_summary(p);
    return code;
}

static int run(struct bl_cmd *cmd, struct packing *p)
{
    struct bl_error *e = &cmd->error;
    int code = settle(cmd, p);
    if (code || p->print_config)
        return code ? code : print_config(cmd, p);
    bl_signals_install(&cmd->cancel);
    p->env.cancel = &cmd->cancel;
    p->workers = bl_cmd_workers(&cmd->common);
    code = apply_simd(p, e);
    if (!code && !p->sequences_path)
        code = bl_inputs_list(&p->inputs, cmd);
    if (!code)
        code = identify(cmd, p);
    if (!code)
        code = find_complete(cmd, p);
    return code == 0 ? build(cmd, p) : code < 0 ? code : BL_OK;
}

static void free_packing(struct packing *p)
{
    bl_state_close(&p->state);
    bl_plan_free(&p->plan);
    bl_sequences_close(&p->table);
    bl_inputs_free(&p->inputs);
    bl_buffer_free(&p->identity);
    free(p->failed);
    free(p->output);
    free(p->sequences_path);
    free(p->plan_path);
}

int bl_cmd_pack(int argc, char **argv)
{
    struct packing p = {.state = {.lock = -1}};
    struct bl_cmd cmd = {.name = "pack",
                         .usage =
                             "SOURCE... -T N -o DIR [options]\n"
                             "       bload pack -c dataset.yaml -o DIR [options]\n\n"
                             "Turns sources into a dataset directory. Stopped anywhere, the same command goes on."};
    struct bl_error *e = &cmd.error;
    int code = bl_options_add(&cmd.options, "Output", bl_pack_option_table, &p.options, e);
    if (!code)
        code = bl_inputs_add_options(&p.inputs, &cmd);
    if (!code)
        code = bl_options_add(&cmd.options, "Planning", bl_plan_option_table, &p.plan_options, e);
    if (!code)
        code = bl_options_add(&cmd.options, "Strategy", bl_plan_strategy_table, &p.plan_options, e);
    if (!code)
        code = bl_options_add(&cmd.options, "Configuration", table, &p, e);
    if (!code)
        code = bl_options_add(&cmd.options, "General", bl_common_threads_table, &cmd.common, e);
    if (!code)
        code = bl_cmd_parse(&cmd, argc, argv);
    if (!code)
        code = run(&cmd, &p);
    free_packing(&p);
    return bl_cmd_end(&cmd, code, p.partial);
}
