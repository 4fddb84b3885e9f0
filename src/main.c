/* The program: prepares the process, finds the command by its name, and checks at the end that all output was written.
 *
 * A new command is a line in the table below and a function in src/cmd. Help, completion, and the advice after a
 * mistyped name come from the table. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"
#include "bload.h"
#include "cmd/cmd.h"
#include "kind/media/module.h"
#include "cmd/signals.h"

static int command_complete(int argc, char **argv); /* needs the table, which contains it */

/* In the order of --help: the stages of a dataset first, then what can be done with it. */
static const struct bl_command commands[] = {
    {"scan", bl_cmd_scan, "list sources and the exact length of every sequence in them"},
    {"plan", bl_cmd_plan, "decide which sequence goes into which block, and where"},
    {"compare", bl_cmd_compare, "show every strategy side by side"},
    {"pack", bl_cmd_pack, "turn sources into a dataset of fixed-size blocks"},
    {"view", bl_cmd_view, "plan the sequences of datasets anew, without copying them"},
    {"export", bl_cmd_export, "write blocks in the formats of other loaders"},
    {"show", bl_cmd_show, "draw a block or a sequence of a dataset"},
    {"cat", bl_cmd_cat, "write one sequence of a dataset, for other programs"},
    {"find", bl_cmd_find, "tell where a sequence lies, and which step of training reads it"},
    {"finish", bl_cmd_finish, "complete the dataset of several tasks"},
    {"verify", bl_cmd_verify, "check every byte and every table of a dataset"},
    {"info", bl_cmd_info, "show what is in a dataset"},
    {"report", bl_cmd_report, "make a page about a dataset or a table"},
    {"status", bl_cmd_status, "show the progress of a dataset"},
    {"slurm", bl_cmd_slurm, "make a dataset on a Slurm cluster"},
    {"doctor", bl_cmd_doctor, "check this machine: what works, and what to do"},
    {"completion", command_complete, "print a script with which a shell completes commands"},
    {0},
};

#define COMMANDS (sizeof commands / sizeof *commands - 1) /* without the empty entry at the end */

static int command_complete(int argc, char **argv)
{
    return bl_cmd_completion(commands, argc, argv);
}

/* Prints the help of bload itself: without any arguments, on standard error. */
static void help_print(FILE *out)
{
    fputs(
        "usage: bload COMMAND ...\n\n"
        "Packs videos, sound, texts or arrays of different lengths into shards of fixed-size blocks, once, offline,\n"
        "so that every rank of a data-parallel training job reads equal batches: almost no padding, no sequence cut,\n"
        "no deadlock.\n\ncommands:\n",
        out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n  bload COMMAND -h        its usual options, and examples\n"
          "  bload help COMMAND      all of them, as bload COMMAND --help\n  bload --version, -V     the version\n\n"
          "The first dataset: bload pack videos/ --size 224x224 -T longest -o dataset\n",
          out);
}

/* Runs the command that argv[1] names, or answers --help and --version. Returns the exit status. */
static int command_run(int argc, char **argv)
{
    static char flag[] = "--help";
    const char *name = argc > 1 ? argv[1] : flag;
    bool help = strcmp(name, "help") == 0 && argc > 2; /* bload help pack */
    char *asked[] = {help ? argv[2] : flag, flag, NULL};
    name = help ? argv[2] : name;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return help ? commands[i].run(2, asked) : commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        struct bl_buffer place = {0};
        bl_media_append_place(&place); /* the media module is not loaded: that takes longer than all of the rest */
        printf("bload %s\nmedia module: %s\n", BLOAD_VERSION, place.data && !place.failed ? place.data : "unknown");
        bl_buffer_free(&place);
        return BL_EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help_print(argc > 1 ? stdout : stderr);
        return argc > 1 ? BL_EXIT_DONE : BL_EXIT_USAGE;
    }
    /* A mistyped name gets the most similar command, if one is similar enough. */
    struct bl_nearest nearest = {.word = name, .size = strlen(name)};
    for (size_t i = 0; i < COMMANDS; i++)
        bl_nearest_offer(&nearest, commands[i].name);
    bl_nearest_offer(&nearest, "help");
    if (name[0] == '-')
        bl_cmd_print("unknown option %s: a command comes first (see bload --help)", name);
    else if (nearest.best)
        bl_cmd_print("unknown command \"%s\": did you mean %s?", name, nearest.best);
    else
        bl_cmd_print("unknown command \"%s\" (see bload --help)", name);
    return BL_EXIT_USAGE;
}

/* Before main: a process that SIGUSR2 asks for its progress must not end because it has just begun. */
__attribute__((constructor)) static void signals_expect(void)
{
    bl_signals_install_question();
}

int main(int argc, char **argv)
{
    int64_t stack;
    /* The parent process may have closed a standard stream. Then a file of bload must not get its descriptor, or
     * messages would be written into the file. The descriptors opened here fail on reading and writing, as a closed
     * stream does.
     */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return BL_EXIT_FAILED; /* there is no way to report it */
    }
    /* With a small limit of the stack, the program begins again with a larger one, if that may be set. */
    if (!bl_stack_ensure(argv, &stack)) {
        bl_cmd_print("the stack may have %" PRId64 " KiB (ulimit -s), and bload takes 1024: raise the limit",
                     stack / 1024);
        return BL_EXIT_FAILED;
    }
    int status = command_run(argc, argv);
    /* Output is lost if the last flush fails: a full disk must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        bl_cmd_print("cannot write standard output");
        return BL_EXIT_FAILED;
    }
    return status;
}
