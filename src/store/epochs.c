/* Plans for further epochs of a dataset, and the pair repeat rate between plans.
 *
 * The planner knows only sequences. So each stored piece is a sequence to it: piece p of the stored plan is sequence p,
 * and its length is that of the piece. A drawn plan is translated back, to the rows and the steps of the pieces, before
 * it is written. No data is moved: a plan of an epoch says which stored pieces a reader puts together. */
#include "store/epochs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "plan/options.h"
#include "plan/planner.h"
#include "store/dataset.h"
#include "store/index.h"
#include "store/row_reader.h"

/* With more epochs, not every pair of plans is compared, as that takes too long: 20 epochs make 210 comparisons. */
#define EACH_PAIR_EPOCHS 20

struct epochs_job {
    const struct bl_epochs *epochs;
    struct bl_dataset dataset;
    const struct bl_sequences *rows;
    struct bl_plan stored; /* the plan that the dataset was packed with */
    uint32_t *group;       /* [stored.pieces] if the dataset was packed with --group-by; otherwise NULL */
    uint32_t *together;    /* the same for --together: the pieces of a bundle in one stored block have one number */
    /* [stored.pieces] each, or NULL: the column of costs, if one is named, and the columns with a maximum. */
    double *number[BL_SEQUENCES_NUMBERS_MAX];
    struct bl_plan_options options;
    struct bl_planner planner;
    struct bl_partitions taken; /* hashes of the partitions: of the stored plan, then of each epoch */
    uint8_t *there;             /* [count] 1: the plan of epoch index + 1 exists and is intact */
    int64_t last;               /* index in `there` of the last such plan */
    struct bl_epochs_result made;
};

/* --- names -------------------------------------------------------------------------------------------------------- */

char *bl_epochs_name(int64_t epoch, char out[BL_EPOCHS_NAME_MAX])
{
    snprintf(out, BL_EPOCHS_NAME_MAX, BL_EPOCHS_DIR "/epoch-%05" PRId64 ".safetensors", epoch);
    return out;
}

/* Formats the number again, so that names such as epoch-1.safetensors, which denote no plan, are not taken for one. */
int64_t bl_epochs_number(const char *name)
{
    char again[BL_EPOCHS_NAME_MAX];
    int64_t number;
    if (sscanf(name, BL_EPOCHS_DIR "/epoch-%19" SCNd64, &number) != 1 || number < 1)
        return 0;
    return strcmp(bl_epochs_name(number, again), name) == 0 ? number : 0;
}

/* "epoch-00003.safetensors.part-HOST-PID-RANDOM" is an unfinished plan; "epoch-00003.safetensors" is a complete plan
 * that the manifest may not list yet. */
bool bl_epochs_is_leftover(const struct bl_manifest *manifest, const char *entry)
{
    char name[64] = BL_EPOCHS_DIR "/";
    const char *part = strstr(entry, ".part-");
    size_t size = part ? (size_t)(part - entry) : strlen(entry);
    if (size > sizeof name - sizeof BL_EPOCHS_DIR "/")
        return false;
    memcpy(name + strlen(name), entry, size);
    return bl_epochs_number(name) && (part || !bl_manifest_find_file(manifest, name));
}

int64_t bl_epochs_count(const struct bl_manifest *m)
{
    int64_t count = 0;
    for (size_t i = 0; i < m->files; i++)
        count += bl_epochs_number(m->file[i].name) > 0;
    return count;
}

/* Compares two int64_t for qsort. */
static int number_compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int bl_epochs_list(const struct bl_manifest *m, int64_t **number, size_t *count, struct bl_error *e)
{
    *count = 1;
    *number = calloc(m->files + 1, sizeof **number);
    if (!*number)
        return bl_error_memory(e);
    for (size_t i = 0; i < m->files; i++) {
        (*number)[*count] = bl_epochs_number(m->file[i].name);
        *count += (*number)[*count] > 0;
    }
    qsort(*number, *count, sizeof **number, number_compare);
    return BL_OK;
}

/* --- the directory ------------------------------------------------------------------------------------------------ */

/* Removes the entries of a folder that interrupted runs left: of plans/, the plans that m does not list; of the
 * dataset's directory, for which m is NULL, the unfinished manifests. Takes fd, the open folder, and closes it. */
static int epochs_sweep_folder(int fd, const char *dir, const struct bl_manifest *m, struct bl_error *e)
{
    DIR *entries = fdopendir(fd);
    if (!entries) {
        close(fd);
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    }
    int code = BL_OK;
    const struct dirent *entry;
    while (!code && (entry = readdir(entries))) {
        bool is_left = m ? bl_epochs_is_leftover(m, entry->d_name)
                         : strncmp(entry->d_name, BL_MANIFEST_FILE ".part-", strlen(BL_MANIFEST_FILE ".part-")) == 0;
        if (is_left && unlinkat(fd, entry->d_name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s from %s", entry->d_name, dir);
    }
    closedir(entries);
    return code;
}

int bl_epochs_sweep(const char *dir, int dir_fd, const struct bl_manifest *m, struct bl_error *e)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", dir);
    BL_TRY(epochs_sweep_folder(fd, dir, NULL, e));
    fd = openat(dir_fd, BL_EPOCHS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot open %s/" BL_EPOCHS_DIR, dir);
    BL_TRY(epochs_sweep_folder(fd, dir, m, e));
    if (unlinkat(dir_fd, BL_EPOCHS_DIR, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY && errno != EEXIST)
        return bl_error_errno(e, BL_EFAIL, "cannot remove %s/" BL_EPOCHS_DIR, dir);
    return BL_OK;
}

/* --- options of the planner --------------------------------------------------------------------------------------- */

/* Replaces the bundles of the stored pieces by numbers of their own in each block, so that the parts of a bundle that
 * was split are planned on their own. */
static void epochs_number_bundles(const struct bl_plan *stored, uint32_t *together)
{
    for (size_t b = 0; b < stored->blocks; b++) {
        uint32_t last = BL_ALONE, number = BL_ALONE;
        for (int64_t p = stored->block_ptr[b]; p < stored->block_ptr[b + 1]; p++) {
            uint32_t bundle = together[p];
            number = bundle == last && p > stored->block_ptr[b] ? number : (uint32_t)p;
            together[p] = bundle == BL_ALONE ? BL_ALONE : number;
            last = bundle;
        }
    }
}

/* Allocates and sets the groups and numbers of all stored pieces from the dataset's sequences.tsv. The value of a
 * sequence in a column of numbers is divided among its pieces in proportion to their steps: a sequence of 100 steps
 * with the cost 50 gives a piece of 30 steps the cost 15. */
static int epochs_read_columns(struct epochs_job *a, struct bl_error *e)
{
    const char *group_by = bl_manifest_option(&a->dataset.manifest, "group-by");
    struct bl_plan_options without = a->options;
    without.capacity.count = 0; /* own steps are known by piece */
    const struct bl_sequences_columns columns = bl_plan_columns_wanted(*group_by ? group_by : NULL, &without);
    const struct bl_plan *stored = &a->stored;
    struct bl_sequences rows;
    for (int f = 0; f < stored->own.count; f++) {
        double *own = a->number[columns.numbers + f] = calloc(stored->pieces + 1, sizeof *own);
        if (!own)
            return bl_error_memory(e);
        for (size_t p = 0; p < stored->pieces; p++)
            own[p] = (double)bl_plan_own_length(stored, f, p);
    }
    if (columns.group_by && !(a->group = malloc((stored->pieces + 1) * sizeof *a->group)))
        return bl_error_memory(e);
    if (columns.together && !(a->together = malloc((stored->pieces + 1) * sizeof *a->together)))
        return bl_error_memory(e);
    for (int k = 0; k < columns.numbers; k++)
        if (!(a->number[k] = calloc(stored->pieces + 1, sizeof **a->number)))
            return bl_error_memory(e);
    if (!columns.group_by && !columns.together && !columns.numbers)
        return BL_OK;
    BL_TRY(bl_sequences_open_dataset(&rows, a->epochs->dir, &columns, e));
    int code = BL_OK;
    for (size_t p = 0; p < stored->pieces && !code; p++) {
        uint32_t row = stored->sequence[p];
        if (row >= rows.count) {
            code = bl_error_set(e, BL_EFAIL, "%s: the plan has a sequence %" PRIu32 ", but the table has only %zu rows",
                                rows.file[0].path, row, rows.count);
            break;
        }
        if (a->group)
            a->group[p] = rows.group[row];
        if (a->together)
            a->together[p] = rows.together[row];
        for (int k = 0; k < columns.numbers && rows.length[row] > 0; k++)
            a->number[k][p] = rows.number[k][row] * ((double)stored->length[p] / (double)rows.length[row]);
    }
    bl_sequences_close(&rows);
    if (a->together && !code)
        epochs_number_bundles(stored, a->together);
    return code;
}

/* Sets the planner's options, so that its plans have as many blocks as the stored plan, with the same limits.
 * BL_EUSAGE: the dataset cannot have other plans. */
static int epochs_set_options(struct epochs_job *a, struct bl_error *e)
{
    const struct bl_plan_info *w = &a->dataset.manifest.plan_info;
    const struct bl_epochs *x = a->epochs;
    struct bl_plan_options *o = &a->options;
    if (strcmp(w->strategy, "sample") == 0 || strcmp(w->strategy, "mix") == 0)
        return bl_error_set(e, BL_EUSAGE, "%s holds clips (--strategy %s): another plan would need other clips", x->dir,
                            w->strategy);
    if (bl_plan_info_is_store(w))
        return bl_error_set(e, BL_EUSAGE,
                            "%s is a store, whose rows have no plans of epochs: plan them with bload view, or pack the "
                            "sequences without --store",
                            x->dir);
    *o = (struct bl_plan_options){
        .strategy = BL_STRATEGY_BLOCK,
        .fill = BL_FILL_PAPER, /* no search for fuller blocks: the stored plan gives the number of blocks */
        .T = a->stored.T,
        .align = a->stored.align,
        .world_size = x->world_size ? x->world_size : w->world_size,
        .batch_size = x->batch_size ? x->batch_size : w->batch_size,
        .remainder = BL_REMAINDER_PAD, /* the dataset's empty blocks stay */
        .max_sequences = a->dataset.manifest.format.S,
        .balance = x->balance,
        .cost = x->cost,
        .accumulate = x->accumulate ? x->accumulate : 1,
        .sync = x->sync,
    };
    int64_t most;
    const char *limit = bl_manifest_option(&a->dataset.manifest, "max-sequences");
    if (bl_text_to_int(limit, strlen(limit), 1, o->max_sequences, &most))
        o->max_sequences = most; /* with --sequence-slots, S may be more */
    const char *together = bl_manifest_option(&a->dataset.manifest, "together");
    o->together_column = *together ? together : NULL;
    BL_TRY(bl_format_check_cost(&a->dataset.manifest.format, &o->cost, e));
    BL_TRY(bl_plan_columns_parse(&o->max_column, bl_manifest_option(&a->dataset.manifest, "max-column"), e));
    for (int f = 0; f < a->stored.own.count; f++) {
        const struct bl_plan_own_field *field = &a->stored.own.field[f];
        struct bl_plan_column *column = &o->capacity.each[o->capacity.count++];
        *column = (struct bl_plan_column){.max = (double)field->capacity, .is_field = true};
        snprintf(column->name, sizeof column->name, "%s" BL_PLAN_OWN_SUFFIX, field->name);
    }
    if (w->blocks % (o->world_size * o->batch_size * o->accumulate) != 0)
        return bl_error_set(e, BL_EUSAGE,
                            "the %" PRId64 " blocks of %s are not a multiple of %" PRId64 " ranks times %" PRId64
                            " blocks%s: pack it again with these --world-size%s and --batch-size",
                            w->blocks, x->dir, o->world_size, o->batch_size * o->accumulate,
                            o->accumulate > 1 ? " to accumulate" : "", o->accumulate > 1 ? ", --accumulate" : "");
    return BL_OK;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Makes the plan of epoch k + 1 and checks it: each stored piece occurs once, and no piece ends beyond T. Then replaces
 * the planner's sequences, which are indices of stored pieces, by the rows of their sequences, and sets the length and
 * the source_start of each piece. The plan gets another partition than the stored plan and epochs 1 to k, whose
 * partitions must be in a->taken; may_repeat allows a repeated partition, as earlier versions did. Free the plan in any
 * case. */
static int epoch_draw(struct epochs_job *a, int64_t k, bool may_repeat, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_format *format = &a->dataset.manifest.format;
    const struct bl_plan *stored = &a->stored;
    /* The array may have partitions of later epochs, from the comparison: they do not count. */
    a->taken.count = (size_t)k + 1;
    a->planner.taken = may_repeat ? NULL : &a->taken;
    BL_TRY(bl_planner_draw(&a->planner, a->epochs->seed + (uint64_t)k, stored->blocks, 0, plan, e));
    int code = bl_plan_recount(plan, stored->length, stored->pieces, e);
    if (!code && (plan->deleted || (int64_t)plan->blocks != format->blocks || plan->max_sequences > format->S))
        code = bl_error_set(e, BL_EFAIL,
                            "%zu blocks of up to %" PRId64 " sequences, %" PRId64
                            " steps left out, which differs from the stored blocks",
                            plan->blocks, plan->max_sequences, plan->deleted);
    if (code) {
        bl_error_prefix(e, "%s: cannot make the plan of epoch %" PRId64, a->epochs->dir, k + 1);
        return code;
    }
    plan->length = malloc((plan->pieces + 1) * sizeof *plan->length);
    plan->source_start = malloc((plan->pieces + 1) * sizeof *plan->source_start);
    bool whole = plan->length && plan->source_start;
    for (int f = 0; f < plan->own.count; f++) {
        struct bl_plan_own_field *field = &plan->own.field[f];
        field->length = NULL; /* the lengths of pieces, which are the planner's sequences */
        field->piece = malloc((plan->pieces + 1) * sizeof *field->piece);
        whole &= field->piece != NULL;
        for (size_t p = 0; p < plan->pieces && field->piece; p++)
            field->piece[p] = (int32_t)bl_plan_own_length(stored, f, plan->sequence[p]);
    }
    if (!whole)
        return bl_error_memory(e);
    /* Piece p of the drawn plan is a stored piece: its number becomes its row. */
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t piece = plan->sequence[p];
        plan->sequence[p] = stored->sequence[piece];
        plan->length[p] = stored->length[piece];
        plan->source_start[p] = stored->source_start[piece];
    }
    return BL_OK;
}

/* Makes the plan of epoch k + 1 and writes it to path. The information about the plan is that of the dataset, with the
 * seed, the ranks and the balance of this plan. */
static int epoch_write_plan(struct epochs_job *a, int64_t k, const char *path, struct bl_error *e)
{
    struct bl_plan plan = {0};
    struct bl_output out = {0};
    struct bl_plan_info info = a->dataset.manifest.plan_info;
    int code = epoch_draw(a, k, false, &plan, e);
    a->made.repeated += a->planner.is_repeated;
    if (!code)
        code = bl_output_own(&out, path, e);
    info.seed = a->epochs->seed + (uint64_t)k;
    info.seed_unknown = false;
    info.world_size = a->options.world_size;
    info.batch_size = a->options.batch_size;
    info.batches_per_rank = info.blocks / info.world_size / info.batch_size;
    info.align_padding = plan.align_padding;
    info.balance = plan.balance;
    for (int c = 0; c < info.columns && !code; c++)
        info.column[c].filled = plan.filled[c];
    if (!code)
        code = bl_index_write(&out, &plan, a->rows->length, a->rows->count, &info, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    bl_plan_free(&plan);
    return code;
}

/* Makes the plan of epoch k + 1. *equals: its digest is this one. */
static int epoch_equals(struct epochs_job *a, int64_t k, bool may_repeat, const char *digest, bool *equals,
                        struct bl_error *e)
{
    struct bl_plan plan = {0};
    char made[BL_DIGEST_SIZE] = "";
    int code = epoch_draw(a, k, may_repeat, &plan, e);
    if (!code)
        code = bl_plan_digest(&plan, a->rows->length, made, e);
    bl_plan_free(&plan);
    *equals = strcmp(made, digest) == 0;
    return code;
}

/* Checks that the existing plan of epoch k + 1 is the one that would be made now. A plan of an earlier version of the
 * tool, which did not avoid repeated partitions, is accepted, too. BL_EUSAGE: the plan is another one, so that the
 * options differ from those of the existing plans. */
static int epoch_compare(struct epochs_job *a, int64_t k, const char *path, struct bl_error *e)
{
    struct bl_index index = {.fd = -1};
    char its[BL_DIGEST_SIZE] = "";
    bool equals = false;
    int code = bl_index_open_plan(&index, path, e);
    if (!code)
        code = bl_index_plan_digest(&index, a->stored.T, its, e);
    bl_index_close(&index);
    if (!code)
        code = epoch_equals(a, k, false, its, &equals, e);
    if (code || equals) {
        a->made.repeated += a->planner.is_repeated;
        return code;
    }
    a->made.older++;
    BL_TRY(epoch_equals(a, k, true, its, &equals, e));
    if (equals)
        return bl_partitions_add(&a->taken, a->planner.partition, e);
    return bl_error_set(e, BL_EUSAGE,
                        "%s has other plans than these, of another --seed, --balance, --cost, --world-size or "
                        "--batch-size; bload plan --dataset %s --epochs 0 removes them",
                        a->epochs->dir, a->epochs->dir);
}

/* bl_epochs_add goes through all epochs once per step: it finds the plans that exist, compares them with those that
 * would be made, writes the missing plans, and lists these in the manifest. */
enum epochs_step { FIND, COMPARE, WRITE, LIST, STEPS };

/* Does one step for epoch k + 1. A plan that exists has the size and the checksum that the manifest lists. A plan that
 * is missing is made in the step COMPARE, too, if a later one exists: only its partition is recorded, because the
 * comparison of the later plan needs the partitions of all epochs before it. */
static int epoch_process(struct epochs_job *a, int64_t k, enum epochs_step step, struct bl_error *e)
{
    struct bl_manifest *m = &a->dataset.manifest;
    struct bl_plan passed = {0};
    char name[BL_EPOCHS_NAME_MAX], *path = bl_path_join(a->epochs->dir, bl_epochs_name(k + 1, name));
    if (!path)
        return bl_error_memory(e);
    struct bl_manifest_file *file = bl_manifest_find_file(m, name);
    int code = BL_OK;
    if (step == FIND) {
        struct bl_error unimportant = {0};
        int64_t bytes = 0;
        uint64_t checksum = 0;
        a->there[k] = file && bl_checksum_file(path, &bytes, &checksum, &unimportant) == BL_OK &&
                      bytes == file->bytes && checksum == file->checksum;
        a->last = a->there[k] ? k : a->last;
    } else if (step == COMPARE && a->there[k]) {
        code = epoch_compare(a, k, path, e);
    } else if (step == COMPARE && k < a->last) {
        code = epoch_draw(a, k, false, &passed, e);
    } else if (step == WRITE && !a->there[k]) {
        code = epoch_write_plan(a, k, path, e);
    } else if (step == LIST && !a->there[k]) {
        if (file) { /* with the size and the checksum of a file that is damaged or gone */
            free(file->name);
            *file = m->file[--m->files];
        }
        code = bl_manifest_add_file(m, a->epochs->dir, name, e);
        a->made.added++;
    }
    bl_plan_free(&passed);
    free(path);
    return code;
}
/* Reads the stored plan, prepares the planner, and does all steps for all epochs. */
static int epochs_add(struct epochs_job *a, struct bl_error *e)
{
    struct bl_manifest *m = &a->dataset.manifest;
    BL_TRY(bl_index_read_plan(&a->dataset.index, m->plan_info.T, m->align, &a->stored, e));
    BL_TRY(epochs_set_options(a, e));
    BL_TRY(epochs_read_columns(a, e));
    bl_plan_columns_set(&a->options, a->group, a->number);
    a->options.together = a->together;
    BL_TRY(bl_dataset_sequences(&a->dataset, &a->rows, e));
    BL_TRY(bl_planner_make(&a->planner, a->stored.length, a->stored.pieces, &a->options, e));
    BL_TRY(bl_planner_adopt(&a->planner, &a->stored, e));
    BL_TRY(bl_partitions_add(&a->taken, bl_planner_hash_adopted(&a->planner, &a->stored), e));
    a->there = calloc((size_t)a->epochs->count, 1);
    char *folder = bl_path_join(a->epochs->dir, BL_EPOCHS_DIR);
    if (!a->there || !folder) {
        free(folder);
        return bl_error_memory(e);
    }
    int code = BL_OK;
    for (enum epochs_step step = FIND; step < STEPS && !code; step++) {
        if (step == WRITE)
            code = bl_fs_mkdirs(folder, e);
        for (int64_t k = 0; k < a->epochs->count && !code; k++)
            code = epoch_process(a, k, step, e);
    }
    if (!code && a->made.added)
        code = bl_manifest_write(m, a->epochs->dir, e);
    free(folder);
    return code;
}

/* Without the lock on the directory, two processes would each write a manifest without the other's plans. With count 0,
 * the manifest without plans is written before bl_epochs_sweep removes their files. */
int bl_epochs_add(const struct bl_epochs *epochs, struct bl_epochs_result *made, struct bl_error *e)
{
    struct epochs_job a = {.epochs = epochs};
    struct bl_manifest *m = &a.dataset.manifest;
    struct bl_error unimportant = {0};
    struct stat status;
    int64_t before = 0;
    int fd; /* closing it releases the lock */
    *made = (struct bl_epochs_result){0};
    if (stat(epochs->dir, &status) == 0 ? !S_ISDIR(status.st_mode) : errno == ENOENT || errno == ENOTDIR)
        return bl_error_set(e, BL_EUSAGE, "%s is not a finished dataset: it has no " BL_MANIFEST_FILE, epochs->dir);
    BL_TRY(bl_fs_lock_directory(epochs->dir, "bload plan --dataset", &fd, e));
    int code = bl_dataset_open(&a.dataset, epochs->dir, e);
    if (code)
        goto out;
    before = bl_epochs_count(m);
    code = bl_epochs_sweep(epochs->dir, fd, m, e);
    if (!code && epochs->count)
        code = epochs_add(&a, e);
    size_t kept = 0, files = code || epochs->count ? 0 : m->files;
    for (size_t i = 0; i < files; i++) {
        if (bl_epochs_number(m->file[i].name))
            free(m->file[i].name);
        else
            m->file[kept++] = m->file[i];
    }
    if (kept < files) {
        m->files = kept;
        code = bl_manifest_write(m, epochs->dir, e);
    }
    /* Remove the plans that are no longer listed, or the plans written before an error. Do not remove the latter once
     * a plan was added to the manifest, since the manifest on disk may list it already. */
    if (!code && !epochs->count)
        code = bl_epochs_sweep(epochs->dir, fd, m, e);
    else if (code && !a.made.added)
        bl_epochs_sweep(epochs->dir, fd, m, &unimportant);
out:
    *made = a.made;
    made->removed = epochs->count ? 0 : before;
    made->there = code ? before : bl_epochs_count(m);
    bl_partitions_free(&a.taken);
    bl_planner_free(&a.planner);
    bl_plan_free(&a.stored);
    free(a.group);
    free(a.together);
    for (int k = 0; k < BL_SEQUENCES_NUMBERS_MAX; k++)
        free(a.number[k]);
    free(a.there);
    bl_dataset_close(&a.dataset);
    close(fd);
    return code;
}

/* --- pair repeat rate --------------------------------------------------------------------------------------------- */

/* The comparison of the plans of a dataset. */
struct encounter {
    const struct bl_manifest *manifest;
    const char *dir;
    int64_t *number; /* [plans] epochs of the plans, from bl_epochs_list; 0: the stored plan */
    size_t plans;
};

/* Returns the name of the file of plan i, relative to the dataset. */
static const char *encounter_name(const struct encounter *n, size_t i, char out[BL_EPOCHS_NAME_MAX])
{
    return n->number[i] ? bl_epochs_name(n->number[i], out) : BL_INDEX_FILE;
}

/* Reads which sequences share a block in plan i. Free the plan with bl_plan_free; on error it is empty. */
static int encounter_read(const struct encounter *n, size_t i, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_format *format = &n->manifest->format;
    struct bl_index index = {.fd = -1};
    char name[BL_EPOCHS_NAME_MAX], *path = bl_path_join(n->dir, encounter_name(n, i, name));
    int code = path ? BL_OK : bl_error_memory(e);
    if (!code)
        code = n->number[i] ? bl_index_open_plan(&index, path, e)
                            : bl_index_open(&index, n->dir, format->blocks, bl_manifest_index_fields(n->manifest), e);
    if (!code)
        code = bl_index_read_members(&index, n->manifest->plan_info.cut > 0, plan, e);
    bl_index_close(&index);
    free(path);
    return code;
}

/* Plan i is compared with all later plans, or only with the next one if there are many; the stored plan is compared
 * with all. */
int bl_epochs_pair_repeat_measure(struct bl_epochs_pair_repeat *pair_repeat, const struct bl_manifest *manifest,
                                  const char *dir, size_t count, struct bl_error *e)
{
    struct encounter n = {.manifest = manifest, .dir = dir};
    struct bl_pair_repeat counted, *highest = &pair_repeat->highest;
    char name[BL_EPOCHS_NAME_MAX];
    *pair_repeat = (struct bl_epochs_pair_repeat){0};
    BL_TRY(bl_epochs_list(manifest, &n.number, &n.plans, e));
    int code = BL_OK;
    pair_repeat->epochs = (int64_t)n.plans - 1;
    pair_repeat->each_pair = pair_repeat->epochs <= EACH_PAIR_EPOCHS;
    for (size_t i = 0; i + 1 < n.plans && !code; i++) {
        struct bl_pair_repeat_places places = {0}; /* the blocks of each sequence in plan i */
        size_t end = pair_repeat->each_pair || i == 0 ? n.plans : i + 2;
        for (size_t j = i; j < end && !code; j++) {
            struct bl_plan plan = {0};
            code = encounter_read(&n, j, &plan, e);
            if (code)
                break;
            code = j == i ? bl_pair_repeat_find_places(&places, &plan, count, e)
                          : bl_pair_repeat_count(&counted, &plan, &places, e);
            bl_plan_free(&plan);
            if (code)
                bl_error_prefix(e, "%s/%s", dir, encounter_name(&n, j, name));
            else if (j > i)
                bl_pair_repeat_leave_out(&counted, manifest->plan_info.bundle_pairs);
            /* Plan i itself only gives the places. */
            if (code || j == i ||
                (highest->is_measured && bl_pair_repeat_share(&counted) <= bl_pair_repeat_share(highest)))
                continue;
            *highest = counted;
            pair_repeat->plan[0] = n.number[i];
            pair_repeat->plan[1] = n.number[j];
        }
        bl_pair_repeat_free_places(&places);
    }
    free(n.number);
    return code;
}
