#include "kind/isolated/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/shared_memory.h"
#include "kind/isolated/fork_server.h"
#include "kind/isolated/syscall_filter.h"

/* What the process finds. */
struct trial_page {
    atomic_bool filtered, refused, done;
};

static void trial_main(const void *context, const struct bl_spawn *spawn, int channel)
{
    struct bl_shared_memory shared;
    struct bl_error e = {0};
    (void)context, (void)channel;
    if (bl_shared_memory_map(&shared, spawn->fd, sizeof(struct trial_page), &e))
        return;
    struct trial_page *page = (struct trial_page *)(void *)shared.data;
    atomic_store(&page->filtered, bl_syscall_filter_install());
    atomic_store(&page->refused, open("/", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM);
    atomic_store(&page->done, true);
}

static int trial_run(const struct bl_fork_server *server, const struct bl_shared_memory *shared, struct bl_error *e)
{
    const struct trial_page *page = (const struct trial_page *)(const void *)shared->data;
    const struct bl_spawn spawn = {.fd = shared->fd};
    int channel, status;
    pid_t pid;
    int code = bl_fork_server_spawn(server, &spawn, &channel, &pid, e);
    if (code)
        return code;
    close(channel);
    code = bl_fork_server_reap(server, pid, &status, e);
    if (!code && !atomic_load(&page->done))
        code = bl_error_set(e, BL_EFAIL, "a decoder process ended at once");
    return code;
}

int bl_isolation_try(bool *filtered, struct bl_error *e)
{
    struct bl_shared_memory shared;
    struct bl_fork_server server = {0};
    *filtered = false;
    int code = bl_shared_memory_make(&shared, sizeof(struct trial_page), e);
    if (code)
        return code;
    code = bl_fork_server_start(&server, NULL, trial_main, NULL, e);
    if (code)
        goto out;
    code = trial_run(&server, &shared, e);
    const struct trial_page *page = (const struct trial_page *)(const void *)shared.data;
    *filtered = !code && atomic_load(&page->filtered) && atomic_load(&page->refused);
out:
    bl_fork_server_stop(&server);
    bl_shared_memory_free(&shared);
    return code;
}
