#include "base/checksum.h"
#include "run/state_files.h"
#include "unit.h"

static struct bl_task task;
static struct bl_options options;
static struct bl_error error;

/* What the environment may tell, none of which is set where a test begins. */
static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_NTASKS",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_TASKS_PER_NODE",
                                        "SLURM_NTASKS_PER_NODE",
                                        "SLURM_JOB_NUM_NODES",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_ARRAY_TASK_COUNT",
                                        "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_MAX",
                                        "JOB_COMPLETION_INDEX",
                                        NULL};

static void set_up(void)
{
    for (int i = 0; variables[i]; i++)
        unsetenv(variables[i]);
    task = (struct bl_task){0};
    options = (struct bl_options){0};
    error = (struct bl_error){0};
    ck_assert_int_eq(bl_options_add(&options, "Task", bl_task_option_table, &task, &error), BL_OK);
}

static void tear_down(void)
{
    bl_options_free(&options);
}

static int set(const char *text)
{
    bl_error_clear(&error);
    return bl_options_set(&options, "task", text, BL_ORIGIN_FLAG, &error);
}

/* The option's canonical form is this. */
static void reads(const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_option_format(&options.group[0], &bl_task_option_table[0], &out);
    ck_assert_str_eq(out.data ? out.data : "", expected);
}

/* Sets variables from "NAME=value NAME=value". */
static void environment(const char *words)
{
    char text[512];
    ck_assert_uint_lt(strlen(words), sizeof text);
    strcpy(text, words);
    for (char *next = text, *word; (word = strsep(&next, " "));) {
        char *name = strsep(&word, "=");
        ck_assert_ptr_nonnull(word);
        int known = 0;
        for (int i = 0; variables[i]; i++)
            known |= strcmp(variables[i], name) == 0;
        ck_assert(known);
        setenv(name, word, 1);
    }
}

/* In this environment, --task text is task index of count. */
static void settles(const char *text, const char *words, int64_t index, int64_t count)
{
    environment(words);
    ck_assert_int_eq(set(text), BL_OK);
    ck_assert_msg(bl_task_resolve(&task, &error) == BL_OK, "%s: %s", words, error.text);
    ck_assert(task.set && !task.automatic);
    ck_assert_int_eq(task.index, index);
    ck_assert_int_eq(task.count, count);
}

/* In this environment, --task text is refused in these words. */
static void refuses(const char *text, const char *words, const char *message)
{
    if (*words)
        environment(words);
    ck_assert_int_eq(set(text), BL_OK);
    ck_assert_int_eq(bl_task_resolve(&task, &error), BL_EUSAGE);
    ck_assert_str_eq(error.text, message);
}

UNIT_TEST(words)
{
    static const struct {
        const char *text;
        bool automatic;
        int64_t index, count;
    } good[] = {{"0/1", false, 0, 1},
                {"3/16", false, 3, 16},
                {"99999/100000", false, 99999, 100000},
                {"auto", true, 0, 0},
                {"auto/7", true, 0, 7}};
    reads("");
    for (size_t i = 0; i < COUNT(good); i++) {
        ck_assert_int_eq(set(good[i].text), BL_OK);
        ck_assert(task.set && task.automatic == good[i].automatic);
        ck_assert_int_eq(task.index, good[i].index);
        ck_assert_int_eq(task.count, good[i].count);
        reads(good[i].text);
    }
    static const char *const bad[] = {"",       "1",    "1/",       "/2",        "2/2",     "0/0",
                                      "-1/2",   "0/-2", "0/100001", "automatic", "auto/",   "auto/0",
                                      "Auto/2", "a/2",  "1/2/3",    "0 /2",      "auto /2", "au/2"};
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(set(bad[i]) == BL_EUSAGE, "took \"%s\"", bad[i]);
    ck_assert_int_eq(set("2/2"), BL_EUSAGE);
    ck_assert_str_eq(error.text,
                     "--task expects i/N with i from 0 to N-1 and N up to 100000, auto, or auto/N, not \"2/2\"");
}

UNIT_TEST(a_task_does_not_identify_a_dataset)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    ck_assert_int_eq(set("1/2"), BL_OK);
    bl_options_identity(&options, &out);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(bl_options_set(&options, "task", "1/2", BL_ORIGIN_FILE, &error), BL_EUSAGE);
}

UNIT_TEST(what_is_said_needs_no_environment)
{
    environment("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4");
    ck_assert_int_eq(set("2/3"), BL_OK);
    ck_assert_int_eq(bl_task_resolve(&task, &error), BL_OK);
    reads("2/3");
    task = (struct bl_task){0};
    ck_assert_int_eq(bl_task_resolve(&task, &error), BL_OK);
    ck_assert(!task.set);
}

UNIT_TEST(open_mpi)
{
    settles("auto", "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3", 2, 3);
    reads("2/3");
    /* mpirun within a Slurm job: its daemons are what srun started. */
    settles("auto/3", "SLURM_PROCID=0 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2", 2, 3);
    refuses("auto/4", "SLURM_PROCID=0", "--task auto/4: the environment has 3 tasks (OMPI_COMM_WORLD_SIZE)");
    refuses("auto", "OMPI_COMM_WORLD_RANK=3",
            "--task auto: OMPI_COMM_WORLD_RANK is \"3\", not a whole number from 0 to 2");
    refuses("auto", "OMPI_COMM_WORLD_SIZE=3x",
            "--task auto: OMPI_COMM_WORLD_SIZE is \"3x\", not a whole number from 1 to 100000");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    refuses("auto", "SLURM_PROCID=0", "--task auto: OMPI_COMM_WORLD_SIZE is not set, but related variables are");
}

UNIT_TEST(srun)
{
    settles("auto", "SLURM_PROCID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=8 SLURM_NTASKS=8 SLURM_JOB_NUM_NODES=2", 5, 8);
    refuses("auto", "SLURM_NTASKS=4",
            "--task auto: SLURM_STEP_NUM_TASKS is 8, but SLURM_NTASKS is 4: they belong to different steps; give "
            "--task i/N");
    environment("SLURM_NTASKS=8");
    refuses("auto", "SLURM_STEP_TASKS_PER_NODE=8 SLURM_TASKS_PER_NODE=1",
            "--task auto: SLURM_STEP_TASKS_PER_NODE is 8, but SLURM_TASKS_PER_NODE is 1: they belong to different "
            "steps; give "
            "--task i/N");
    environment("SLURM_TASKS_PER_NODE=8");
    refuses("auto", "SLURM_PROCID=-1", "--task auto: SLURM_PROCID is \"-1\", not a whole number from 0 to 7");
}

static const char batch_script[] =
    "--task auto: this is the batch script itself, not srun: start it as \"srun bload ...\", "
    "which starts all tasks of the job, or give --task i/N";

UNIT_TEST(a_batch_script_is_no_task)
{
    refuses("auto", "SLURM_PROCID=0 SLURM_NTASKS=4", batch_script);
    refuses("auto/4", "SLURM_STEP_ID=-5", batch_script);
    refuses("auto", "SLURM_STEP_ID=4294967291", batch_script);
    /* The shell of salloc, a step of one task. */
    refuses("auto", "SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1", batch_script);
    unsetenv("SLURM_NTASKS");
    refuses("auto", "SLURM_STEP_ID=-5", batch_script);
}

UNIT_TEST(job_arrays)
{
    settles("auto",
            "SLURM_PROCID=0 SLURM_JOB_NUM_NODES=1 SLURM_ARRAY_TASK_ID=12 SLURM_ARRAY_TASK_COUNT=4 "
            "SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_MAX=13",
            2, 4);
    settles("auto/4", "SLURM_NTASKS=1", 2, 4);
    refuses("auto/5", "SLURM_NTASKS=1", "--task auto/5: the environment has 4 tasks (SLURM_ARRAY_TASK_COUNT)");
    refuses("auto", "SLURM_NTASKS=2", batch_script);
    refuses("auto", "SLURM_NTASKS=1 SLURM_JOB_NUM_NODES=2", batch_script);
    refuses("auto", "SLURM_JOB_NUM_NODES=1 SLURM_NTASKS_PER_NODE=2", batch_script);
    unsetenv("SLURM_NTASKS_PER_NODE");
    refuses(
        "auto", "SLURM_ARRAY_TASK_MAX=16",
        "--task auto: the job array has 4 elements from 10 to 16: give it consecutive elements, or give --task i/N");
    refuses("auto", "SLURM_ARRAY_TASK_MAX=13 SLURM_ARRAY_TASK_ID=9",
            "--task auto: SLURM_ARRAY_TASK_ID is \"9\", not a whole number from 10 to 13");
    unsetenv("SLURM_ARRAY_TASK_COUNT");
    refuses("auto", "SLURM_ARRAY_TASK_ID=10",
            "--task auto: SLURM_ARRAY_TASK_COUNT is not set, but related variables are");
}

UNIT_TEST(ranks_in_each_element)
{
    static const char array[] =
        "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=2";
    environment(array);
    settles("auto/12", "SLURM_PROCID=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4", 7, 12);
    settles("auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", 3, 6);
    refuses("auto", "OMPI_COMM_WORLD_SIZE=50000",
            "--task auto: 3 elements of an array with 50000 tasks each are more than 100000");
}

UNIT_TEST(kubernetes)
{
    settles("auto/4", "JOB_COMPLETION_INDEX=3", 3, 4);
    refuses("auto", "JOB_COMPLETION_INDEX=3",
            "--task auto: JOB_COMPLETION_INDEX is set, but Kubernetes does not set the number of pods: give "
            "--task auto/N, where N is the Job's completions");
    refuses("auto/3", "JOB_COMPLETION_INDEX=3",
            "--task auto: JOB_COMPLETION_INDEX is \"3\", not a whole number from 0 to 2");
    refuses("auto/3",
            "JOB_COMPLETION_INDEX=", "--task auto: JOB_COMPLETION_INDEX is \"\", not a whole number from 0 to 2");
}

UNIT_TEST(an_environment_that_tells_nothing)
{
    static const char nothing[] = "--task auto: no variable gives the task: OMPI_COMM_WORLD_RANK, SLURM_PROCID, "
                                  "SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are not set; give --task i/N";
    refuses("auto", "", nothing);
    refuses("auto/4", "", nothing);
}

/* Shares follow each other, are all there is, and differ by one at most. */
UNIT_TEST(shares)
{
    static const int64_t totals[] = {0, 1, 2, 7, 99, 100000, INT64_MAX - 1, INT64_MAX};
    static const int64_t counts[] = {1, 2, 3, 7, 1000, BL_TASKS_MAX};
    for (size_t t = 0; t < COUNT(totals); t++) {
        for (size_t c = 0; c < COUNT(counts); c++) {
            int64_t begin, end, next = 0, least = totals[t] / counts[c];
            for (int64_t i = 0; i < counts[c]; i++, next = end) {
                struct bl_task one = {.set = true, .index = i, .count = counts[c]};
                bl_task_range(&one, totals[t], &begin, &end);
                if (begin != next || end - begin < least || end - begin - least > 1)
                    ck_abort_msg("task %d of %d: %ld to %ld", (int)i, (int)counts[c], (long)begin, (long)end);
            }
            ck_assert_int_eq(next, totals[t]);
        }
    }
    int64_t begin, end;
    bl_task_range(&(struct bl_task){.set = true, .index = 2, .count = 3}, 10, &begin, &end);
    ck_assert_int_eq(begin, 6);
    ck_assert_int_eq(end, 10);
    bl_task_range(&(struct bl_task){0}, 10, &begin, &end);
    ck_assert_int_eq(begin, 0);
    ck_assert_int_eq(end, 10);
}

UNIT_EACH(set_up, tear_down)
