/* The inputs of scan and pack: from operands or a YAML file to listed files and one configured kind.
 *
 * The steps of a command are
 *
 *     bl_inputs_add_options   all options of all kinds, before the command line is parsed
 *     bl_inputs_resolve       the YAML file, the sources, checks that need no file
 *     bl_inputs_list          the files, and the kind of which they are
 *     bl_inputs_use           the options of this kind, the fields of the YAML file, isolation, tables
 *
 * Kinds share options: --fit, for example, belongs to video and frames, and is one entry of one table over one struct.
 * So configs[k] may be the same pointer for several k. */
#include "cmd/inputs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/composite/composite_kind.h"
#include "kind/media_options.h"
#include "plan/capacity.h"
#include "remote/url.h"
#include "run/state.h"
#include "scan/list_lines.h"
#include "scan/member_attributes.h"
#include "scan/samples.h"
#include "store/format.h"
#include "store/manifest.h"
#include "store/shard_table.h"

/* The options of sources. Those that AFFECT lengths or bytes are lines of the dataset's identity. */
static const struct bl_option table[] = {
    BL_OPTION_STRING("config", struct bl_inputs, config_path, BL_AFFECTS_NOTHING,
                     "a YAML file with these options; flags win", .letter = 'c', .placeholder = "FILE.yaml",
                     .command_line_only = true),
    BL_OPTION_CHOICE("kind", struct bl_inputs, kind_option, bl_kind_choices, BL_AFFECTS_LENGTHS,
                     "kind of the sources, if their names do not show it", .initial = "auto"),
    BL_OPTION_STRING("member", struct bl_inputs, member, BL_AFFECTS_LENGTHS,
                     "the member of each sample in a tar that is the sequence, by what follows its key [by kind]",
                     .placeholder = "EXTENSION,..."),
    BL_OPTION_STRING("columns", struct bl_inputs, columns, BL_AFFECTS_LENGTHS,
                     "new names for columns of lists: path=file_name,label=class; or path=videos/{id}.mp4",
                     .placeholder = "NAME=COLUMN,...", .unlisted = true),
    BL_OPTION_TEXTS("exclude", struct bl_inputs, excluded, BL_AFFECTS_NOTHING,
                    "leave out the sequence with this id, all of the file with this id, or all ids that FILE lists, "
                    "one a line; may be given again",
                    .placeholder = "ID|@FILE"),
    BL_OPTION_STRING(
        "dtype", struct bl_inputs, dtype, BL_AFFECTS_LENGTHS,
        "type of the values: s16 or f32 for samples, i32 or u16 (ids must fit) for tokens, same or f32 (also for "
        "F64) for arrays [the first of each]",
        .placeholder = "s16|f32|i32|u16|same"),
    BL_OPTION_CUSTOM("stream", &bl_option_stream_number, int, struct bl_inputs, stream, BL_AFFECTS_LENGTHS,
                     "which stream of a video or sound to read, numbered from 0 among those of its kind",
                     .initial = "best"),
    BL_OPTION_BYTES("decoder-memory", struct bl_inputs, set.decoder_memory, BL_AFFECTS_LENGTHS,
                    "skip a video, sound or image that needs more memory than this to be decoded", .initial = "1G",
                    .min = 1),
    BL_OPTION_STRING(
        "spool", struct bl_inputs, spool, BL_AFFECTS_NOTHING,
        "where tokens and inflated arrays are kept for packing; the default of pack is a folder in its output",
        .placeholder = "DIR"),
    BL_OPTION_PATH("attributes", struct bl_inputs, attributes.path, BL_AFFECTS_NOTHING,
                   "a CSV or TSV with a row for each sequence, joined by id; numeric columns become tensors [n,S]",
                   .placeholder = "FILE"),
    BL_OPTION_STRING("attributes-id", struct bl_inputs, attributes.id, BL_AFFECTS_LENGTHS,
                     "column of ids of --attributes [id, else the first]", .placeholder = "COLUMN"),
    BL_OPTION_STRING("attributes-columns", struct bl_inputs, attributes.columns, BL_AFFECTS_LENGTHS,
                     "columns of --attributes to join [all others]", .placeholder = "A,B"),
    BL_OPTION_STRING(
        "attributes-members", struct bl_inputs, attributes_members, BL_AFFECTS_LENGTHS,
        "instead of a table: these members of each sample in a tar; the values of .json, the text of others",
        .placeholder = "EXTENSION,..."),
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Returns the config of an earlier kind with the same table of options, or NULL. */
static void *config_shared(const struct bl_inputs *inputs, int k)
{
    for (int before = 0; before < k; before++) {
        if (bl_kinds[before]->options.table == bl_kinds[k]->options.table)
            return inputs->configs[before];
    }
    return NULL;
}

/* A table that several kinds share is added once, with the title of the first kind. */
int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd, bool hidden)
{
    BL_TRY(bl_options_add(&cmd->options, hidden ? NULL : "Sources", table, inputs, &cmd->error));
    BL_TRY(bl_options_add(&cmd->options, hidden && !inputs->shows_urls ? NULL : BL_CMD_REMOTE_TITLE,
                          bl_cmd_remote_table, &inputs->remote, &cmd->error));
    BL_TRY(bl_options_add(&cmd->options, hidden ? NULL : "Decoding", bl_isolation_option_table,
                          &inputs->isolation.options, &cmd->error));
    for (int k = 0; bl_kinds[k]; k++) {
        inputs->configs[k] = config_shared(inputs, k);
        if (inputs->configs[k])
            continue;
        inputs->configs[k] = calloc(1, bl_kinds[k]->options.config_size);
        if (!inputs->configs[k])
            return bl_error_memory(&cmd->error);
        const char *title = hidden ? NULL : bl_kinds[k]->title;
        BL_TRY(bl_options_add(&cmd->options, title, bl_kinds[k]->options.table, inputs->configs[k], &cmd->error));
    }
    return BL_OK;
}

/* Passes --dtype to the kinds that have such a type. BL_EUSAGE: none has; the message has the types of all kinds. */
static int inputs_resolve_dtype(struct bl_inputs *inputs, struct bl_error *e)
{
    bool known = !inputs->dtype;
    struct bl_buffer all = {0};
    for (int k = 0; bl_kinds[k] && inputs->dtype; k++) {
        int which = bl_kind_dtype(bl_kinds[k], inputs->dtype);
        known = known || which >= 0;
        struct bl_kind_config *config = inputs->configs[k];
        if (which >= 0)
            config->dtype = which;
        for (int i = 0; bl_kinds[k]->options.dtypes && bl_kinds[k]->options.dtypes[i]; i++) {
            const char *dtype = bl_kinds[k]->options.dtypes[i];
            int earlier = 0; /* the first kind that has the type: the message names each type once */
            while (bl_kind_dtype(bl_kinds[earlier], dtype) < 0)
                earlier++;
            if (earlier == k)
                bl_buffer_printf(&all, "%s%s", all.size ? ", " : "", dtype);
        }
    }
    int code = bl_buffer_check(&all, e);
    if (!code && !known)
        code = bl_error_set(e, BL_EUSAGE, "--dtype expects one of %s, not \"%s\"", all.data, inputs->dtype);
    bl_buffer_free(&all);
    return code;
}

/* Checks that this kind has the type that --dtype names; bl_inputs_resolve has only checked that some kind has it. */
static int inputs_check_dtype(const struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_error *e)
{
    if (inputs->dtype && kind->options.check_dtype && bl_kind_dtype(kind, inputs->dtype) >= 0)
        return kind->options.check_dtype(inputs->set.kind_config, e);
    if (!inputs->dtype || bl_kind_dtype(kind, inputs->dtype) >= 0)
        return BL_OK;
    if (!kind->options.dtypes)
        return bl_error_set(e, BL_EUSAGE, "--dtype %s: values of the kind %s have one type only", inputs->dtype,
                            kind->name);
    return bl_error_set(e, BL_EUSAGE, "--dtype %s: %s is %s or %s", inputs->dtype, kind->name, kind->options.dtypes[0],
                        kind->options.dtypes[1]);
}

/* Writes the lines of the fields in the dataset's identity. */
static int inputs_identify_fields(struct bl_inputs *inputs, struct bl_error *e)
{
    struct bl_buffer *all = &inputs->set.fields_identity, *lengths = &inputs->set.fields_lengths;
    bl_buffer_clear(all);
    bl_buffer_clear(lengths);
    for (int f = 0; f < inputs->config.fields; f++) {
        bl_extra_field_identify(&inputs->config.field[f], false, all);
        bl_extra_field_identify(&inputs->config.field[f], true, lengths);
    }
    BL_TRY(bl_buffer_check(lengths, e));
    return bl_buffer_check(all, e);
}

/* Makes "frames" the initial value of --name if the inputs are members "frames.npy" of samples, unless a field of the
 * shards cannot have that name. */
static int inputs_name_member(struct bl_inputs *inputs, struct bl_options *options, struct bl_error *e)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    static const struct bl_format tables_alone; /* without fields: bl_format_has finds only the tables of a shard */
    const char *member = inputs->member, *name = inputs->member_name;
    size_t size = member ? strlen(member) : 0;
    if (size < 5 || size - 4 >= sizeof inputs->member_name || strchr(member, ',') ||
        !(bl_path_has_suffix(member, ".npy") || bl_path_has_suffix(member, ".npz")) ||
        bl_options_origin(options, "name") != BL_ORIGIN_DEFAULT)
        return BL_OK;
    snprintf(inputs->member_name, sizeof inputs->member_name, "%.*s", (int)(size - 4), member);
    bool is_free = strspn(name, letters) == strlen(name) && !bl_format_has(&tables_alone, name);
    for (int f = 0; f < inputs->config.fields; f++)
        is_free = is_free && strcmp(inputs->config.field[f].name, name) != 0;
    return is_free ? bl_options_set(options, "name", name, BL_ORIGIN_DEFAULT, e) : BL_OK;
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

int bl_inputs_resolve(struct bl_inputs *inputs, const char *const *operand, int operands, struct bl_cmd *cmd)
{
    /* bload pack FILE.yaml is short for bload pack -c FILE.yaml. */
    if (!inputs->config_path && operands == 1 &&
        (bl_path_has_suffix(operand[0], ".yaml") || bl_path_has_suffix(operand[0], ".yml"))) {
        inputs->config_path = operand[0];
        operands = 0;
    }
    if (inputs->config_path)
        BL_TRY(bl_config_read(&inputs->config, inputs->config_path, &cmd->options, &cmd->error));
    /* Operands replace the sources of the file, so that a file can be used for other inputs. */
    if (operands) {
        inputs->set.source = calloc((size_t)operands, sizeof *inputs->set.source);
        if (!inputs->set.source)
            return bl_error_memory(&cmd->error);
        for (int i = 0; i < operands; i++)
            inputs->set.source[i].path = operand[i];
        inputs->set.sources = operands;
    } else if (inputs->config.sources) {
        inputs->set.source = inputs->config.source; /* owned by the set from now on */
        inputs->config.source = NULL;
        inputs->set.sources = inputs->config.sources;
        inputs->set.base = inputs->config.directory;
    }
    if (inputs->attributes_members && (inputs->attributes.path || inputs->attributes.id))
        return bl_error_set(
            &cmd->error, BL_EUSAGE,
            "--attributes-members takes the place of a table: leave out --attributes and --attributes-id");
    if ((inputs->attributes.id || inputs->attributes.columns) && !inputs->attributes.path &&
        !inputs->attributes_members)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--attributes-%s needs --attributes FILE",
                            inputs->attributes.id ? "id" : "columns");
    inputs->set.attributes_path = inputs->attributes.path;
    BL_TRY(inputs_identify_fields(inputs, &cmd->error));
    BL_TRY(inputs_name_member(inputs, &cmd->options, &cmd->error));
    for (int k = 0; bl_kinds[k]; k++) {
        struct bl_kind_config *config = inputs->configs[k];
        if (bl_kinds[k]->options.has_streams)
            config->stream = inputs->stream;
    }
    BL_TRY(inputs_resolve_dtype(inputs, &cmd->error));
    for (int k = 0; bl_kinds[k]; k++) {
        /* Options that kinds share can be judged only when the kind is known: bl_inputs_use checks them. */
        bool shared = false;
        for (int other = 0; bl_kinds[other]; other++)
            shared |= other != k && inputs->configs[other] == inputs->configs[k];
        if (!shared)
            BL_TRY(bl_kind_check(bl_kinds[k], inputs->configs[k], &cmd->error));
    }
    return BL_OK;
}

/* An option of the command line is relative to the working directory, as everywhere. */
const char *bl_inputs_base(const struct bl_inputs *inputs, const struct bl_options *options, const char *option)
{
    return option && bl_options_origin(options, option) == BL_ORIGIN_FILE ? inputs->config.directory : NULL;
}

int bl_inputs_resolve_path(const struct bl_inputs *inputs, const struct bl_options *options, const char *option,
                           const char *path, char **out, struct bl_error *e)
{
    const char *base = path && !bl_url_is(path) ? bl_inputs_base(inputs, options, option) : NULL;
    *out = path ? bl_path_join(base, path) : NULL;
    return path && !*out ? bl_error_memory(e) : BL_OK;
}

/* --- kind --------------------------------------------------------------------------------------------------------- */

int bl_inputs_prepare_kind(struct bl_inputs *inputs, const struct bl_options *options, const struct bl_kind *kind,
                           void *config, struct bl_error *e)
{
    int code = bl_config_resolve(&inputs->config, options, kind->options.table, config, e);
    struct bl_buffer warning = {0};
    if (!code && kind->options.prepare)
        code = kind->options.prepare(config, &warning, e);
    if (!code)
        code = bl_buffer_check(&warning, e);
    if (!code && warning.size)
        bl_cmd_print("%s", warning.data);
    bl_buffer_free(&warning);
    return code;
}

/* Returns the number of fields in the YAML file that are own fields, or that are not. */
static int inputs_count_fields(const struct bl_inputs *inputs, bool own)
{
    int count = 0;
    for (int f = 0; f < inputs->config.fields; f++)
        count += bl_extra_field_is_own(&inputs->config.field[f]) == own;
    return count;
}

/* Joins the kind of the sources, as part 0, and the fields of the YAML file with the same steps into one kind. A field
 * whose path is a list of clips has the list read here. */
static int inputs_make_composite(struct bl_inputs *inputs, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_composite *joined = &inputs->joined;
    if (bl_files_have_list(&inputs->set.files, inputs->set.kind))
        return bl_error_set(
            e, BL_EUSAGE,
            "fields cannot be joined to a list of clips or a manifest: its lines have no files of their own (the list "
            "may be a field itself, of sources with a file for each sequence)");
    *joined = (struct bl_composite){.base = inputs->config.directory,
                                    .sources_base = inputs->set.base,
                                    .members = &inputs->set.files.members,
                                    .parts = 1};
    joined->part[0] = (struct bl_composite_part){.kind = inputs->set.kind, .config = inputs->set.kind_config};
    for (int f = 0; f < inputs->config.fields; f++) {
        struct bl_extra_field *field = &inputs->config.field[f];
        if (bl_extra_field_is_own(field))
            continue;
        joined->part[joined->parts++] = bl_extra_field_part(field);
        int code = bl_inputs_prepare_kind(inputs, &field->options, field->kind, field->config, e);
        field->prepared = true; /* a failed prepare needs a release, too */
        if (code)
            return code;
        if (!bl_extra_field_has_clips(field))
            continue;
        char *path = bl_path_join(inputs->config.directory, field->path);
        code =
            path ? bl_field_clips_read(&field->clips, field->kind, path, field->path, cancel, e) : bl_error_memory(e);
        free(path);
        if (code) {
            bl_error_prefix(e, "field %s", field->name);
            return code;
        }
    }
    BL_TRY(bl_composite_make(joined, e));
    inputs->set.kind = &joined->kind;
    inputs->set.kind_config = joined;
    return BL_OK;
}

/* Isolates the kind of the sources, or the parts of which it is made. All are checked before one is changed. Own fields
 * are isolated when they are made. */
static int inputs_isolate(struct bl_inputs *inputs, struct bl_error *e)
{
    struct bl_isolation *isolation = &inputs->isolation;
    struct bl_composite *joined = &inputs->joined;
    bool single = !joined->parts;
    if (single)
        BL_TRY(bl_isolation_check(isolation, inputs->set.kind, inputs->set.kind_config, e));
    for (int p = 0; p < joined->parts; p++)
        BL_TRY(bl_isolation_check(isolation, joined->part[p].kind, joined->part[p].config, e));
    if (single)
        bl_isolation_add(isolation, &inputs->set.kind, inputs->set.kind_config, NULL);
    for (int p = 0; p < joined->parts; p++)
        bl_isolation_add(isolation, &joined->part[p].kind, joined->part[p].config, joined->part[p].path);
    return BL_OK;
}

/* Uses the isolation, which has all its parts, and prints what it lacks. */
static void inputs_use_isolation(struct bl_inputs *inputs)
{
    const struct bl_isolation *isolation = &inputs->isolation;
    inputs->set.isolation = isolation->parts ? &inputs->isolation : NULL; /* NULL: no kind decodes, or --isolate off */
    const char *warning = bl_isolation_warning(isolation);
    if (warning)
        bl_cmd_print("%s", warning);
}

/* Returns BL_EUSAGE if a flag is an option of another kind than that of the inputs. Options of
 * other kinds in the YAML file have no effect. */
static int inputs_check_flags(const struct bl_cmd *cmd, const struct bl_kind *kind, struct bl_error *e)
{
    for (int k = 0; bl_kinds[k]; k++) {
        const struct bl_option *own = bl_kinds[k]->options.table;
        for (const struct bl_option *option = own; own != kind->options.table && option->name; option++) {
            if (bl_options_origin(&cmd->options, option->name) == BL_ORIGIN_FLAG)
                return bl_error_set(e, BL_EUSAGE, "--%s is for %s, and the inputs are %s (--kind chooses another)",
                                    option->name, bl_kinds[k]->name, kind->name);
        }
    }
    return BL_OK;
}

/* Reads the files beside the inputs: lists of excluded sequences, lists of inputs, and the attributes, which are a
 * table or members of tars. */
static int inputs_read_tables(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    struct bl_error *e = &cmd->error;
    BL_TRY(bl_config_resolve(&inputs->config, &cmd->options, table, inputs, e));
    inputs->set.attributes_path = inputs->attributes.path;
    if (inputs->attributes.path && strcmp(inputs->attributes.path, "-") == 0)
        return bl_error_set(e, BL_EUSAGE, "--attributes needs a file: standard input can be read only once");
    if (inputs->attributes.path)
        BL_TRY(bl_io_check_path(inputs->attributes.path, e));
    if (inputs->excluded.count)
        BL_TRY(bl_exclusion_open(&inputs->set.exclusion, inputs->excluded.text, inputs->excluded.count,
                                 bl_inputs_base(inputs, &cmd->options, "exclude"), e));
    BL_TRY(
        bl_files_read_lists(&inputs->set.files, inputs->set.kind, inputs->set.base, inputs->columns, &cmd->cancel, e));
    /* Standard input cannot be read before the scan, which then takes only the known keys. */
    if (bl_kind_has_manifests(inputs->set.kind) && bl_input_set_has_stdin(&inputs->set))
        bl_cmd_print("standard input: further keys of a manifest become columns only if the manifest is a file");
    if (inputs->attributes.path)
        BL_TRY(bl_attributes_open(&inputs->set.attributes, &inputs->attributes, &cmd->cancel, e));
    const struct bl_member_attributes members = {
        .extensions = inputs->attributes_members, .columns = inputs->attributes.columns, .base = inputs->set.base};
    if (members.extensions)
        BL_TRY(bl_member_attributes_open(&inputs->set.attributes, &members, &inputs->set.files, &cmd->cancel, e));
    return BL_OK;
}

void bl_inputs_want(struct bl_inputs *inputs, const struct bl_subset_options *subset,
                    const struct bl_plan_options *plan)
{
    /* Only these strategies cut off the end of a sequence, so that just the steps before T decide what is trained. */
    bool is_cut = plan->T > 0 && plan->oversize == BL_OVERSIZE_TRUNCATE &&
                  (plan->strategy == BL_STRATEGY_BLOCK || plan->strategy == BL_STRATEGY_NAIVE);
    inputs->wanted = (struct bl_kind_wanted){.same = subset->dedup_by.key ? &subset->dedup_by : NULL,
                                             .trained = subset->min_trained > 0,
                                             .head = is_cut && subset->min_trained > 0 ? plan->T : 0};
}

/* The order matters: the kind's own options are checked and prepared first, a composite kind is made of prepared kinds,
 * isolation replaces kinds that are complete, and the tables of attributes need the kind that reads the inputs. */
int bl_inputs_use(struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_cmd *cmd)
{
    BL_TRY(bl_cmd_remote_open(&inputs->remote, cmd)); /* a table may name URLs, too */
    /* Options of other kinds are set, but decide nothing, and must not identify the dataset. */
    inputs->set.kind_config = inputs->configs[bl_kind_index(kind)];
    for (int k = 0; bl_kinds[k]; k++) {
        if (inputs->configs[k] != inputs->set.kind_config)
            bl_options_mark_idle(&cmd->options, inputs->configs[k]);
    }
    inputs->set.kind = kind;
    inputs->kind_option = bl_kind_index(kind) + 1; /* the identity contains the kind, not how it was detected */
    BL_TRY(inputs_check_flags(cmd, kind, &cmd->error));
    BL_TRY(inputs_check_dtype(inputs, kind, &cmd->error));
    if (inputs->stream && !kind->options.has_streams)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--stream is for video and audio, and the inputs are %s",
                            kind->name);
    BL_TRY(bl_kind_check(kind, inputs->set.kind_config, &cmd->error));
    inputs->own_kind = kind;
    inputs->own_config = inputs->set.kind_config;
    BL_TRY(bl_inputs_take_keys(inputs, &cmd->error));
    BL_TRY(bl_inputs_prepare_kind(inputs, &cmd->options, kind, inputs->set.kind_config, &cmd->error));
    if (inputs_count_fields(inputs, false))
        BL_TRY(inputs_make_composite(inputs, &cmd->cancel, &cmd->error));
    BL_TRY(inputs_isolate(inputs, &cmd->error));
    if (inputs_count_fields(inputs, true))
        BL_TRY(bl_inputs_make_own(inputs, &cmd->error));
    inputs_use_isolation(inputs);
    BL_TRY(inputs_identify_fields(inputs, &cmd->error)); /* again: the paths of the fields are resolved by now */
    if (inputs->set.own)
        BL_TRY(bl_inputs_note_list(inputs, &cmd->options, &cmd->error));
    BL_TRY(inputs_read_tables(inputs, cmd));
    if (inputs->set.own)
        BL_TRY(bl_inputs_check_own(inputs, &cmd->error));
    /* The kind adds the columns that the subset compares, unless the table of attributes has them. */
    struct bl_kind_wanted wanted = inputs->wanted;
    const struct bl_attributes *attributes = inputs->set.attributes;
    for (int c = 0; attributes && wanted.same && c < bl_attributes_count(attributes); c++) {
        const char *name = bl_attributes_name(attributes, c);
        if (strlen(name) == wanted.same->size && memcmp(name, wanted.same->key, wanted.same->size) == 0)
            wanted.same = NULL;
    }
    if ((!wanted.same && !wanted.trained) || !inputs->set.kind->scan->want)
        return BL_OK;
    return inputs->set.kind->scan->want(inputs->set.kind_config, &wanted, &cmd->error);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Returns the error that no input was found, with advice. A user who names a dataset as a source wants another plan of
 * it; Parquet files have a converter; archives must be unpacked. */
static int inputs_refuse_none(const struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_error *e)
{
    bl_inputs_print_ignored(inputs);
    for (int s = 0; s < inputs->set.sources; s++) {
        const char *source = inputs->set.source[s].path;
        bool found = false;
        char *dir = bl_path_join(inputs->set.base, source);
        int code = dir ? bl_fs_find(dir, BL_SHARDS_FILE, &found, e) : bl_error_memory(e);
        free(dir);
        BL_TRY(code);
        if (found)
            return bl_error_set(e, BL_EUSAGE,
                                "%s is a dataset, not a source: bload view makes other plans over what it stores",
                                source);
    }
    for (int i = 0; i < inputs->set.files.ignored_count; i++) {
        char name[sizeof inputs->set.files.ignored->extension + 1]; /* any name with this extension */
        snprintf(name, sizeof name, "x%s", inputs->set.files.ignored[i].extension);
        BL_TRY(bl_sources_refuse(name, "FOLDER", BL_EFAIL, "no inputs", e));
    }
    if (!kind)
        return bl_error_set(e, BL_EFAIL,
                            "no inputs: no file in the sources has a name of a known kind (folders of images: "
                            "--kind frames; archives: unpack them first)");
    return bl_error_set(e, BL_EFAIL, "no inputs: no %s the kind %s",
                        kind->scan->stat_folder ? "folder in the sources holds inputs of"
                                                : "file in the sources has a name of",
                        kind->name);
}

/* Returns the kind that options imply for files whose names show no kind, or NULL: --tokenizer, for example, implies
 * text, and so does a flag of that kind. */
static const struct bl_kind *inputs_find_implied(const struct bl_cmd *cmd)
{
    for (int k = 0; bl_kinds[k]; k++) {
        const struct bl_kind *kind = bl_kinds[k];
        if (!kind->implied_by)
            continue;
        if (bl_options_origin(&cmd->options, kind->implied_by) != BL_ORIGIN_DEFAULT)
            return kind;
        for (const struct bl_option *option = kind->options.table; option->name; option++) {
            if (bl_options_origin(&cmd->options, option->name) == BL_ORIGIN_FLAG)
                return kind;
        }
    }
    return NULL;
}

/* The folder in which tasks share listings of tars: DIR/.bload, which `state` holds while the inputs are listed. */
struct shared {
    const char *dir;
    struct bl_state state;
};

/* The callback of struct bl_sharing: opens DIR/.bload and returns it. Where it cannot be shared, each task lists for
 * itself, and the error is ignored: the run opens the same folder next, and reports it. */
static const char *inputs_share(void *context)
{
    struct shared *shared = context; /* a dataset that is complete has no listings to share */
    struct bl_error ignored = {0};
    bool complete;
    if (bl_fs_find(shared->dir, BL_MANIFEST_FILE, &complete, &ignored) || complete)
        return NULL;
    return bl_state_share(&shared->state, shared->dir, &ignored) ? NULL : shared->state.folder;
}

/* Returns the names of inputs that a kind's options make, or NULL. The sources are of that kind then, unless --kind
 * names another one; *kind is set. */
static const struct bl_kind_names *inputs_find_names(const struct bl_inputs *inputs, const struct bl_kind **kind)
{
    const struct bl_kind_names *names = NULL;
    for (int k = 0; bl_kinds[k] && !names; k++) {
        if ((*kind && *kind != bl_kinds[k]) || !bl_kinds[k]->options.names)
            continue;
        names = bl_kinds[k]->options.names(inputs->configs[k]);
        *kind = names ? bl_kinds[k] : *kind;
    }
    return names;
}

/* The sources are listed before the kind is known: their names decide it. */
int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    BL_TRY(bl_cmd_remote_open(&inputs->remote, cmd));
    struct shared shared = {.dir = inputs->shared, .state = BL_STATE_NONE};
    const struct bl_sharing sharing = {.open = inputs_share,
                                       .context = &shared,
                                       .task = inputs->shared ? inputs->task->index : 0,
                                       .tasks = inputs->shared ? inputs->task->count : 0};
    inputs->kept.count = 0; /* the members of tars that attributes and fields will request */
    if (inputs->attributes_members)
        inputs->kept.text[inputs->kept.count++] = inputs->attributes_members;
    for (int f = 0; f < inputs->config.fields; f++) {
        const char *path = inputs->config.field[f].path, *extension = path ? bl_companion_extension(path) : NULL;
        if (extension)
            inputs->kept.text[inputs->kept.count++] = extension;
    }
    const struct bl_kind *kind = inputs->kind_option ? bl_kinds[inputs->kind_option - 1] : NULL;
    const struct bl_kind_names *names = inputs_find_names(inputs, &kind);
    const struct bl_sources sources = {.source = inputs->set.source,
                                       .count = inputs->set.sources,
                                       .file = inputs->config_path,
                                       .base = inputs->set.base,
                                       .kind = kind,
                                       .names = names,
                                       .implied = inputs_find_implied(cmd),
                                       .configs = inputs->configs,
                                       .member = inputs->member,
                                       .kept = &inputs->kept,
                                       .workers = bl_cmd_workers(&cmd->common),
                                       .cancel = &cmd->cancel,
                                       .remote = inputs->remote.files,
                                       .sharing = inputs->shared ? &sharing : NULL};
    const struct bl_files *files = &inputs->set.files;
    char count[BL_PLURAL_SIZE];
    int code = bl_sources_list(&inputs->set.files, &sources, &cmd->error);
    bl_state_close(&shared.state);
    if (code)
        return code;
    if (!files->count)
        return inputs_refuse_none(inputs, kind, &cmd->error);
    /* A folder without inputs may be a typing error, so it is named, though the run goes on. */
    if (files->empty_folders == 1)
        bl_cmd_print("%s: no input in that folder", files->empty_folder);
    else if (files->empty_folders)
        bl_cmd_print("%s: no input in that folder, nor in %s", files->empty_folder,
                     bl_text_plural(count, files->empty_folders - 1, "other"));
    return BL_OK;
}

/* The shared folder is closed by then, and decoders end before what they read is freed. */
void bl_inputs_free(struct bl_inputs *inputs)
{
    bl_isolation_stop(&inputs->isolation);
    bl_fault_lines_free(&inputs->faults);
    bl_input_set_free(&inputs->set);
    bl_cmd_remote_close(&inputs->remote);
    free(inputs->set.source);
    free(inputs->own_list);
    if (inputs->own_kind && inputs->own_kind->options.release)
        inputs->own_kind->options.release(inputs->own_config);
    for (int k = 0; bl_kinds[k]; k++) { /* shared options are freed once */
        if (!config_shared(inputs, k))
            free(inputs->configs[k]);
    }
    bl_config_free(&inputs->config);
    *inputs = (struct bl_inputs){0};
}

/* Appends which kind takes files that were ignored if --kind names it: "; --kind text takes .c, .py". */
static void ignored_append_kinds(const struct bl_inputs *inputs, struct bl_buffer *text)
{
    const struct bl_files *files = &inputs->set.files;
    for (int k = 0; bl_kinds[k]; k++) {
        const char *const *asked = bl_kinds[k]->asked_extensions;
        int found = 0;
        for (int i = 0; i < files->ignored_count && asked; i++) {
            char name[sizeof files->ignored[0].extension + 1]; /* any name with this extension */
            snprintf(name, sizeof name, "x%s", files->ignored[i].extension);
            if (!bl_path_has_extension(name, asked))
                continue;
            if (!found++)
                bl_buffer_printf(text, "; --kind %s takes %s", bl_kinds[k]->name, name + 1);
            else
                bl_buffer_printf(text, ", %s", name + 1);
        }
    }
}

void bl_inputs_print_ignored(const struct bl_inputs *inputs)
{
    const struct bl_files *files = &inputs->set.files;
    struct bl_buffer text = {0};
    for (int i = 0; i < files->ignored_count; i++)
        bl_buffer_printf(&text, "%s%" PRId64 " %s", i ? ", " : "", files->ignored[i].count,
                         files->ignored[i].extension);
    ignored_append_kinds(inputs, &text);
    if (text.size && !text.failed)
        bl_cmd_print("ignored in %s: %s", files->tars ? "tars and folders" : "folders", text.data);
    bl_buffer_free(&text);
}
