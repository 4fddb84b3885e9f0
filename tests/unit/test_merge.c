/* Parts and their merge: whatever the number of tasks, the table is the one that a single scan writes. */
#include "base/output.h"
#include "scan/merge.h"
#include "scan/scan.h"
#include "scan/sources.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "kind/array/array.h"
#include "kind/text/text.h"
#include "unit.h"

UNIT_SCRATCH

static const int task_counts[] = {1, 2, 3, 7, 100};

/* A scan of files here, by a kind whose stretches may be made small. */
struct bench {
    struct bl_kind kind;
    struct bl_kind_scan scan; /* of it, to be changed */
    void *config;
    struct bl_options options;
    struct bl_files files;
    struct bl_attributes *attributes;
    struct bl_cancel cancel;
    struct bl_kind_env env;
    struct bl_buffer told; /* faults, a line each */
};

static int tell(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct bench *b = sink;
    (void)e;
    bl_buffer_printf(&b->told, "%s %s: %s\n", bl_row_status_name(row->status), row->id, row->reason);
    return BL_OK;
}

/* options: a name and a value in turn, ended by NULL. */
static void begin(struct bench *b, const struct bl_kind *kind, const char *source, const char *const *options)
{
    struct bl_error e = {0};
    struct bl_buffer warning = {0};
    *b = (struct bench){.kind = *kind, .scan = *kind->scan, .config = calloc(1, kind->options.config_size)};
    b->kind.scan = &b->scan;
    ck_assert_ptr_nonnull(b->config);
    ck_assert_int_eq(bl_options_add(&b->options, NULL, kind->options.table, b->config, &e), BL_OK);
    for (; *options; options += 2)
        ck_assert_msg(bl_options_set(&b->options, options[0], options[1], BL_ORIGIN_FILE, &e) == BL_OK, "%s", e.text);
    ck_assert_msg(bl_kind_check(kind, b->config, &e) == BL_OK, "%s", e.text);
    if (kind->options.prepare)
        ck_assert_msg(kind->options.prepare(b->config, &warning, &e) == BL_OK, "%s", e.text);
    const struct bl_source one = {.path = source, .kind = kind};
    ck_assert_msg(bl_sources_list(&b->files, &(struct bl_sources){.source = &one, .count = 1}, &e) == BL_OK, "%s",
                  e.text);
    b->env = (struct bl_kind_env){.cancel = &b->cancel, .simd = BL_SIMD_NONE};
}

static void end(struct bench *b)
{
    if (b->kind.options.release)
        b->kind.options.release(b->config);
    free(b->config);
    bl_options_free(&b->options);
    bl_files_free(&b->files);
    bl_attributes_close(b->attributes);
    bl_buffer_free(&b->told);
}

static struct bl_scan scan_of(struct bench *b, int64_t task, int64_t tasks)
{
    return (struct bl_scan){.files = &b->files,
                            .kind = &b->kind,
                            .config = b->config,
                            .attributes = b->attributes,
                            .workers = 2,
                            .env = &b->env,
                            .task = task,
                            .tasks = tasks,
                            .fault = tell,
                            .sink = b};
}

/* Every task has read the table of attributes for itself. */
static void read_attributes(struct bench *b, const char *path)
{
    struct bl_error e = {0};
    bl_attributes_close(b->attributes);
    b->attributes = NULL;
    if (path)
        ck_assert_msg(bl_attributes_open(&b->attributes, &(struct bl_attributes_source){path, NULL, NULL}, NULL, &e) ==
                          BL_OK,
                      "%s", e.text);
}

static void scan_all(struct bench *b, const char *out_path, struct bl_scan_progress *found)
{
    struct bl_output out;
    struct bl_error e = {0};
    struct bl_scan scan = scan_of(b, 0, 0);
    ck_assert_int_eq(bl_output_open(&out, out_path, &e), BL_OK);
    ck_assert_msg(bl_scan_run(&scan, &out, found, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(bl_output_commit(&out, &e), BL_OK);
}

static int scan_part(struct bench *b, int64_t task, int64_t tasks, struct bl_error *e)
{
    struct bl_part_writer part;
    struct bl_scan_progress found;
    OWNED(bl_buffer_free) struct bl_buffer path = {0};
    struct bl_scan scan = scan_of(b, task, tasks);
    ck_assert_int_eq(bl_part_path("parts", task, &path, e), BL_OK);
    int code = bl_part_create(&part, path.data, e);
    if (!code)
        code = bl_scan_part(&scan, &part, &found, e);
    bl_part_abort(&part);
    return code;
}

static void scan_parts(struct bench *b, int64_t tasks, const char *attributes)
{
    struct bl_error e = {0};
    ck_assert_int_eq(system("rm -rf parts && mkdir parts"), 0);
    for (int64_t task = 0; task < tasks; task++) {
        read_attributes(b, attributes);
        ck_assert_msg(scan_part(b, task, tasks, &e) == BL_OK, "%s", e.text);
    }
}

static int merge(struct bench *b, int64_t tasks, const char *out_path, struct bl_merged *merged, struct bl_error *e)
{
    struct bl_output out;
    struct bl_merge job = {.folder = "parts", .tasks = tasks, .cancel = &b->cancel, .fault = tell, .sink = b};
    ck_assert_int_eq(bl_output_open(&out, out_path, e), BL_OK);
    int code = bl_merge_run(&job, &out, merged, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    return code;
}

static void same_files(const char *a, const char *b)
{
    char command[128];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    ck_assert_msg(system(command) == 0, "%s and %s differ", a, b);
}

/* The parts of each number of tasks merge into the table of one scan, and tell the same. */
static void merge_is_scan(struct bench *b, const char *attributes)
{
    struct bl_scan_progress found;
    struct bl_error e = {0};
    read_attributes(b, attributes);
    scan_all(b, "all.tsv", &found);
    for (size_t n = 0; n < COUNT(task_counts); n++) {
        struct bl_merged merged;
        scan_parts(b, task_counts[n], attributes);
        ck_assert_int_eq(bl_merge_find_missing("parts", task_counts[n]), -1);
        ck_assert_msg(merge(b, task_counts[n], "merged.tsv", &merged, &e) == BL_OK, "%s", e.text);
        same_files("all.tsv", "merged.tsv");
        ck_assert_int_eq(merged.found.rows, found.rows);
        ck_assert_int_eq(merged.found.steps, found.steps);
        ck_assert_int_eq(merged.found.skipped, found.skipped);
        ck_assert_int_eq(merged.found.empty, found.empty);
        ck_assert_int_eq(merged.found.damaged, found.damaged);
        free(merged.attributes);
    }
}

/* Lines of different lengths, some blank, in files of different sizes. */
static void write_texts(void)
{
    ck_assert_int_eq(mkdir("v", 0777), 0);
    for (int f = 0; f < 9; f++) {
        char path[32];
        snprintf(path, sizeof path, "v/%d.txt", f);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        for (int line = 0; line < f * f * 5; line++)
            fprintf(file, "%.*s\n", (line * 7 + f) % 30, "some words of a line, or no such");
        ck_assert_int_eq(fclose(file), 0);
    }
}

static const char *const by_line[] = {"tokenizer", "bytes", "documents", "line", NULL};

UNIT_TEST(texts_large_and_small)
{
    struct bench b;
    write_texts();
    begin(&b, &bl_kind_text, "v", by_line);
    static const int64_t sizes[] = {64, 1000, 64 << 20};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        b.scan.chunk_bytes = sizes[i];
        b.scan.chunk_bytes_least = sizes[0];
        merge_is_scan(&b, NULL);
    }
    end(&b);
}

/* Blank lines are no documents: a file of nothing else gets a row, but not one that begins so. */
UNIT_TEST(where_files_are_cut_decides_no_row)
{
    static const char *const rules[][6] = {{"tokenizer", "bytes", NULL},
                                           {"tokenizer", "bytes", "format", "plain", "documents", "blank-line"}};
    struct bl_scan_progress found;
    ck_assert_int_eq(mkdir("v", 0777), 0);
    ck_assert_int_eq(system("cd v; yes '' | head -c 3000 >a.jsonl; cp a.jsonl blank.jsonl; cp a.jsonl c.jsonl;"
                            "for i in 1 2 3; do printf '{\"text\": \"%d\"}\n\n' $i; done >>a.jsonl;"
                            "printf ' \t\n{\"text\": \"the end\"}' >>c.jsonl"),
                     0);
    for (int r = 0; r < 2; r++) {
        const char *options[] = {rules[r][0], rules[r][1], rules[r][2], rules[r][3], rules[r][4], rules[r][5], NULL};
        for (int64_t size = 1 << 20; size > 40; size /= 8) {
            struct bench b;
            begin(&b, &bl_kind_text, "v", options);
            b.scan.chunk_bytes = size;
            scan_all(&b, size == 1 << 20 ? "whole.tsv" : "cut.tsv", &found);
            ck_assert_int_eq(found.empty, 1);
            if (size < 1 << 20)
                same_files("whole.tsv", "cut.tsv");
            end(&b);
        }
    }
}

static void write_array(const char *path, int steps, int width)
{
    char header[128];
    int size =
        snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", steps, width);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "\x93NUMPY\x01%c%c%c%-117s\n", 0, 118, 0, header);
    ck_assert_int_lt(size, 117);
    for (int i = 0; i < steps * width; i++)
        fwrite("\0\0\0\0", 4, 1, file);
    ck_assert_int_eq(fclose(file), 0);
}

UNIT_TEST(forms_are_judged_in_order)
{
    static const char *const none[] = {NULL};
    struct bench b;
    ck_assert_int_eq(mkdir("v", 0777), 0);
    ck_assert_int_eq(bl_output_replace("v/0.npy", "no array", 8, NULL), BL_OK);
    for (int i = 1; i < 12; i++) {
        char path[32];
        snprintf(path, sizeof path, i == 5 ? "v/%d\ttab.npy" : "v/%d.npy", i);
        write_array(path, i + 1, i % 4 == 1 ? 3 : 2); /* the first that is one has 3 */
    }
    begin(&b, &bl_kind_array, "v", none);
    merge_is_scan(&b, NULL);
    ck_assert_ptr_nonnull(
        strstr(b.told.data, "skipped 2.npy: its steps are F32 [2], those of the first (1.npy) F32 [3]"));
    end(&b);
}

UNIT_TEST(attributes_are_taken_once_over_all_tasks)
{
    struct bench b;
    struct bl_merged merged;
    static const char *const whole[] = {"tokenizer", "bytes", NULL};
    static const char table[] = "id,class\n1.txt,a\n\"2\",\"b\n\tc\"\n3,d\nnobody,e\n4,f\n";
    write_texts();
    ck_assert_int_eq(bl_output_replace("l.csv", table, sizeof table - 1, &e), BL_OK);
    begin(&b, &bl_kind_text, "v", whole);
    b.scan.chunk_bytes = 1; /* each file by itself */
    merge_is_scan(&b, "l.csv");
    scan_parts(&b, 3, "l.csv");
    ck_assert_msg(merge(&b, 3, "merged.tsv", &merged, &e) == BL_OK, "%s", e.text);
    ck_assert_str_eq(merged.attributes, "l.csv");
    ck_assert_int_eq(merged.unused, 1);
    free(merged.attributes);
    end(&b);
    /* Two files go by one row, which a single scan refuses at once. */
    ck_assert_int_eq(system("mkdir v/sub && cp v/3.txt v/sub/3.txt"), 0);
    begin(&b, &bl_kind_text, "v", whole);
    b.scan.chunk_bytes = 1;
    scan_parts(&b, 4, "l.csv");
    FAILS(merge(&b, 4, "merged.tsv", &merged, &e), BL_EFAIL,
          "l.csv:5: two sequences match the id of this row: use full ids");
    free(merged.attributes);
    end(&b);
}

/* Damages parts/scan-00001 by the command, and says what the merge and a look at it make of that. */
static void damage(struct bench *b, const char *command, const char *expected)
{
    struct bl_error e = {0}, look = {0};
    struct bl_merged merged;
    struct bl_scan_progress counts;
    bool found;
    ck_assert_int_eq(system("cp parts/scan-00001 good"), 0);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(merge(b, 3, "merged.tsv", &merged, &e), BL_EDATA);
    ck_assert_msg(strstr(e.text, expected) && strstr(e.text, "parts/scan-00001 is damaged"), "%s", e.text);
    ck_assert_ptr_nonnull(strstr(e.text, "task 1/3 of bload scan again"));
    ck_assert_int_eq(bl_part_check("parts", 1, 3, &counts, &found, &look), BL_EDATA);
    free(merged.attributes);
    ck_assert_int_eq(system("mv good parts/scan-00001"), 0);
}

UNIT_TEST(damage_is_noticed_and_named)
{
    struct bench b;
    struct bl_scan_progress counts;
    bool found;
    write_texts();
    begin(&b, &bl_kind_text, "v", by_line);
    b.scan.chunk_bytes = 1000;
    scan_parts(&b, 3, NULL);
    ck_assert_int_eq(bl_part_check("parts", 1, 3, &counts, &found, &e), BL_OK);
    ck_assert(found);
    ck_assert_int_eq(bl_part_check("parts", 3, 4, &counts, &found, &e), BL_OK);
    ck_assert(!found);
    damage(&b, "truncate -s -1 parts/scan-00001", "it ends early");
    damage(&b, "truncate -s 300 parts/scan-00001", "it ends early");
    damage(&b, ": >parts/scan-00001", "it ends early");
    damage(&b, "sed -i 's/words/wordz/' parts/scan-00001; sed -i '0,/ok/s//no/' parts/scan-00001", "wrong checksum");
    damage(&b, "sed -i 's/^stretch 1 /stretch x /' parts/scan-00001", "neither a chunk nor the end");
    damage(&b, "sed -i 's/^total 1/total 9/' parts/scan-00001", "wrong checksum");
    damage(&b, "cp parts/scan-00002 parts/scan-00001", "its first line is not that of this task's part");
    damage(&b, "sed -i 's/^columns/rows/' parts/scan-00001", "no line of columns");
    damage(&b, "sed -i 's/^attributes$/attributes 1/' parts/scan-00001", "an invalid line of attributes");
    ck_assert_int_eq(unlink("parts/scan-00002"), 0);
    ck_assert_int_eq(bl_merge_find_missing("parts", 3), 2);
    end(&b);
}

UNIT_TEST(tasks_that_saw_other_inputs_do_not_fit)
{
    struct bench b;
    struct bl_merged merged;
    write_texts();
    begin(&b, &bl_kind_text, "v", by_line);
    b.scan.chunk_bytes = 500;
    scan_parts(&b, 2, NULL);
    /* The last file grew: another task sees one stretch more. */
    ck_assert_int_eq(system("cat v/8.txt v/8.txt >v/more && mv v/more v/8.txt && rm parts/scan-00001"), 0);
    ck_assert_msg(scan_part(&b, 1, 2, &e) == BL_OK, "%s", e.text);
    FAILS_WITH(merge(&b, 2, "merged.tsv", &merged, &e), BL_EFAIL, "these tasks found different numbers of inputs");
    /* The first one did: all that follows lies elsewhere. */
    ck_assert_int_eq(system("cat v/8.txt >>v/1.txt && rm parts/scan-00001"), 0);
    ck_assert_msg(scan_part(&b, 1, 2, &e) == BL_OK, "%s", e.text);
    FAILS_WITH(merge(&b, 2, "merged.tsv", &merged, &e), BL_EFAIL, "the inputs changed between these tasks");
    end(&b);
}

UNIT_TEST(a_part_is_written_once)
{
    struct bench b;
    write_texts();
    begin(&b, &bl_kind_text, "v", by_line);
    scan_parts(&b, 2, NULL);
    ck_assert_int_eq(scan_part(&b, 0, 2, &e), BL_OK);
    ck_assert_int_eq(system("echo another line >>v/0.txt"), 0);
    FAILS_WITH(scan_part(&b, 0, 2, &e), BL_EDATA, "exists already, with other content than here");
    ck_assert_int_eq(system("test $(ls parts | wc -l) = 2"), 0); /* nothing is left over */
    end(&b);
}
