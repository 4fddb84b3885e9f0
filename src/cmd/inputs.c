#include "cmd/inputs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {"auto", "video", NULL};

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
     .offset = offsetof(struct bl_inputs, kind),
     .help = "what the sources are, where their names do not tell"},
    {0},
};

int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    int code = bl_options_add(&cmd->options, "Sources", table, inputs, &cmd->error);
    for (int k = 0; bl_kinds[k] && !code; k++) {
        inputs->kind_config[k] = calloc(1, bl_kinds[k]->config_size);
        if (!inputs->kind_config[k])
            return bl_error_memory(&cmd->error);
        code = bl_options_add(&cmd->options, bl_kinds[k]->title, bl_kinds[k]->options, inputs->kind_config[k],
                              &cmd->error);
    }
    return code;
}

static bool is_yaml(const char *path)
{
    size_t size = strlen(path);
    return (size > 5 && strcmp(path + size - 5, ".yaml") == 0) || (size > 4 && strcmp(path + size - 4, ".yml") == 0);
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
    for (int k = 0; bl_kinds[k] && !code; k++)
        code = bl_kinds[k]->check(inputs->kind_config[k], &cmd->error);
    return code;
}

int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd)
{
    const struct bl_kind *kind = inputs->kind ? bl_kinds[inputs->kind - 1] : NULL;
    int code = bl_sources_list(&inputs->files, inputs->source, inputs->sources, inputs->base, kind, &cmd->error);
    if (!code && !inputs->files.count)
        code = bl_error_set(&cmd->error, BL_EFAIL, "no inputs: no file in the sources has a name of a known kind");
    return code;
}

void bl_inputs_free(struct bl_inputs *inputs)
{
    bl_files_free(&inputs->files);
    free(inputs->source);
    bl_config_free(&inputs->config);
    for (int k = 0; k < BL_KINDS_MAX; k++)
        free(inputs->kind_config[k]);
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

void bl_inputs_say_fault(const struct bl_row *row)
{
    if (row->status == BL_ROW_OK)
        bl_cmd_say("%s: %s", row->id, row->reason); /* the reason says that it is damaged */
    else
        bl_cmd_say("%s %s: %s", bl_row_status_name(row->status), row->id, row->reason);
}
