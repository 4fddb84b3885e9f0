/* What the processes of a run share without a coordinator: the files in DIR/.bload, the lock of that folder, and the
 * division of work into tasks. */
#ifndef BL_STATE_FILES_H
#define BL_STATE_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"
#include "store/format.h"

/* --- listing of the folder ---------------------------------------------------------------------------------------- */

/* Lists the files in DIR/.bload for a reader that takes no lock. A finish may remove any of them at the same time. */

/* Numbers of shards, parts or tasks, ascending. */
struct bl_numbers {
    int64_t *at;
    size_t count, capacity;
};

/* What the folder holds: the numbers of shard records and of parts of a scan, and whether single files exist. */
struct bl_state_files {
    struct bl_numbers records, parts;
    struct bl_numbers scans, packs; /* tasks with a heartbeat */
    bool table, plan, plan_info, draft;
};

/* Reads the names in directory. folder: its path, for messages. Free with bl_state_files_free, also after an error. */
int bl_state_files_list(struct bl_state_files *files, DIR *directory, const char *folder, struct bl_error *e);
void bl_state_files_free(struct bl_state_files *files);

/* Drops records without a shard from the lists. A process that is killed between writing the record and naming the
 * shard leaves one; such a shard must still be packed. */
int bl_state_files_drop_lone(struct bl_state_files *files, const struct bl_format *format, const char *dir,
                             struct bl_error *e);

/* Counts the numbers in [begin, end). */
int64_t bl_numbers_count_within(const struct bl_numbers *numbers, int64_t begin, int64_t end);

/* Appends the file folder/name, of at most max bytes, to text and sets *status. *found is false if the file is gone. */
int bl_state_files_read(const char *folder, const char *name, size_t max, struct bl_buffer *text, struct stat *status,
                        bool *found, struct bl_error *e);

/* --- lock of the folder ------------------------------------------------------------------------------------------- */

/* The lock of a run's folder, DIR/.bload.
 *
 * It uses flock(2) if the file system supports it; that lock ends with the process. Otherwise a file "lock-alone" keeps
 * other runs away. It records which process made it: if that process ran on this machine and is gone, the next run
 * takes the file over; if it ran on another machine and was killed, a user has to remove the file. Tasks, which share
 * the folder, make no such file. */

#define BL_STATE_LOCK "lock"
#define BL_STATE_LOCK_ALONE "lock-alone"

/* Takes the lock without waiting. shared: for a task, which excludes runs without tasks but not other tasks. dir: for
 * messages. *fd: the descriptor of the lock's file, which bl_state_lock_release closes. *alone: the file "lock-alone"
 * was made. BL_EFAIL: another run holds the lock. */
int bl_state_lock_take(const char *folder, const char *dir, bool shared, int *fd, bool *alone, struct bl_error *e);

/* Releases the lock. remove: also remove the file "lock", if the caller is about to remove the folder. BL_EFAIL: it
 * cannot be removed. Without remove the function always succeeds and does not use e. */
int bl_state_lock_release(const char *folder, int *fd, bool *alone, bool remove, struct bl_error *e);

/* --- tasks -------------------------------------------------------------------------------------------------------- */

/* Tasks: one process's share of work that many processes divide without a coordinator. Task i of N, i from 0. */

#define BL_TASKS_MAX 100000

struct bl_task {
    bool set;             /* false: this process does all the work */
    bool automatic;       /* not resolved yet: the environment gives index, and also count if that is 0 */
    int64_t index, count; /* 0 <= index < count <= BL_TASKS_MAX */
};

/* The flag --task, over a struct bl_task: a group for every command whose work can be divided. */
extern const struct bl_option bl_task_option_table[];

/* Resolves an automatic task from the environment: the rank of Open MPI or srun, combined with the element of a Slurm
 * job array; or the index of a Kubernetes Job. BL_EUSAGE: the variables are missing, impossible, or contradict the
 * given count. */
int bl_task_resolve(struct bl_task *task, struct bl_error *e);

/* Whether an automatic task has a number of tasks, and the environment gives it no index: then the processes that share
 * the work have to agree among themselves. */
bool bl_task_is_claimed(const struct bl_task *task);

/* The task's share of total things in order: from *begin to *end - 1, with *begin = floor(index * total / count). All
 * of them if the task is not set. */
void bl_task_range(const struct bl_task *task, int64_t total, int64_t *begin, int64_t *end);

#endif
