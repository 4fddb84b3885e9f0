/* Compares inputs with the rows that a scan made of them, and sequences with each other.
 *
 * Names are compared first, in one pass over both sorted sequences, since that needs no disk. Then jobs of ROWS rows
 * check sizes and contents in parallel: most of their time is spent on waiting for the file system. */
#include "scan/compare.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/kinds.h"
#include "pool/pipeline.h"
#include "store/row_reader.h"

/* --- inputs and their table --------------------------------------------------------------------------------------- */

#define ROWS 64 /* of a job */

/* Sets the error for an input that differs from the table, such as "a.mp4 is gone". BL_EDATA: the caller says what
 * to do. */
static int compare_fail(const char *path, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "%s %s", path, what);
}

/* Moves *next to the next file that is no list. */
static void names_skip_lists(const struct bl_files *files, size_t *next)
{
    while (*next < files->count && bl_file_is_list(&files->file[*next], files->kind))
        ++*next;
}

/* Compares the names of the files with those in the table, both in natural order. Rows of lists are skipped: the
 * checksums of lists are part of the configuration. A folder of images may have a name such as "a.csv", so its rows
 * count. */
static int names_compare(const struct bl_compare *c, struct bl_error *e)
{
    const struct bl_files *files = c->files;
    const struct bl_kind *kind = files->kind;
    struct bl_row_reader text = {0};
    const struct bl_row *row = &text.row;
    size_t next = 0;
    int code = BL_OK;
    for (size_t i = 0; i < c->table->count && !code; i++) {
        code = bl_row_reader_read(c->table, i, &text, e);
        if (code)
            break;
        names_skip_lists(files, &next);
        /* Rows of lists have a start, or are clips, or are the row of the list itself. */
        if (kind->scan->lists && (*row->start || row->is_clip ||
                                  (bl_kind_is_list(kind, row->path) && !(kind->scan->stat_folder && row->content))))
            continue;
        if (next && strcmp(files->file[next - 1].path, row->path) == 0)
            continue; /* another row of the same file */
        /* Both are sorted: a file behind the row's path means that the row's file is missing. */
        if (next == files->count || bl_text_natural(files->file[next].path, row->path) > 0)
            code = compare_fail(row->path, "is gone", e);
        else if (strcmp(files->file[next].path, row->path) != 0)
            code = compare_fail(files->file[next].path, "is new", e);
        next++;
    }
    names_skip_lists(files, &next);
    if (!code && next < files->count)
        code = compare_fail(files->file[next].path, "is new", e);
    bl_row_reader_free(&text);
    return code;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* A job of the pipeline: the rows begin to end - 1. */
struct job {
    size_t begin, end;
};

struct comparing {
    const struct bl_compare *compare;
    size_t next;
};

/* Compares a file with its row: size and content must be equal. A row without a size was unusable, and its file must
 * still be so. If a file holds many documents, only its size is compared, as reading compares the content of each
 * document. */
static int file_compare(const struct bl_compare *c, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_kind *kind = c->kind;
    struct bl_input input = {.path = bl_path_join(c->base, row->path)};
    const char *unusable = NULL;
    if (!input.path)
        return bl_error_memory(e);
    int code =
        kind->spool ? bl_input_stat(kind, &input, &unusable, e) : bl_input_stat_content(kind, &input, &unusable, e);
    free((char *)input.path);
    if (code)
        return code;
    bool other = !kind->spool && row->content && input.content != row->content;
    if (unusable && (row->bytes > 0 || other))
        return compare_fail(row->path, "is gone", e);
    if (row->bytes >= 0 && input.bytes != row->bytes)
        return compare_fail(row->path, "has a different size", e);
    return other ? compare_fail(row->path, "has different content", e) : BL_OK;
}

/* Makes the job of the next ROWS rows: a job a row would cost more than many comparisons. */
static int compare_produce(void *context, void **out, struct bl_error *e)
{
    struct comparing *c = context;
    size_t left = c->compare->table->count - c->next;
    if (!left)
        return BL_OK;
    struct job *job = malloc(sizeof *job);
    if (!job)
        return bl_error_memory(e);
    *job = (struct job){c->next, c->next + (left < ROWS ? left : ROWS)};
    c->next = job->end;
    *out = job;
    return BL_OK;
}

/* Checks the files of the rows of a job. Rows of one file follow each other, so that the file is checked once; the
 * row before the job tells whether its first file was checked already. */
static int compare_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct bl_compare *c = ((struct comparing *)context)->compare;
    const struct job *job = job_;
    struct bl_row_reader text = {0};
    struct bl_buffer before = {0};
    int code = BL_OK;
    (void)worker;
    /* The row before the job is read only for its path. */
    for (size_t i = job->begin - (job->begin > 0); i < job->end && !code; i++) {
        const struct bl_row *row = &text.row;
        code = bl_cancelled(c->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &text, e);
        if (code)
            break;
        bool checked = i >= job->begin && strcmp(row->path, "-") != 0 && (c->files || row->status == BL_ROW_OK);
        if (checked && !(before.size && strcmp(before.data, row->path) == 0))
            code = file_compare(c, row, e);
        if (checked && !code && c->kind->scan->verify)
            code = c->kind->scan->verify(c->config, row, e);
        if (code)
            break;
        bl_buffer_clear(&before);
        bl_buffer_text(&before, row->path);
        code = bl_buffer_check(&before, e);
    }
    bl_row_reader_free(&text);
    bl_buffer_free(&before);
    return code;
}

static void compare_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

/* Compares all inputs with their table. compare->files: NULL compares no names, and checks the files of usable rows
 * only. BL_EDATA: an input has changed. */
int bl_compare_run(const struct bl_compare *compare, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = compare_produce, .work = compare_work, .discard = compare_discard};
    struct comparing c = {.compare = compare};
    BL_TRY(compare->files ? names_compare(compare, e) : BL_OK);
    return bl_pipeline_run(&stages, &c, compare->workers, 4 * compare->workers, compare->cancel, e);
}

/* --- sequences with the same content ------------------------------------------------------------------------------ */

/* Two buffers of this size lie on the stack. */
#define PIECE ((size_t)64 << 10)

/* The numbers that decide which part of its file a row is. */
struct place {
    uint64_t content;
    int64_t stream, is_clip, begin, end;
};

/* Returns the place of a row within its file. All members have 8 bytes, so the struct has no padding, and memcmp can
 * compare it. */
static struct place row_place(const struct bl_row *row)
{
    return (struct place){row->content, row->stream, row->is_clip, row->clip_begin, row->clip_end};
}

static uint64_t same_hash_text(const char *text)
{
    return text ? XXH3_64bits(text, strlen(text)) : 0;
}

/* Rows of equal content have equal hashes; the reverse holds only nearly always. */
uint64_t bl_same_content_hash(const struct bl_row *row)
{
    const struct place place = row_place(row);
    const uint64_t parts[] = {XXH3_64bits(&place, sizeof place), same_hash_text(row->start),
                              same_hash_text(row->duration), same_hash_text(row->channel)};
    return XXH3_64bits(parts, sizeof parts);
}

/* Returns whether two texts are equal, where NULL is an empty text. */
static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Returns whether two rows are the same part of files with equal digests. */
static bool same_place(const struct bl_row *a, const struct bl_row *b)
{
    const struct place one = row_place(a), two = row_place(b);
    return memcmp(&one, &two, sizeof one) == 0 && same_text(a->kind, b->kind) && same_text(a->start, b->start) &&
           same_text(a->duration, b->duration) && same_text(a->channel, b->channel);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* Compares two open files of the same size, PIECE bytes at a time. BL_ECANCEL: the run was cancelled. */
static int same_bytes(const struct bl_input_file file[2], const char *const path[2], const struct bl_cancel *cancel,
                      bool *same, struct bl_error *e)
{
    const int64_t size = file[0].status.st_size;
    char one[PIECE], two[PIECE];
    *same = true;
    for (int64_t at = 0; at < size && *same; at += (int64_t)PIECE) {
        size_t piece = size - at < (int64_t)PIECE ? (size_t)(size - at) : PIECE;
        if (cancel && bl_cancelled(cancel))
            return BL_ECANCEL;
        int code = bl_input_file_get(&file[0], one, piece, at, path[0], e);
        if (!code)
            code = bl_input_file_get(&file[1], two, piece, at, path[1], e);
        if (code)
            return code;
        *same = memcmp(one, two, piece) == 0;
    }
    return BL_OK;
}

/* Compares two files byte by byte, since digests of 64 bits that cover both ends only may be equal by chance. */
static int same_files(const char *const path[2], const struct bl_cancel *cancel, bool *same, struct bl_error *e)
{
    struct bl_input_file file[2] = {{.fd = -1}, {.fd = -1}};
    int code = BL_OK;
    *same = false;
    for (int i = 0; i < 2 && !code; i++) {
        if (bl_input_file_open(&file[i], path[i]) != 0)
            code = bl_opener_fail("--dedup compares files, and cannot open", path[i], BL_EFAIL, e);
    }
    if (!code && file[0].status.st_size == file[1].status.st_size)
        code = same_bytes(file, path, cancel, same, e);
    for (int i = 0; i < 2; i++)
        bl_input_file_close(&file[i]);
    return code;
}

/* --- folders ---------------------------------------------------------------------------------------------------- */

/* Leaves out hidden files, as the walk through folders does: a filter of scandir(3). */
static int folder_takes(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Compares the files of two folders by name and content, in the order of their names. Folders in the folders belong
 * to other sequences. */
static int same_folders(const char *const path[2], const struct bl_cancel *cancel, bool *same, struct bl_error *e)
{
    struct dirent **entry[2] = {NULL, NULL};
    int count[2] = {0, 0}, code = BL_OK;
    for (int i = 0; i < 2 && !code; i++) {
        count[i] = scandir(path[i], &entry[i], folder_takes, alphasort);
        if (count[i] < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path[i]);
    }
    *same = count[0] == count[1];
    for (int i = 0; i < count[0] && *same && !code; i++) {
        *same = strcmp(entry[0][i]->d_name, entry[1][i]->d_name) == 0;
        if (!*same)
            break;
        char *one = bl_path_join(path[0], entry[0][i]->d_name), *two = bl_path_join(path[1], entry[0][i]->d_name);
        code = one && two ? BL_OK : bl_error_memory(e);
        *same = code || path_is_folder(one) == path_is_folder(two);
        if (!code && *same && !path_is_folder(one))
            code = same_files((const char *const[]){one, two}, cancel, same, e);
        free(one);
        free(two);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < count[k]; i++)
            free(entry[k][i]);
        free(entry[k]);
    }
    return code;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

bool bl_same_content_is_document(const struct bl_row *row)
{
    const struct bl_kind *kind = bl_kind_find(row->kind);
    return kind && kind->scan->chunk_bytes;
}

/* Sets *same. Documents with equal digests of 64 bits and equal lengths count as equal; files are compared. Rows of
 * the same path need no comparison. */
int bl_same_content(const struct bl_row *a, const struct bl_row *b, const char *base, const struct bl_cancel *cancel,
                    bool *same, struct bl_error *e)
{
    *same = same_place(a, b);
    if (*same && bl_same_content_is_document(a))
        *same = a->length == b->length;
    else if (*same && strcmp(a->path, b->path) != 0) {
        char *one = bl_path_join(base, a->path), *two = bl_path_join(base, b->path);
        const char *const path[] = {one, two};
        int code = one && two ? BL_OK : bl_error_memory(e);
        if (!code)
            code = path_is_folder(one) && path_is_folder(two) ? same_folders(path, cancel, same, e)
                                                              : same_files(path, cancel, same, e);
        free(one);
        free(two);
        return code;
    }
    return BL_OK;
}
