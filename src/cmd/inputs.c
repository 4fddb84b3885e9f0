#include "cmd/inputs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define TOLD_MAX 10 /* faults, of empty rows or of one file, that are told one by one */

static const char *const kind_names[] = {"auto", "video", "audio", "text", "array", "frames", NULL};

static const struct bl_option table[] = {
    {.name = "config",
     .letter = 'c',
     .type = &bl_option_string,
     .placeholder = "FILE.yaml",
     .offset = offsetof(struct bl_inputs, config_path),
     .command_line_only = true,
     .help = "a YAML file that says what the flags say; flags win"},
    {.name = "kind",
     .type = &bl_option_choice,
     .choices = kind_names,
     .initial = "auto",
     .affects = BL_AFFECTS_LENGTHS,
     .offset = offsetof(struct bl_inputs, kind_option),
     .help = "what the sources are, where their names do not tell"},
    {.name = "dtype",
     .type = &bl_option_string,
     .placeholder = "TYPE",
     .affects = BL_AFFECTS_BYTES,
     .offset = offsetof(struct bl_inputs, dtype),
     .help = "of samples: s16 or f32; of tokens: i32 or u16, refused when ids do not fit; of arrays: same, or f32 for "
             "F64 too [the first]"},
    {.name = "spool",
     .type = &bl_option_string,
     .placeholder = "DIR",
     .offset = offsetof(struct bl_inputs, spool),
     .help = "where tokens wait between scan and pack; pack takes its output's own folder when not given"},
    {0},
};

/* That of a kind before it with the same options, or NULL. */
static void *shared_config(const struct bl_inputs *inputs, int k)
{
    for (int before = 0; before < k; before++) {
        if (bl_kinds[before]->options == bl_kinds[k]->options)
            return inputs->configs[before];
    }
    return NULL;
}

int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    int code = bl_options_add(&cmd->options, "Sources", table, inputs, &cmd->error);
    for (int k = 0; bl_kinds[k] && !code; k++) {
        inputs->configs[k] = shared_config(inputs, k);
        if (inputs->configs[k])
            continue;
        inputs->configs[k] = calloc(1, bl_kinds[k]->config_size);
        if (!inputs->configs[k])
            return bl_error_memory(&cmd->error);
        code = bl_options_add(&cmd->options, bl_kinds[k]->title, bl_kinds[k]->options, inputs->configs[k], &cmd->error);
    }
    return code;
}

static bool is_yaml(const char *path)
{
    size_t size = strlen(path);
    return (size > 5 && strcmp(path + size - 5, ".yaml") == 0) || (size > 4 && strcmp(path + size - 4, ".yml") == 0);
}

/* Which of the kind's types the option says; -1: none of them. */
static int find_dtype(const struct bl_kind *kind, const char *dtype)
{
    for (int i = 0; kind->dtypes && kind->dtypes[i]; i++) {
        if (strcmp(kind->dtypes[i], dtype) == 0)
            return i;
    }
    return -1;
}

/* Whether a kind before this one has a type of that name. */
static bool is_told(int kind, const char *dtype)
{
    bool told = false;
    for (int k = 0; k < kind; k++)
        told |= find_dtype(bl_kinds[k], dtype) >= 0;
    return told;
}

/* What --dtype says goes to the kinds that have such a type. */
static int settle_dtype(struct bl_inputs *inputs, struct bl_error *e)
{
    bool known = !inputs->dtype;
    struct bl_buffer all = {0};
    for (int k = 0; bl_kinds[k] && inputs->dtype; k++) {
        int which = find_dtype(bl_kinds[k], inputs->dtype);
        known = known || which >= 0;
        if (which >= 0)
            *(int *)(void *)((char *)inputs->configs[k] + bl_kinds[k]->dtype) = which;
        for (int i = 0; bl_kinds[k]->dtypes && bl_kinds[k]->dtypes[i]; i++) {
            if (!is_told(k, bl_kinds[k]->dtypes[i]))
                bl_buffer_printf(&all, "%s%s", all.size ? ", " : "", bl_kinds[k]->dtypes[i]);
        }
    }
    int code = bl_buffer_check(&all, e);
    if (!code && !known)
        code = bl_error_set(e, BL_EUSAGE, "--dtype expects one of %s, not \"%s\"", all.data, inputs->dtype);
    bl_buffer_free(&all);
    return code;
}

/* Whether the options that every kind understands in its own way suit this one. */
static int check_dtype(const struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_error *e)
{
    if (inputs->dtype && kind->check_dtype && find_dtype(kind, inputs->dtype) >= 0)
        return kind->check_dtype(inputs->kind_config, e);
    if (!inputs->dtype || find_dtype(kind, inputs->dtype) >= 0)
        return BL_OK;
    if (!kind->dtypes)
        return bl_error_set(e, BL_EUSAGE, "--dtype %s: %s is of one type only", inputs->dtype, kind->name);
    return bl_error_set(e, BL_EUSAGE, "--dtype %s: %s is %s or %s", inputs->dtype, kind->name, kind->dtypes[0],
                        kind->dtypes[1]);
}

int bl_inputs_settle(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    const char **operand = cmd->options.operand;
    int operands = cmd->options.operands, code = BL_OK;
    if (!inputs->config_path && operands == 1 && is_yaml(operand[0])) {
        inputs->config_path = operand[0];
        operands = 0;
    }
    if (inputs->config_path)
        code = bl_config_read(&inputs->config, inputs->config_path, &cmd->options, &cmd->error);
    if (code)
        return code;
    if (operands) {
        inputs->source = calloc((size_t)operands, sizeof *inputs->source);
        if (!inputs->source)
            return bl_error_memory(&cmd->error);
        for (int i = 0; i < operands; i++)
            inputs->source[i].path = operand[i];
        inputs->sources = operands;
    } else if (inputs->config.sources) {
        inputs->source = inputs->config.source;
        inputs->config.source = NULL;
        inputs->sources = inputs->config.sources;
        inputs->base = inputs->config.directory;
    }
    code = settle_dtype(inputs, &cmd->error);
    for (int k = 0; bl_kinds[k] && !code; k++)
        code = shared_config(inputs, k) ? BL_OK : bl_kinds[k]->check(inputs->configs[k], &cmd->error);
    return code;
}

/* Of the kind's options that name files: what the YAML file says counts from there. */
static int resolve_paths(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    for (const struct bl_option *option = inputs->kind->options; option->name; option++) {
        const char **value = (const char **)((char *)inputs->kind_config + option->offset);
        if (option->type != &bl_option_path || !*value || !inputs->config.directory ||
            bl_options_origin(&cmd->options, option->name) != BL_ORIGIN_FILE || inputs->paths == BL_PATHS_MAX)
            continue;
        bool is_word = false;
        for (const char *const *word = option->choices; word && *word; word++)
            is_word |= strcmp(*word, *value) == 0;
        if (is_word)
            continue;
        char *path = bl_source_open_path(inputs->config.directory, *value);
        if (!path)
            return bl_error_memory(&cmd->error);
        *value = inputs->path[inputs->paths++] = path;
    }
    return BL_OK;
}

static int prepare(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    const struct bl_kind *kind = inputs->kind;
    int code = resolve_paths(inputs, cmd);
    if (!code && kind->prepare)
        code = kind->prepare(inputs->kind_config, &cmd->error);
    const char *warning = !code && kind->warning ? kind->warning(inputs->kind_config) : NULL;
    if (warning)
        bl_cmd_say("%s", warning);
    return code;
}

static int check_flags(const struct bl_cmd *cmd, const struct bl_kind *kind, struct bl_error *e)
{
    for (int k = 0; bl_kinds[k]; k++) {
        for (const struct bl_option *option = bl_kinds[k]->options;
             bl_kinds[k]->options != kind->options && option->name; option++) {
            if (bl_options_origin(&cmd->options, option->name) == BL_ORIGIN_FLAG)
                return bl_error_set(e, BL_EUSAGE, "--%s is for %s, and the inputs are %s (--kind says otherwise)",
                                    option->name, bl_kinds[k]->name, kind->name);
        }
    }
    return BL_OK;
}

int bl_inputs_use(struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_cmd *cmd)
{
    inputs->kind_config = inputs->configs[bl_kind_index(kind)];
    for (int k = 0; bl_kinds[k]; k++) {
        if (inputs->configs[k] != inputs->kind_config)
            bl_options_rest(&cmd->options, inputs->configs[k]);
    }
    inputs->kind = kind;
    inputs->kind_option = bl_kind_index(kind) + 1; /* what identifies a dataset is the kind, not how it was found */
    int code = check_flags(cmd, kind, &cmd->error);
    if (!code)
        code = check_dtype(inputs, kind, &cmd->error);
    if (!code)
        code = kind->check(inputs->kind_config, &cmd->error);
    return code ? code : prepare(inputs, cmd);
}

static int add_path(void *context, const char *path, struct bl_error *e)
{
    struct bl_files *files = context;
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? 2 * files->capacity : 256;
        struct bl_file *file = realloc(files->file, capacity * sizeof *file);
        if (!file)
            return bl_error_memory(e);
        files->file = file;
        files->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy)
        return bl_error_memory(e);
    files->file[files->count++] = (struct bl_file){.path = copy, .id = copy};
    return BL_OK;
}

int bl_inputs_list_table(struct bl_inputs *inputs, const struct bl_sequences *sequences, struct bl_error *e)
{
    return bl_sequences_paths(sequences, add_path, &inputs->files, e);
}

int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    const struct bl_kind *kind = inputs->kind_option ? bl_kinds[inputs->kind_option - 1] : NULL;
    int code = bl_sources_list(&inputs->files, inputs->source, inputs->sources, inputs->base, kind, &cmd->error);
    if (!code && !inputs->files.count)
        code = bl_error_set(
            &cmd->error, BL_EFAIL,
            "no inputs: no file in the sources has a name of a known kind (folders of images: --kind frames)");
    return code;
}

void bl_inputs_free(struct bl_inputs *inputs)
{
    bl_buffer_free(&inputs->faulty);
    bl_files_free(&inputs->files);
    free(inputs->source);
    bl_config_free(&inputs->config);
    if (inputs->kind && inputs->kind->release)
        inputs->kind->release(inputs->kind_config);
    for (int k = 0; bl_kinds[k]; k++) {
        if (!shared_config(inputs, k))
            free(inputs->configs[k]);
    }
    for (int i = 0; i < inputs->paths; i++)
        free(inputs->path[i]);
    *inputs = (struct bl_inputs){0};
}

void bl_inputs_say_ignored(const struct bl_inputs *inputs)
{
    const struct bl_files *files = &inputs->files;
    struct bl_buffer text = {0};
    for (int i = 0; i < files->ignored_count; i++)
        bl_buffer_printf(&text, "%s%" PRId64 " %s", i ? ", " : "", files->ignored[i].count,
                         files->ignored[i].extension);
    if (text.size && !text.failed)
        bl_cmd_say("ignored in folders: %s", text.data);
    bl_buffer_free(&text);
}

/* A file with many sequences may have as many faults. */
static bool told_enough(struct bl_inputs *inputs, const struct bl_row *row)
{
    if (bl_row_is_empty(row))
        return inputs->empty++ >= TOLD_MAX;
    if (!inputs->faulty.data || strcmp(inputs->faulty.data, row->path) != 0) {
        bl_buffer_clear(&inputs->faulty);
        bl_buffer_text(&inputs->faulty, row->path);
        inputs->told = 0;
    }
    bool enough = inputs->told++ >= TOLD_MAX;
    inputs->untold += enough;
    return enough;
}

void bl_inputs_say_fault(struct bl_inputs *inputs, const struct bl_row *row)
{
    if (told_enough(inputs, row))
        return;
    if (row->status == BL_ROW_OK)
        bl_cmd_say("%s: %s", row->id, row->reason); /* the reason says that it is damaged */
    else
        bl_cmd_say("%s %s: %s", bl_row_status_name(row->status), row->id, row->reason);
}

void bl_inputs_say_untold(const struct bl_inputs *inputs, int64_t empty, int64_t untold)
{
    char a[32];
    untold += inputs->untold;
    if (empty)
        bl_cmd_say("empty documents, skipped: %s", bl_text_count(a, empty));
    if (untold)
        bl_cmd_say("further faults, told in sequences.tsv alone: %s", bl_text_count(a, untold));
}
