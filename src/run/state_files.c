/* Files, lock and tasks of DIR/.bload. Each of the three parts stands alone: a reader of the listing takes no lock, and
 * the division of work needs no file. */
#include "run/state_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "store/folders.h"

/* --- listing of the folder ---------------------------------------------------------------------------------------- */

static int numbers_add(struct bl_numbers *n, int64_t number, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(n->at, n->capacity, n->count + 1, e))
        return BL_EFAIL;
    n->at[n->count++] = number;
    return BL_OK;
}

/* For qsort: ascending. */
static int numbers_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the numbers below limit. */
static size_t numbers_count_below(const struct bl_numbers *n, int64_t limit)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->at[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t bl_numbers_count_within(const struct bl_numbers *n, int64_t begin, int64_t end)
{
    return (int64_t)(numbers_count_below(n, end) - numbers_count_below(n, begin));
}

/* Sorts a name of the folder into the lists: shard-00000007.record, scan-00003 (a part), scan-task-00003 and task-00003
 * (heartbeats). Other names are ignored. */
static int files_add(struct bl_state_files *files, const char *name, struct bl_error *e)
{
    int64_t number;
    if (bl_text_numbered(name, "shard-", 8, ".record", &number))
        return numbers_add(&files->records, number, e);
    if (bl_text_numbered(name, "scan-", 5, "", &number))
        return numbers_add(&files->parts, number, e);
    if (bl_text_numbered(name, "scan-task-", 5, "", &number))
        return numbers_add(&files->scans, number, e);
    if (bl_text_numbered(name, "task-", 5, "", &number))
        return numbers_add(&files->packs, number, e);
    files->table |= strcmp(name, BL_STATE_SEQUENCES) == 0;
    files->plan |= strcmp(name, BL_STATE_PLAN_FILE) == 0;
    files->plan_info |= strcmp(name, BL_STATE_PLAN_INFO) == 0;
    files->draft |= strcmp(name, BL_STATE_DRAFT) == 0;
    return BL_OK;
}

int bl_state_files_list(struct bl_state_files *files, DIR *directory, const char *folder, struct bl_error *e)
{
    int code = BL_OK;
    const struct dirent *entry;
    *files = (struct bl_state_files){0};
    while (!code && (errno = 0, entry = readdir(directory)))
        code = files_add(files, entry->d_name, e);
    if (code)
        return code;
    if (errno)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder);
    struct bl_numbers *all[] = {&files->records, &files->parts, &files->scans, &files->packs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->count)
            qsort(all[i]->at, all[i]->count, sizeof *all[i]->at, numbers_compare);
    }
    return BL_OK;
}

void bl_state_files_free(struct bl_state_files *files)
{
    free(files->records.at);
    free(files->parts.at);
    free(files->scans.at);
    free(files->packs.at);
}

int bl_state_files_drop_lone(struct bl_state_files *files, const struct bl_format *format, const char *dir,
                             struct bl_error *e)
{
    struct bl_numbers *records = &files->records;
    uint8_t there[BL_SHARDS_PER_FOLDER];
    int64_t first = -1;
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        int64_t shard = records->at[i], place = shard % BL_SHARDS_PER_FOLDER;
        if (shard - place != first) {
            first = shard - place;
            memset(there, 0, sizeof there);
            BL_TRY(bl_folders_read_shards(dir, format, first, there, e));
        }
        if (there[place])
            records->at[kept++] = shard;
    }
    records->count = kept;
    return BL_OK;
}

int bl_state_files_read(const char *folder, const char *name, size_t max, struct bl_buffer *text, struct stat *status,
                        bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0};
    *found = false;
    bl_buffer_printf(&path, "%s/%s", folder, name);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    if (stat(path.data, status) != 0) {
        if (errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path.data);
        goto out;
    }
    *found = true;
    code = bl_regular_check(path.data, e);
    if (!code)
        code = bl_io_read_file(path.data, max, text, e);
out:
    bl_buffer_free(&path);
    return code;
}

/* --- lock of the folder ------------------------------------------------------------------------------------------- */

#define TRIES 16                 /* attempts, since other processes may remove or replace the files in between */
#define OWNER_MAX ((size_t)1024) /* bytes of lock-alone */

/* A file "lock-alone" has three lines:
 *
 *     host node7
 *     place 1c4b2f6e-... pid:[4026531836]
 *     process 4711 982634 */
/* --- without flock ------------------------------------------------------------------------------------------------ */

/* Returns the start time of a process in clock ticks since boot, or 0 if there is no such process. The start time tells
 * a process from a later one with the same number. */
static unsigned long long owner_start(long pid)
{
    char path[64], text[1024];
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* the name of the program, in parentheses, may contain parentheses */
    if (at)
        (void)sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                     &start);
    return start;
}

/* Appends the place in which process numbers are comparable: the host, its boot, and the namespace of a container. */
static void owner_describe_place(struct bl_buffer *out)
{
    char host[65], container[64] = "";
    struct bl_buffer boot = {0};
    struct bl_error none = {0};
    bl_temporary_host(host);
    ssize_t size = readlink("/proc/self/ns/pid", container, sizeof container - 1);
    container[size > 0 ? size : 0] = '\0';
    if (bl_io_read_file("/proc/sys/kernel/random/boot_id", OWNER_MAX, &boot, &none))
        bl_buffer_clear(&boot);
    bl_buffer_printf(out, "host %s\nplace %.*s %s\n", host, (int)strcspn(boot.data ? boot.data : "", "\n"),
                     boot.data ? boot.data : "", container);
    bl_buffer_free(&boot);
}

/* Returns whether the owner has certainly ended: it ran in this place, and no such process exists any more. */
static bool owner_is_gone(const char *owner)
{
    struct bl_buffer here = {0};
    long pid;
    unsigned long long start;
    owner_describe_place(&here);
    bool same = !here.failed && strncmp(owner, here.data, here.size) == 0 &&
                sscanf(owner + here.size, "process %ld %llu", &pid, &start) == 2;
    bl_buffer_free(&here);
    return same && owner_start(pid) != start;
}

/* Reads the owner in the file. *there is false if the file does not exist; owner is empty while it is being written. */
static int alone_read(const char *path, struct bl_buffer *owner, bool *there, struct bl_error *e)
{
    struct stat status;
    bl_buffer_clear(owner);
    bl_buffer_text(owner, "");
    *there = lstat(path, &status) == 0;
    int code = *there && S_ISREG(status.st_mode) ? bl_io_read_file(path, OWNER_MAX, owner, e) : BL_OK;
    if (code && access(path, F_OK) != 0) {
        *there = false;
        return BL_OK;
    }
    return code ? code : bl_buffer_check(owner, e);
}

/* Reports the run that has the file, and how a user can remove the lock of a killed one. Returns BL_EFAIL. */
static int alone_refuse(const char *path, const char *dir, const char *owner, struct bl_error *e)
{
    const char *host = strncmp(owner, "host ", 5) == 0 ? owner + 5 : "";
    return bl_error_set(
        e, BL_EFAIL,
        "another bload is running in %s, on %.*s; this file system has no locks (flock), so if that one "
        "was killed, remove %s",
        dir, (int)strcspn(host, "\n"), host, path);
}

/* Removes the file of a process that has ended. Another run may do the same at this moment and may already have made
 * its own file. So the file is renamed first, and is removed only if it still has the expected owner. */
static int alone_take_over(const char *path, const char *owner, struct bl_error *e)
{
    struct bl_buffer background = {0}, now = {0};
    bool there = false;
    int code = bl_temporary_name(path, &background, e);
    if (!code && rename(path, background.data) != 0 && errno != ENOENT)
        code = bl_error_errno(e, BL_EFAIL, "cannot rename %s", path);
    if (!code)
        code = alone_read(background.data, &now, &there, e);
    /* It is the file of another run by now, which is alive: restore its name. */
    if (!code && there && strcmp(now.data, owner) != 0)
        code = link(background.data, path) == 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot restore %s", path);
    if (!code && there)
        (void)bl_fs_unlink(background.data);
    bl_buffer_free(&background);
    bl_buffer_free(&now);
    return code;
}

/* Creates the file and writes the owner to it. *made is false if the file exists already: then another run was faster.
 */
static int alone_make(const char *path, const struct bl_buffer *text, bool *made, struct bl_error *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    *made = fd >= 0;
    if (fd < 0)
        return errno == EEXIST ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot create %s", path);
    int code = bl_io_write(fd, text->data, text->size, path, e);
    if (close(fd) != 0 && !code)
        code = bl_error_errno(e, BL_EFAIL, "cannot close %s", path);
    return code;
}

/* Takes the lock by the file `path`. A task (shared) makes no file, but waits for none either: it only checks that no
 * run has the file. An empty file is being written by its owner; then try again after a while. */
static int alone_take(const char *path, const char *dir, bool shared, bool *alone, struct bl_error *e)
{
    struct bl_buffer own = {0}, owner = {0};
    bool there = false;
    owner_describe_place(&own);
    bl_buffer_printf(&own, "process %ld %llu\n", (long)getpid(), owner_start((long)getpid()));
    int code = bl_buffer_check(&own, e);
    for (int i = 0; i < TRIES && !code && !*alone; i++) {
        code = alone_read(path, &owner, &there, e);
        if (code || (shared && !there))
            break;
        if (there && (i == TRIES - 1 || (*owner.data && !owner_is_gone(owner.data))))
            code = alone_refuse(path, dir, owner.data, e);
        else if (there && !*owner.data)
            usleep(50000); /* it is being written */
        else if (there)
            code = alone_take_over(path, owner.data, e);
        else
            code = alone_make(path, &own, alone, e);
    }
    bl_buffer_free(&own);
    bl_buffer_free(&owner);
    return code;
}

/* --- the lock ----------------------------------------------------------------------------------------------------- */

/* Returns whether the locked file still has its name. The previous run may have removed it after this run opened it. */
static bool lock_is_named(int fd, const char *path)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

int bl_state_lock_take(const char *folder, const char *dir, bool shared, int *fd, bool *alone, struct bl_error *e)
{
    char *path = bl_path_join(folder, BL_STATE_LOCK), *file = bl_path_join(folder, BL_STATE_LOCK_ALONE);
    bool taken = false, unsupported = false;
    int code = path && file ? BL_OK : bl_error_memory(e);
    *alone = false;
    for (int i = 0; i < TRIES && !code && !taken; i++) {
        *fd = bl_fs_open_lock(path, e);
        if (*fd < 0) {
            code = *fd;
            break;
        }
        bool locked = flock(*fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
        unsupported = !locked && errno != EWOULDBLOCK;
        taken = unsupported || (locked && (i == TRIES - 1 || lock_is_named(*fd, path)));
        if (!locked && !unsupported)
            code = bl_error_set(e, BL_EFAIL, "another bload is running in %s", dir);
        if (!taken) {
            close(*fd);
            *fd = -1;
        }
    }
    if (!code && unsupported)
        code = alone_take(file, dir, shared, alone, e);
    free(path);
    free(file);
    return code;
}

int bl_state_lock_release(const char *folder, int *fd, bool *alone, bool remove, struct bl_error *e)
{
    int code = BL_OK;
    char *path = bl_path_join(folder, BL_STATE_LOCK), *file = bl_path_join(folder, BL_STATE_LOCK_ALONE);
    /* Remove the name while the lock is held: a run that has opened the file before finds that it lost its name. Close
     * the file afterwards; a network file system that keeps removed files until they are closed then frees it. */
    if (remove)
        code = path ? bl_fs_remove(path, e) : bl_error_memory(e);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    if (file && *alone)
        (void)bl_fs_unlink(file);
    *alone = false;
    free(path);
    free(file);
    return code;
}

/* --- tasks -------------------------------------------------------------------------------------------------------- */

/* --- i/N, auto, auto/N ------------------------------------------------------------------------------------------- */

/* Parses i/N, auto or auto/N. */
static bool task_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_task task = {.set = true};
    const char *slash = strchr(text, '/');
    size_t size = slash ? (size_t)(slash - text) : strlen(text);
    task.automatic = size == 4 && strncmp(text, "auto", 4) == 0;
    if (slash ? !bl_text_to_int(slash + 1, strlen(slash + 1), 1, BL_TASKS_MAX, &task.count) : !task.automatic)
        return false;
    if (!task.automatic && !bl_text_to_int(text, size, 0, task.count - 1, &task.index))
        return false;
    *(struct bl_task *)value = task;
    return true;
}

/* Formats the task as task_parse reads it; nothing if no task was given. */
static void task_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_task *task = value;
    if (!task->set)
        return;
    if (task->automatic)
        bl_buffer_text(out, "auto");
    else
        bl_buffer_printf(out, "%" PRId64, task->index);
    if (task->count)
        bl_buffer_printf(out, "/%" PRId64, task->count);
}

/* Over a struct bl_task: 3/16, auto, auto/16. */
static const struct bl_option_type task_type = {"i/N|auto[/N]", task_parse, task_format,
                                                "i/N with i from 0 to N-1 and N up to 100000, auto, or auto/N"};

const struct bl_option bl_task_option_table[] = {
    {.name = "task",
     .type = &task_type,
     .help = "do the i-th of N shares, i from 0; auto: as MPI, srun, a Slurm job array or Kubernetes says",
     .command_line_only = true},
    {0},
};

/* --- the environment -------------------------------------------------------------------------------------------- */

/* The position of this process among its peers, and the variable that gave their number. */
struct place {
    const char *source; /* NULL: no variable is set */
    int64_t index, count;
};

/* Parses the number in a variable. BL_EUSAGE: it is not set, or is no number from min to max. */
static int environment_number(const char *name, int64_t min, int64_t max, int64_t *value, struct bl_error *e)
{
    const char *text = getenv(name);
    if (!text)
        return bl_error_set(e, BL_EUSAGE, "--task auto: %s is not set, but related variables are", name);
    if (!bl_text_to_int(text, strlen(text), min, max, value))
        return bl_error_set(e, BL_EUSAGE, "--task auto: %s is \"%s\", not a whole number from %" PRId64 " to %" PRId64,
                            name, text, min, max);
    return BL_OK;
}

/* Sets the place by two variables, which name the rank and the number of ranks. */
static int environment_rank(const char *rank, const char *size, struct place *place, struct bl_error *e)
{
    place->source = size;
    BL_TRY(environment_number(size, 1, BL_TASKS_MAX, &place->count, e));
    return environment_number(rank, 0, place->count - 1, &place->index, e);
}

/* A batch script and an interactive shell are steps too, with SLURM_PROCID 0. Their step numbers lie above those of
 * srun's steps; depending on its version, Slurm leaves them unset, or sets them as they are or as negative numbers.
 * Only srun sets the number of tasks of a step. */
#define STEP_MAX 0xfffffff0 /* SLURM_MAX_NORMAL_STEP_ID of slurm.h */

/* Returns whether the variable asks for more than one. */
static bool task_is_several(const char *name)
{
    const char *text = getenv(name);
    return text && strcmp(text, "1") != 0;
}

/* If the script requested several tasks, it would do only the first task's share, and the others would be missing. In
 * an array the script itself may be the task; otherwise it never is. */
static int task_check_batch_script(struct bl_error *e)
{
    if (getenv("SLURM_ARRAY_TASK_ID") && !task_is_several("SLURM_NTASKS") &&
        !task_is_several("SLURM_NTASKS_PER_NODE") && !task_is_several("SLURM_JOB_NUM_NODES"))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE,
                        "--task auto: this is the batch script itself, not srun: start it as \"srun bload ...\", which "
                        "starts all tasks of the job, or give --task i/N");
}

/* sbatch passes its environment on: a script submitted from within a step has the variables of that step besides those
 * of its own job. srun sets both. */
static int task_check_step(struct bl_error *e)
{
    static const char *const same[][2] = {{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                                          {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const char *step = getenv(same[i][0]), *job = getenv(same[i][1]);
        if (step && job && strcmp(step, job) != 0)
            return bl_error_set(e, BL_EUSAGE,
                                "--task auto: %s is %s, but %s is %s: they belong to different steps; give --task i/N",
                                same[i][0], step, same[i][1], job);
    }
    return BL_OK;
}

/* Sets the rank within a step of MPI or srun; rank->source stays NULL if this process has none. */
static int task_find_rank(struct place *rank, struct bl_error *e)
{
    if (getenv("OMPI_COMM_WORLD_RANK") || getenv("OMPI_COMM_WORLD_SIZE"))
        return environment_rank("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", rank, e);
    if (!getenv("SLURM_PROCID"))
        return BL_OK;
    int64_t step;
    const char *text = getenv("SLURM_STEP_ID");
    if (!text || !bl_text_to_int(text, strlen(text), 0, STEP_MAX, &step) || !getenv("SLURM_STEP_NUM_TASKS"))
        return task_check_batch_script(e);
    BL_TRY(task_check_step(e));
    return environment_rank("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", rank, e);
}

/* Sets the element of a job array; element->source stays NULL if this process has none. */
static int task_find_element(struct place *element, struct bl_error *e)
{
    static const char count[] = "SLURM_ARRAY_TASK_COUNT";
    int64_t id, first, last;
    if (!getenv("SLURM_ARRAY_TASK_ID"))
        return BL_OK;
    element->source = count;
    BL_TRY(environment_number(count, 1, BL_TASKS_MAX, &element->count, e));
    BL_TRY(environment_number("SLURM_ARRAY_TASK_MIN", 0, INT32_MAX, &first, e));
    BL_TRY(environment_number("SLURM_ARRAY_TASK_MAX", first, INT32_MAX, &last, e));
    if (last - first + 1 != element->count)
        return bl_error_set(e, BL_EUSAGE,
                            "--task auto: the job array has %" PRId64 " elements from %" PRId64 " to %" PRId64
                            ": give it consecutive elements, or give --task i/N",
                            element->count, first, last);
    BL_TRY(environment_number("SLURM_ARRAY_TASK_ID", first, last, &id, e));
    element->index = id - first;
    return BL_OK;
}

/* Kubernetes gives the index of a pod in an indexed Job, but not the number of pods. */
static int task_find_completion(int64_t count, struct place *place, struct bl_error *e)
{
    static const char name[] = "JOB_COMPLETION_INDEX";
    if (!getenv(name))
        return bl_error_set(e, BL_EUSAGE,
                            "--task auto: no variable gives the task: OMPI_COMM_WORLD_RANK, SLURM_PROCID, "
                            "SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are not set; give --task i/N");
    if (!count)
        return bl_error_set(e, BL_EUSAGE,
                            "--task auto: JOB_COMPLETION_INDEX is set, but Kubernetes does not set the number of "
                            "pods: give --task auto/N, where N is the Job's completions");
    *place = (struct place){name, 0, count};
    return environment_number(name, 0, count - 1, &place->index, e);
}

bool bl_task_is_claimed(const struct bl_task *task)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID",
                                        "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"};
    bool given = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        given |= getenv(names[i]) != NULL;
    return task->set && task->automatic && task->count && !given;
}

int bl_task_resolve(struct bl_task *task, struct bl_error *e)
{
    struct place rank = {0}, element = {0}, place;
    if (!task->set || !task->automatic)
        return BL_OK;
    BL_TRY(task_find_rank(&rank, e));
    BL_TRY(task_find_element(&element, e));
    /* Element a of K and rank r of M in each element are task a * M + r of K * M. */
    if (element.source && rank.source)
        place = (struct place){rank.source, element.index * rank.count + rank.index, element.count * rank.count};
    else
        place = element.source ? element : rank;
    if (place.count > BL_TASKS_MAX)
        return bl_error_set(
            e, BL_EUSAGE, "--task auto: %" PRId64 " elements of an array with %" PRId64 " tasks each are more than %d",
            element.count, rank.count, BL_TASKS_MAX);
    if (!place.source)
        BL_TRY(task_find_completion(task->count, &place, e));
    if (task->count && task->count != place.count)
        return bl_error_set(e, BL_EUSAGE, "--task auto/%" PRId64 ": the environment has %" PRId64 " tasks (%s)",
                            task->count, place.count, place.source);
    *task = (struct bl_task){.set = true, .index = place.index, .count = place.count};
    return BL_OK;
}

/* --- shares ----------------------------------------------------------------------------------------------------- */

/* floor(index * total / count). The product may exceed 64 bits, but index and count fit 32. */
static int64_t task_share_begin(int64_t index, int64_t count, int64_t total)
{
    return index * (total / count) + index * (total % count) / count;
}

void bl_task_range(const struct bl_task *task, int64_t total, int64_t *begin, int64_t *end)
{
    *begin = task->set ? task_share_begin(task->index, task->count, total) : 0;
    *end = task->set ? task_share_begin(task->index + 1, task->count, total) : total;
}
