/* bload completion prints a script by which a shell completes the commands and their options.
 *
 * Only a command knows its tables of options, so each command prints its own part of the script, when it is called as
 * "bload NAME --completion=SHELL". This file prints a head, calls every command in this way, and prints a tail. The
 * part of a command is one branch of a "case" in bash and zsh, which sets variables that the tail uses, and a list of
 * "complete" lines in fish, which needs no head and tail. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/option_help.h"
#include "cmd/cmd.h"

/* The first line of a script, a comment in all three shells. */
#define OPENING(shell) "# Completion of bload in " shell ", made by: bload completion " shell "\n"

/* --- heads and tails ---------------------------------------------------------------------------------------------- */

/* The variables of the scripts:
 *
 *     command    the first word after bload
 *     flags      all flags of the command
 *     operands   what its operands are: files, directories, nothing, or a list of words
 *     take       what the present word is: operands, files, directories, nothing, or words
 *     values     the words from which to choose, with take=words */

static const char bash_head[] =
    OPENING("bash") "_bload() {\n"
                    "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
                    "    local command=${COMP_WORDS[1]} operands=nothing take=operands values=''\n"
                    "    local flags=()\n"
                    "    COMPREPLY=()\n"
                    "    # --fit=crop is three words here.\n"
                    "    if [ \"$word\" = = ]; then\n"
                    "        word=''\n"
                    "    elif [ \"$option\" = = ]; then\n"
                    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
                    "    fi\n"
                    "    ((COMP_CWORD > 1)) || command=''\n"
                    "    case $command in\n";

static const char bash_tail[] = "    esac\n"
                                "    if [ \"$take\" = operands ]; then\n"
                                "        if [[ $word == -* ]]; then\n"
                                "            mapfile -t COMPREPLY < <(compgen -W \"${flags[*]}\" -- \"$word\")\n"
                                "            return\n"
                                "        fi\n"
                                "        case $operands in\n"
                                "        files|directories|nothing) take=$operands ;;\n"
                                "        *) take=words values=$operands ;;\n"
                                "        esac\n"
                                "    fi\n"
                                "    mapfile -t COMPREPLY < <(\n"
                                "        compgen -W \"$values\" -- \"$word\"\n"
                                "        case $take in\n"
                                "        files) compgen -f -- \"$word\" ;;\n"
                                "        directories) compgen -d -- \"$word\" ;;\n"
                                "        esac\n"
                                "    )\n"
                                "    case $take in\n"
                                "    files|directories) compopt -o filenames 2>/dev/null ;;\n"
                                "    esac\n"
                                "}\n"
                                "complete -F _bload bload\n";

static const char zsh_head[] =
    "#compdef bload\n" OPENING("zsh") "_bload() {\n"
                                      "    local word=$words[CURRENT] option=$words[CURRENT-1] command=$words[2]\n"
                                      "    local operands=nothing take=operands values=''\n"
                                      "    local -a flags all\n"
                                      "    # --fit=crop\n"
                                      "    if [[ $word == --*=* ]]; then\n"
                                      "        option=${word%%=*}\n"
                                      "        compset -P '*='\n"
                                      "    fi\n"
                                      "    (( CURRENT > 2 )) || command=''\n"
                                      "    case $command in\n";

static const char zsh_tail[] = "    esac\n"
                               "    if [[ $take == operands ]]; then\n"
                               "        if [[ $word == -* ]]; then\n"
                               "            _describe -o option flags\n"
                               "            return\n"
                               "        fi\n"
                               "        case $operands in\n"
                               "        files|directories|nothing) take=$operands ;;\n"
                               "        *) take=words values=$operands ;;\n"
                               "        esac\n"
                               "    fi\n"
                               "    all=(${=values})\n"
                               "    (( $#all )) && compadd -a all\n"
                               "    case $take in\n"
                               "    files) _files ;;\n"
                               "    directories) _files -/ ;;\n"
                               "    esac\n"
                               "}\n"
                               "if [[ $funcstack[1] == _bload ]]; then\n"
                               "    _bload \"$@\"\n"
                               "else\n"
                               "    compdef _bload bload\n"
                               "fi\n";

/* By enum bl_shell. */
static const char *const heads[] = {bash_head, zsh_head, OPENING("fish")};
static const char *const tails[] = {bash_tail, zsh_tail, ""};

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* Appends the names of all commands, each with a blank after it. */
static void names_append(const struct bl_command *commands, struct bl_buffer *out)
{
    for (; commands->name; commands++)
        bl_buffer_printf(out, "%s ", commands->name);
}

/* Appends the branches for the first word after bload, and for the word after bload help, in bash and zsh. */
static void cases_append_first(const struct bl_command *commands, struct bl_buffer *out)
{
    bl_buffer_text(out, "    '')\n        flags=( -h --help -V --version )\n        operands='");
    names_append(commands, out);
    bl_buffer_text(out, "help'\n        ;;\n    help)\n        operands='");
    names_append(commands, out);
    bl_buffer_text(out, "'\n        ;;\n");
}

/* Appends the lines for the first word, and for the word after bload help, in fish. */
static void fish_append_first(const struct bl_command *commands, struct bl_buffer *out)
{
    bl_buffer_text(out, "complete -c bload -f -n '__fish_use_subcommand' -s h -l help -d 'help'\n"
                        "complete -c bload -f -n '__fish_use_subcommand' -s V -l version -d 'the version'\n"
                        "complete -c bload -f -n '__fish_use_subcommand' -a help -d 'the options of a command'\n");
    for (const struct bl_command *command = commands; command->name; command++) {
        bl_buffer_printf(out, "complete -c bload -f -n '__fish_use_subcommand' -a %s -d ", command->name);
        bl_shell_quote(out, BL_SHELL_FISH, command->summary, strlen(command->summary));
        bl_buffer_byte(out, '\n');
    }
    bl_buffer_text(out, "complete -c bload -f -n '__fish_seen_subcommand_from help' -a '");
    names_append(commands, out);
    bl_buffer_text(out, "'\n");
}

/* Prints the script. The commands print their parts themselves, so each part goes out before the next is made. */
static int script_write(struct bl_cmd *cmd, const struct bl_command *commands, enum bl_shell shell)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, heads[shell]);
    if (shell == BL_SHELL_FISH)
        fish_append_first(commands, &text);
    else
        cases_append_first(commands, &text);
    int code = bl_cmd_write(NULL, &text, &cmd->error);
    for (const struct bl_command *command = commands; command->name && !code; command++) {
        char name[32], flag[32]; /* the parser of options may permute and change its arguments */
        snprintf(name, sizeof name, "%s", command->name);
        snprintf(flag, sizeof flag, BL_COMPLETION_FLAG "%s", bl_shell_names[shell]);
        char *words[] = {name, flag, NULL};
        if (command->run(2, words) != BL_EXIT_DONE)
            code = bl_error_set(&cmd->error, BL_EFAIL, "the options of bload %s cannot be printed", name);
    }
    bl_buffer_clear(&text);
    bl_buffer_text(&text, tails[shell]);
    if (!code)
        code = bl_cmd_write(NULL, &text, &cmd->error);
    bl_buffer_free(&text);
    return code;
}

int bl_cmd_completion(const struct bl_command *commands, int argc, char **argv)
{
    struct bl_cmd cmd = {.name = "completion",
                         .usage = "bash|zsh|fish\n"
                                  "\n"
                                  "Prints a script with which the shell completes commands, options and their values.\n"
                                  "make install puts it where the shells look for it.",
                         .usual = "help",
                         .examples = "bash >bload.bash && . ./bload.bash\n"
                                     "fish >~/.config/fish/completions/bload.fish",
                         .operands = "bash zsh fish"};
    const struct bl_option_group groups[] = {{"General", bl_common_table, &cmd.common}, {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (code || cmd.common.help)
        return bl_cmd_end(&cmd, code, false);
    const char *name = cmd.options.operands == 1 ? cmd.options.operand[0] : "";
    int shell = 0;
    while (bl_shell_names[shell] && strcmp(bl_shell_names[shell], name) != 0)
        shell++;
    code = bl_shell_names[shell]
               ? script_write(&cmd, commands, (enum bl_shell)shell)
               : bl_error_set(&cmd.error, BL_EUSAGE, "expects one of bash, zsh, fish (see bload completion --help)");
    return bl_cmd_end(&cmd, code, false);
}
