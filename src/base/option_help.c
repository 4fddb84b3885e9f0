/* The help of a command, and the scripts that complete its command line in bash, zsh and fish.
 *
 * Both come from the tables of options alone, so that a new option needs no line here. For the option --output of type
 * DIR with the letter o, the help has one line and each shell another one:
 *
 *     help    "  -o, --output DIR           the dataset"
 *     bash    -o|--output) take=directories ;;
 *     fish    complete -c bload ... -s o -l output -x -a '(__fish_complete_directories)' -d 'the dataset' */
#include "base/option_help.h"

#include <ctype.h>
#include <string.h>

/* --- help --------------------------------------------------------------------------------------------------------- */

/* Appends the flags and the value of an option: "  -o, --output DIR". An option with a name of one letter has one flag,
 * "  -T N". The value is the placeholder, or otherwise the choices. */
static void option_append_usage(const struct bl_option *option, struct bl_buffer *out)
{
    bool one_letter = option->name[1] == '\0';
    if (one_letter)
        bl_buffer_printf(out, "  -%s", option->name);
    else if (option->letter)
        bl_buffer_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        bl_buffer_printf(out, "      --%s", option->name);
    if (option->placeholder) {
        bl_buffer_printf(out, " %s", option->placeholder);
    } else if (option->choices) {
        bl_buffer_byte(out, ' ');
        bl_option_append_choices(option, "|", out);
    } else if (option->type->placeholder) {
        bl_buffer_printf(out, " %s", option->type->placeholder);
    }
}

/* Appends words, broken into lines from the given column to column 79, the last one of a usual terminal that does not
 * wrap. */
static void help_append_wrapped(struct bl_buffer *out, const char *text, int column)
{
    int at = column;
    for (const char *word = text; *word;) {
        size_t size = strcspn(word, " ");
        if (at > column && at + 1 + (int)size > 79) {
            bl_buffer_printf(out, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            bl_buffer_byte(out, ' ');
            at++;
        }
        bl_buffer_append(out, word, size);
        at += (int)size;
        word += size + (word[size] == ' ');
    }
}

/* Appends the lines of an option: its flags, and from column 30 on the first `size` bytes of its help, with the default
 * in brackets. Long flags have a line of their own. */
static void option_append_help(const struct bl_option *option, size_t size, struct bl_buffer *out)
{
    const int column = 30;
    size_t start = out->size;
    option_append_usage(option, out);
    int used = (int)(out->size - start);
    if (used + 2 > column)
        bl_buffer_printf(out, "\n%*s", column, "");
    else
        bl_buffer_printf(out, "%*s", column - used, "");
    struct bl_buffer text = {0};
    bl_buffer_append(&text, option->help, size);
    if (option->initial && option->type != &bl_option_flag)
        bl_buffer_printf(&text, " [%s]", option->initial);
    help_append_wrapped(out, text.data ? text.data : "", column);
    bl_buffer_free_part(&text, out);
    bl_buffer_byte(out, '\n');
}

/* Appends the name of a section: its title in lower case, with hyphens in place of spaces. */
static void section_append_name(const char *title, struct bl_buffer *out)
{
    for (const char *c = title; *c; c++)
        bl_buffer_byte(out, *c == ' ' ? '-' : (char)tolower((unsigned char)*c));
}

void bl_options_help_sections(const struct bl_options *o, struct bl_buffer *out)
{
    struct bl_buffer names = {0};
    for (int g = 0; g < o->groups; g++) {
        if (!o->group[g].title)
            continue;
        if (names.size)
            bl_buffer_byte(&names, ' ');
        section_append_name(o->group[g].title, &names);
    }
    bl_buffer_text(out, "  ");
    help_append_wrapped(out, names.data ? names.data : "", 2);
    bl_buffer_byte(out, '\n');
    bl_buffer_free_part(&names, out);
}

bool bl_options_help(const struct bl_options *o, const char *section, struct bl_buffer *out)
{
    bool found = false;
    for (int g = 0; g < o->groups; g++) {
        struct bl_buffer name = {0};
        if (o->group[g].title)
            section_append_name(o->group[g].title, &name);
        bool is_shown = o->group[g].title && (!section || (name.data && strcmp(name.data, section) == 0));
        bl_buffer_free_part(&name, out);
        if (!is_shown)
            continue;
        found = true;
        bl_buffer_printf(out, "\n%s:\n", o->group[g].title);
        for (const struct bl_option *option = o->group[g].options; option->name; option++)
            option_append_help(option, strlen(option->help), out);
    }
    return found;
}

/* Appends some options with the first phrase of their help, for the overview of a command. */
int bl_options_help_some(const struct bl_options *o, const char *names, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_option_match match;
    for (size_t size; *names; names += size + (names[size] == ' ')) {
        size = strcspn(names, " ");
        if (!bl_options_find_flag(o, names, size, &match))
            return bl_error_set(e, BL_EFAIL, "there is no option %.*s", (int)size, names);
        option_append_help(match.option, strcspn(match.option->help, ";"), out);
    }
    return BL_OK;
}

/* --- completion in shells ----------------------------------------------------------------------------------------- */

/* The possible values of an option follow from its choices or from its placeholder: "none|zstd[:LEVEL]" has the words
 * none and zstd, "FILE|FOLDER|MODEL|bytes" is a file or the word bytes, "VIEW" is a directory. */

const char *const bl_shell_names[] = {"bash", "zsh", "fish", NULL};

/* The possible values of a flag. */
struct value {
    bool none; /* it takes no value */
    bool files, directories;
    struct bl_buffer words; /* separated by spaces */
};

/* Returns whether the word of `size` bytes is in the list, which ends with NULL. */
static bool word_is_one_of(const char *word, size_t size, const char *const *list)
{
    for (; *list; list++) {
        if (strlen(*list) == size && memcmp(*list, word, size) == 0)
            return true;
    }
    return false;
}

/* Adds a piece of a placeholder. A piece in lower case is a word that users type, such as whisper80 and auto; N, WxH,
 * i/N and 0,1 are not. */
static void value_add_piece(struct value *value, const char *piece, size_t size)
{
    static const char *const files[] = {"FILE", "FILE.yaml", "FILE.json", NULL};
    static const char *const directories[] = {"DIR", "DIR2", "VIEW", "DATASET", NULL};
    value->files |= word_is_one_of(piece, size, files);
    value->directories |= word_is_one_of(piece, size, directories);
    if (size <= 1 || strspn(piece, "abcdefghijklmnopqrstuvwxyz0123456789-") < size)
        return;
    if (value->words.size)
        bl_buffer_byte(&value->words, ' ');
    bl_buffer_append(&value->words, piece, size);
}

/* Returns the possible values of an option. The caller frees the words. */
static struct value option_find_value(const struct bl_option *option)
{
    struct value value = {.none = option->type == &bl_option_flag};
    const char *piece = option->placeholder ? option->placeholder : option->type->placeholder;
    if (option->choices && !option->placeholder) {
        bl_option_append_choices(option, " ", &value.words);
        return value;
    }
    while (piece && *piece && !value.none) {
        value_add_piece(&value, piece, strcspn(piece, "|["));
        piece += strcspn(piece, "|");
        piece += *piece == '|';
    }
    return value;
}

/* Quotes a text for a shell. POSIX shells have no escapes within quotes: '\'' ends the text, adds a quote, and begins
 * the text again. fish knows \' and \\ within quotes. */
void bl_shell_quote(struct bl_buffer *out, enum bl_shell shell, const char *text, size_t size)
{
    bl_buffer_byte(out, '\'');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'')
            bl_buffer_text(out, shell == BL_SHELL_FISH ? "\\'" : "'\\''");
        else if (text[i] == '\\' && shell == BL_SHELL_FISH)
            bl_buffer_text(out, "\\\\");
        else
            bl_buffer_byte(out, text[i]);
    }
    bl_buffer_byte(out, '\'');
}

/* --- bash and zsh ------------------------------------------------------------------------------------------------- */

/* Appends the flags of an option with `between` in the middle: "-o --output" or "-o|--output". */
static void flag_append(struct bl_buffer *out, const struct bl_option *option, const char *between)
{
    bool one_letter = !option->name[1];
    if (option->letter && !one_letter)
        bl_buffer_printf(out, "-%c%s", option->letter, between);
    bl_buffer_printf(out, "%s%s", one_letter ? "-" : "--", option->name);
}

/* Appends a flag as zsh shows it, with its purpose after a colon: '--fit:pictures of another shape'. The first phrase
 * of the help ends before a colon or semicolon. */
static void flag_append_described(struct bl_buffer *out, const char *dashes, const char *name, size_t size,
                                  const char *help)
{
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "%s%.*s:%.*s", dashes, (int)size, name, (int)strcspn(help, ":;"), help);
    bl_buffer_byte(out, ' ');
    bl_shell_quote(out, BL_SHELL_ZSH, text.failed ? "" : text.data, text.size);
    bl_buffer_free_part(&text, out);
}

/* Appends the lines that a shell's script has for one option of a command. */
typedef void option_form(const struct bl_option *option, const char *command, struct bl_buffer *out);

/* Calls `form` for each option that is a flag of the command. */
static void options_append(const struct bl_options *o, option_form *form, const char *command, struct bl_buffer *out)
{
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        if (m.group->title)
            form(m.option, command, out);
    }
}

/* Appends the words of a flag in bash: " -o --output". */
static void bash_append_flag(const struct bl_option *option, const char *command, struct bl_buffer *out)
{
    (void)command;
    bl_buffer_byte(out, ' ');
    flag_append(out, option, " ");
}

/* Appends the words of a flag in zsh, each with the purpose of the flag. */
static void zsh_append_flag(const struct bl_option *option, const char *command, struct bl_buffer *out)
{
    bool one_letter = !option->name[1];
    (void)command;
    if (option->letter && !one_letter)
        flag_append_described(out, "-", &option->letter, 1, option->help);
    flag_append_described(out, one_letter ? "-" : "--", option->name, strlen(option->name), option->help);
}

/* Appends a line of the script's case statement: "        -o|--output) take=directories ;;" */
static void case_append_option(const struct bl_option *option, const char *command, struct bl_buffer *out)
{
    (void)command;
    struct value value = option_find_value(option);
    const char *words = value.words.size ? value.words.data : "";
    if (!value.none) {
        bl_buffer_text(out, "        ");
        flag_append(out, option, "|");
        bl_buffer_printf(out, ") take=%s",
                         value.files         ? "files"
                         : value.directories ? "directories"
                         : *words            ? "words"
                                             : "nothing");
        if (*words)
            bl_buffer_printf(out, " values='%s'", words);
        bl_buffer_text(out, " ;;\n");
    }
    out->failed |= value.words.failed;
    bl_buffer_free(&value.words);
}

/* --- fish --------------------------------------------------------------------------------------------------------- */

/* Begins a command of fish, which defines one completion behind the name of bload's command. */
static void fish_append_begin(struct bl_buffer *out, const char *command)
{
    bl_buffer_printf(out, "complete -c bload -n '__fish_seen_subcommand_from %s'", command);
}

/* Appends the possible values: -x forbids files, -F allows them, and -a lists words. */
static void fish_append_value(struct bl_buffer *out, const struct value *value)
{
    struct bl_buffer all = {0};
    bl_buffer_text(out, value->files ? " -r -F" : " -x");
    if (value->words.size)
        bl_buffer_text(&all, value->words.data);
    if (value->directories && !value->files)
        bl_buffer_printf(&all, "%s(__fish_complete_directories)", value->words.size ? " " : "");
    if (all.size) {
        bl_buffer_text(out, " -a ");
        bl_shell_quote(out, BL_SHELL_FISH, all.data, all.size);
    }
    bl_buffer_free_part(&all, out);
}

/* Appends a line such as
 *     complete -c bload -n '...' -s o -l output -x -a '(__fish_complete_directories)' -d 'the dataset' */
static void fish_append_option(const struct bl_option *option, const char *command, struct bl_buffer *out)
{
    struct value value = option_find_value(option);
    fish_append_begin(out, command);
    if (option->letter)
        bl_buffer_printf(out, " -s %c", option->letter);
    if (option->name[1])
        bl_buffer_printf(out, " -l %s", option->name);
    if (!value.none)
        fish_append_value(out, &value);
    bl_buffer_text(out, " -d ");
    bl_shell_quote(out, BL_SHELL_FISH, option->help, strcspn(option->help, ":;"));
    bl_buffer_byte(out, '\n');
    out->failed |= value.words.failed;
    bl_buffer_free(&value.words);
}

void bl_options_completion(const struct bl_options *o, enum bl_shell shell, const char *command, const char *operands,
                           struct bl_buffer *out)
{
    if (shell == BL_SHELL_FISH) {
        if (strcmp(operands, "files") != 0) { /* fish offers files by itself */
            fish_append_begin(out, command);
            bl_buffer_printf(out, " -f -a '%s'\n",
                             strcmp(operands, "directories") == 0 ? "(__fish_complete_directories)"
                             : strcmp(operands, "nothing") == 0   ? ""
                                                                  : operands);
        }
        options_append(o, fish_append_option, command, out);
        return;
    }
    bl_buffer_printf(out, "    %s)\n        operands='%s'\n        flags=(", command, operands);
    options_append(o, shell == BL_SHELL_BASH ? bash_append_flag : zsh_append_flag, command, out);
    bl_buffer_text(out, " )\n        case $option in\n");
    options_append(o, case_append_option, command, out);
    bl_buffer_text(out, "        esac\n        ;;\n");
}
