/* What bload prints about its options: the list of options in --help, and the completion scripts of shells. */
#ifndef BL_OPTION_HELP_H
#define BL_OPTION_HELP_H

#include "base/option.h"

/* --- help --------------------------------------------------------------------------------------------------------- */

/* Appends each group that has a title, with its options. section: only the group of this name, NULL: all groups.
 * Returns false, and appends nothing, if there is no such group. */
bool bl_options_help(const struct bl_options *o, const char *section, struct bl_buffer *out);

/* Appends the names of the sections: the titles of the groups in lower case, with hyphens in place of spaces. They are
 * separated by spaces, and broken into lines of at most 80 columns, which begin with two spaces. */
void bl_options_help_sections(const struct bl_options *o, struct bl_buffer *out);

/* Appends only the options of these names, which spaces separate, in this order, with their help up to a semicolon.
 * BL_EFAIL: there is no such option. */
int bl_options_help_some(const struct bl_options *o, const char *names, struct bl_buffer *out, struct bl_error *e);

/* --- completion in shells ----------------------------------------------------------------------------------------- */

enum bl_shell { BL_SHELL_BASH, BL_SHELL_ZSH, BL_SHELL_FISH };

extern const char *const bl_shell_names[]; /* ended by NULL */

/* Appends a command's part of a shell's script: its flags, what the value of each may be, and of bash and zsh what
 * operands may be: "files", "directories", "nothing", or words separated by spaces. Parts of bash and zsh are arms of
 * "case", in a function that has set option to the word before the present one; they set flags and operands, and where
 * that word takes a value, take to files, directories, words or nothing, and values to words that it may be. */
void bl_options_completion(const struct bl_options *o, enum bl_shell shell, const char *command, const char *operands,
                           struct bl_buffer *out);

/* Appends text in single quotes, for any of these shells. */
void bl_shell_quote(struct bl_buffer *out, enum bl_shell shell, const char *text, size_t size);

#endif
