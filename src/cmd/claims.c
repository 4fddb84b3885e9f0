/* The pieces of work are the tasks i/N. A piece is done by a process of its own, which is this command with --task i/N,
 * while this process holds its claim: whatever happens to the process, the claim is finished or given back. */
#include "cmd/claims.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "remote/claims.h"
#include "remote/remote.h"
#include "base/fs.h"
#include "store/manifest.h"

#define WAIT_MICROSECONDS 100000 /* between two looks at the process */
#define BUSY_SECONDS 2           /* between two looks for a piece that is free */
#define END_SECONDS 20           /* that a process may take to end after a signal */

/* Starts the command for a piece. The process ends with this one. */
static int claim_start(const struct bl_claiming *c, int64_t piece, pid_t *pid, struct bl_error *e)
{
    size_t count = 0;
    char task[64], flag[80];
    while (c->argv[count])
        count++;
    /* main has taken "bload" away, and the word before the command is the program. */
    char **argv = calloc(count + 2, sizeof *argv);
    if (!argv)
        return bl_error_memory(e);
    snprintf(task, sizeof task, "%" PRId64 "/%" PRId64, piece, c->pieces);
    snprintf(flag, sizeof flag, "--task=%s", task);
    argv[0] = (char *)"bload";
    memcpy(argv + 1, c->argv, count * sizeof *argv);
    for (size_t i = 1; i <= count; i++) {
        bool before = strcmp(argv[i], "--task") == 0 && argv[i + 1];
        if (before)
            argv[i + 1] = task;
        else if (strncmp(argv[i], "--task=", 7) == 0)
            argv[i] = flag;
        i += before;
    }
    pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) {
        (void)setpgid(0, 0); /* Ctrl-C comes to this command alone, which passes it on once */
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (setenv(BL_CLAIMED, "1", 1) == 0 && getppid() == parent)
            execv("/proc/self/exe", argv);
        _exit(127);
    }
    free(argv);
    return *pid > 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot start a process for task %s", task);
}

/* Waits for the process. It is told to end when this command is, or when another one has taken over its piece. */
static int claim_wait(struct bl_cmd *cmd, struct bl_claims *claims, int64_t piece, pid_t pid)
{
    int how = 0, told = 0;
    pid_t ended = 0;
    for (int64_t waited = 0; (ended = waitpid(pid, &how, WNOHANG)) == 0; waited += WAIT_MICROSECONDS) {
        bool lost = bl_claims_is_lost(claims, piece);
        int number = bl_cancelled(&cmd->cancel) ? cmd->cancel.requested : 0;
        if (!told && (lost || number)) {
            told = number > 0 ? number : SIGTERM;
            (void)kill(pid, told);
            waited = 0;
        } else if (told && waited > END_SECONDS * INT64_C(1000000)) {
            (void)kill(pid, SIGKILL);
        }
        usleep(WAIT_MICROSECONDS);
    }
    if (ended < 0)
        return BL_EXIT_FAILED;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

/* Does one piece, and finishes its claim or gives it back. */
static int claim_do(struct bl_cmd *cmd, const struct bl_claiming *c, struct bl_claims *claims, int64_t piece,
                    bool *partial, struct bl_error *e)
{
    pid_t pid = 0;
    bool lost = false;
    int code = claim_start(c, piece, &pid, e);
    int ended = code ? 1 : claim_wait(cmd, claims, piece, pid);
    bool good = !code && (ended == BL_EXIT_DONE || ended == BL_EXIT_PARTIAL);
    if (good)
        code = bl_claims_finish(claims, piece, &lost, e);
    else if (bl_claims_is_lost(claims, piece))
        return code; /* another process does it */
    else
        bl_claims_release(claims, piece);
    if (bl_cancelled(&cmd->cancel))
        return BL_ECANCEL;
    *partial |= ended == BL_EXIT_PARTIAL;
    if (code || good)
        return code;
    return bl_error_set(e, ended == BL_EXIT_USAGE ? BL_EUSAGE : BL_EFAIL,
                        "task %" PRId64 "/%" PRId64 " ended with status %d: its messages say why", piece, c->pieces,
                        ended);
}

/* Sets whether the dataset is finished, so that no piece is left. */
static int claim_look(struct bl_remote *remote, const char *url, bool *finished, struct bl_error *e)
{
    struct bl_buffer manifest = {0};
    struct bl_remote_object object = {0};
    struct bl_error why = {0};
    bl_buffer_printf(&manifest, "%s/" BL_MANIFEST_FILE, url);
    int code = bl_buffer_check(&manifest, e);
    if (!code)
        code = bl_remote_stat(remote, manifest.data, &object, &why);
    *finished = !code;
    bool missing = code == BL_EUSAGE && object.size < 0;
    bl_remote_object_free(&object);
    bl_buffer_free(&manifest);
    return missing ? BL_OK : bl_error_pass(e, code, &why);
}

/* Claims and does pieces until none is left. */
static int claim_all(struct bl_cmd *cmd, const struct bl_claiming *c, struct bl_remote *remote,
                     struct bl_claims *claims, bool *partial, struct bl_error *e)
{
    bool waits = false;
    for (;;) {
        enum bl_claims_outcome outcome;
        int64_t piece;
        bool finished;
        BL_TRY(claim_look(remote, c->url, &finished, e));
        if (finished)
            return BL_OK;
        BL_TRY(bl_claims_next(claims, &piece, &outcome, e));
        if (outcome == BL_CLAIMS_DONE)
            return BL_OK;
        if (outcome == BL_CLAIMS_TAKEN) {
            BL_TRY(claim_do(cmd, c, claims, piece, partial, e));
            continue;
        }
        if (!waits && !cmd->common.quiet)
            bl_cmd_print("all tasks are done or taken: waiting for those of others, as %s", bl_claims_other(claims));
        waits = true;
        for (int i = 0; i < BUSY_SECONDS * 10 && !bl_cancelled(&cmd->cancel); i++)
            usleep(100000);
        if (bl_cancelled(&cmd->cancel))
            return BL_ECANCEL;
    }
}

int bl_cmd_run_claimed(struct bl_cmd *cmd, const struct bl_claiming *c, bool *partial)
{
    struct bl_error *e = &cmd->error;
    struct bl_remote *remote = NULL;
    struct bl_claims *claims = NULL;
    struct bl_buffer prefix = {0};
    char a[BL_PLURAL_SIZE];
    size_t size = strlen(c->url);
    (void)signal(SIGCHLD, SIG_DFL); /* a parent that ignores it would hide how processes end */
    while (size && c->url[size - 1] == '/')
        size--;
    struct bl_claiming own = *c;
    char *url = strndup(c->url, size);
    own.url = url;
    /* The number of pieces is part of the name: piece 3 of 8 is not piece 3 of 16. */
    bl_buffer_printf(&prefix, "%s/" BL_WORK_FOLDER "/claims/%s-%" PRId64, url ? url : "", c->stage, c->pieces);
    int code = url ? bl_buffer_check(&prefix, e) : bl_error_memory(e);
    c->remote->options.retries = BL_REMOTE_RETRIES;
    c->remote->options.timeout = BL_REMOTE_TIMEOUT;
    if (!code)
        code = bl_remote_open(&remote, &c->remote->options, &cmd->cancel, e);
    if (!code)
        code = bl_claims_open(&claims, remote, prefix.data, c->pieces, c->lease, e);
    if (!code)
        code = claim_all(cmd, &own, remote, claims, partial, e);
    bl_claims_close(claims);
    bl_remote_close(remote);
    if (!code)
        bl_mirror_remove_scratches(url, c->scratch);
    if (!code && !cmd->common.quiet)
        bl_cmd_print("%s: all %s of bload %s are done", url, bl_text_plural(a, c->pieces, "task"), c->stage);
    bl_buffer_free(&prefix);
    free(url);
    return code;
}
