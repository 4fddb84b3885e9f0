#include "run/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- i/N, auto, auto/N ------------------------------------------------------------------------------------------- */

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

const struct bl_option_type bl_option_task = {"i/N|auto[/N]", task_parse, task_format,
                                              "i/N with i from 0 to N-1 and N up to 100000, auto, or auto/N"};

const struct bl_option bl_task_option_table[] = {
    {.name = "task",
     .type = &bl_option_task,
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

static int environment_rank(const char *rank, const char *size, struct place *place, struct bl_error *e)
{
    place->source = size;
    int code = environment_number(size, 1, BL_TASKS_MAX, &place->count, e);
    if (code)
        return code;
    return environment_number(rank, 0, place->count - 1, &place->index, e);
}

/* A batch script and an interactive shell are steps too, with SLURM_PROCID 0. Their step numbers lie above those of
 * srun's steps; depending on its version, Slurm leaves them unset, or sets them as they are or as negative numbers.
 * Only srun sets the number of tasks of a step. */
#define STEP_MAX 0xfffffff0 /* SLURM_MAX_NORMAL_STEP_ID of slurm.h */

static bool task_is_within_srun(void)
{
    int64_t step;
    const char *text = getenv("SLURM_STEP_ID");
    return text && bl_text_to_int(text, strlen(text), 0, STEP_MAX, &step) && getenv("SLURM_STEP_NUM_TASKS");
}

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

static int task_find_rank(struct place *rank, struct bl_error *e)
{
    if (getenv("OMPI_COMM_WORLD_RANK") || getenv("OMPI_COMM_WORLD_SIZE"))
        return environment_rank("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", rank, e);
    if (!getenv("SLURM_PROCID"))
        return BL_OK;
    if (!task_is_within_srun())
        return task_check_batch_script(e);
    int code = task_check_step(e);
    return code ? code : environment_rank("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", rank, e);
}

static int task_find_element(struct place *element, struct bl_error *e)
{
    static const char count[] = "SLURM_ARRAY_TASK_COUNT";
    int64_t id, first, last;
    if (!getenv("SLURM_ARRAY_TASK_ID"))
        return BL_OK;
    element->source = count;
    int code = environment_number(count, 1, BL_TASKS_MAX, &element->count, e);
    if (code)
        return code;
    code = environment_number("SLURM_ARRAY_TASK_MIN", 0, INT32_MAX, &first, e);
    if (code)
        return code;
    code = environment_number("SLURM_ARRAY_TASK_MAX", first, INT32_MAX, &last, e);
    if (code)
        return code;
    if (last - first + 1 != element->count)
        return bl_error_set(e, BL_EUSAGE,
                            "--task auto: the job array has %" PRId64 " elements from %" PRId64 " to %" PRId64
                            ": give it consecutive elements, or give --task i/N",
                            element->count, first, last);
    code = environment_number("SLURM_ARRAY_TASK_ID", first, last, &id, e);
    if (code)
        return code;
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

/* Combines array element a of K and rank r of M in each element: a * M + r of K * M. */
static int task_combine(const struct place *element, const struct place *rank, struct place *place, struct bl_error *e)
{
    if (!element->source || !rank->source) {
        *place = element->source ? *element : *rank;
        return BL_OK;
    }
    *place = (struct place){rank->source, element->index * rank->count + rank->index, element->count * rank->count};
    if (place->count > BL_TASKS_MAX)
        return bl_error_set(
            e, BL_EUSAGE, "--task auto: %" PRId64 " elements of an array with %" PRId64 " tasks each are more than %d",
            element->count, rank->count, BL_TASKS_MAX);
    return BL_OK;
}

int bl_task_resolve(struct bl_task *task, struct bl_error *e)
{
    struct place rank = {0}, element = {0}, place = {0};
    if (!task->set || !task->automatic)
        return BL_OK;
    int code = task_find_rank(&rank, e);
    if (code)
        return code;
    code = task_find_element(&element, e);
    if (code)
        return code;
    code = task_combine(&element, &rank, &place, e);
    if (code)
        return code;
    if (!place.source)
        code = task_find_completion(task->count, &place, e);
    if (code)
        return code;
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
