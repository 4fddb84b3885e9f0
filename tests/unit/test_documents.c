/* Documents against a division by hand, where they lie across the edges of what is read at once; lines of JSON; places
 * of documents in a spool. */
#include "base/documents.h"

#include <fcntl.h>

#include "base/io.h"
#include "base/json.h"
#include "base/output.h"
#include "base/records.h"
#include "kind/text/spool.h"
#include "kind/text/text.h"
#include "unit.h"

UNIT_SCRATCH

#define SIZE ((size_t)5 << 20)
#define EDGE ((size_t)1 << 20)

enum { RULES = 10 };

/* Five MiB of letters with separators strewn around every edge of a chunk, a few of them by halves. */
static char *make_text(void)
{
    char *text = malloc(SIZE);
    ck_assert_ptr_nonnull(text);
    uint32_t state = 7;
    memset(text, 'x', SIZE);
    for (size_t edge = 4096; edge < SIZE - 64; edge += edge % EDGE ? EDGE - 4096 : 4096) {
        for (int i = -24; i < 24; i++) {
            state = state * 1664525 + 1013904223;
            text[edge + (size_t)(i + 24)] = "\n\n\r-=x"[state >> 16 & 3 ? state >> 20 & 3 : 3 + (state >> 24) % 3];
        }
    }
    unit_write("text", text, SIZE);
    return text;
}

/* Whether a document is the text where it begins, but for the \r of line ends where lines divide it. */
static bool is_text(const struct bl_division_rule *rule, const struct bl_document *document, const char *text)
{
    bool by_lines = rule->by == BL_DIVISION_LINE || rule->by == BL_DIVISION_BLANK_LINE;
    size_t at = (size_t)document->offset;
    for (size_t i = 0; i < document->size; i++) {
        if (by_lines && at + 1 < SIZE && text[at] == '\r' && text[at + 1] == '\n')
            at++;
        if (at >= SIZE || document->text[i] != text[at++])
            return false;
    }
    return true;
}

/* Takes the documents of a part and holds them against text; their number. Each ck_assert is a system call, so that of
 * millions of documents there is one. */
static int64_t take(const struct bl_division_rule *rule, const char *text, int64_t begin, int64_t end, int64_t *bytes)
{
    struct bl_documents *documents;
    struct bl_document document;
    struct bl_error e = {0};
    bool right = true, found;
    int code;
    int64_t count = 0;
    ck_assert_int_eq(bl_documents_open(&documents, "text", rule, begin, end, INT64_MAX, NULL, &e), BL_OK);
    while (!(code = bl_documents_next(documents, &document, &found, &e)) && found) {
        right &= document.offset >= begin && document.offset < end;
        right &= is_text(rule, &document, text);
        if (document.ended && rule->by == BL_DIVISION_SEPARATOR)
            right &= memcmp(text + document.offset + document.size, rule->separator, rule->separator_size) == 0;
        *bytes += (int64_t)document.size;
        count++;
    }
    ck_assert_msg(code == BL_OK, "%s", e.text);
    ck_assert(right);
    bl_documents_close(documents);
    return count;
}

UNIT_TEST(lines_and_separators_across_edges)
{
    FREED char *text = make_text();
    int64_t lines = 0, returns = 0, marks = 0, bytes = 0, parted = 0, part_bytes = 0;
    for (size_t i = 0; i < SIZE; i++) {
        lines += text[i] == '\n';
        returns += text[i] == '\n' && i && text[i - 1] == '\r';
    }
    ck_assert_int_gt(returns, 0);
    for (size_t i = 0; i + 1 < SIZE; i++) {
        if (text[i] == '-' && text[i + 1] == '=') {
            marks++;
            i++;
        }
    }
    struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    ck_assert_int_eq(take(&rule, text, 0, INT64_MAX, &bytes), lines + 1);
    ck_assert_int_eq(bytes, (int64_t)SIZE - lines - returns);
    for (int64_t begin = 0; begin < (int64_t)SIZE; begin += 300007)
        parted += take(&rule, text, begin, begin + 300007, &part_bytes);
    ck_assert_int_eq(parted, lines + 1);
    ck_assert_int_eq(part_bytes, bytes);
    rule = (struct bl_division_rule){.by = BL_DIVISION_SEPARATOR, .separator = "-=", .separator_size = 2};
    bytes = 0;
    ck_assert_int_eq(take(&rule, text, 0, INT64_MAX, &bytes), marks + 1);
    ck_assert_int_eq(bytes, (int64_t)SIZE - 2 * marks);
}

/* Parts of any size have the documents of the whole, also where separators overlap one another. */
UNIT_LOOP(parts_have_the_documents_of_the_whole, RULES)
{
    static const struct bl_division_rule rule[RULES] = {
        {.by = BL_DIVISION_LINE},
        {.by = BL_DIVISION_BLANK_LINE},
        {.by = BL_DIVISION_SEPARATOR, .separator = "-", .separator_size = 1},
        {.by = BL_DIVISION_SEPARATOR, .separator = "-=", .separator_size = 2},
        {.by = BL_DIVISION_SEPARATOR, .separator = "--", .separator_size = 2},
        {.by = BL_DIVISION_SEPARATOR, .separator = "\n\n", .separator_size = 2},
        {.by = BL_DIVISION_SEPARATOR, .separator = "=x=x=", .separator_size = 5},
        {.by = BL_DIVISION_SEPARATOR, .separator = "---", .separator_size = 3},
        {.by = BL_DIVISION_SEPARATOR, .separator = "x-x", .separator_size = 3},
        {.by = BL_DIVISION_SEPARATOR, .separator = "-x-x-x-", .separator_size = 7}};
    FREED char *text = make_text();
    /* Rows of what overlaps itself, longer than what is read at once. */
    size_t row = (size_t)unit_times(16) * 81250;
    memset(text + 70000, '-', row);
    memset(text + 2000000, '\n', row + 1);
    unit_write("text", text, SIZE);
    int64_t bytes = 0, count = take(&rule[_i], text, 0, INT64_MAX, &bytes);
    for (int k = 0; k < unit_times(4); k++) {
        int64_t parted = 0, part_bytes = 0, step = 300007 + (3 - k) * 1500007;
        for (int64_t begin = 0; begin < (int64_t)SIZE; begin += step)
            parted += take(&rule[_i], text, begin, begin + step, &part_bytes);
        ck_assert_msg(parted == count && part_bytes == bytes, "rule %d, parts of %lld: %lld documents, not %lld", _i,
                      (long long)step, (long long)parted, (long long)count);
    }
    /* And every place where a part can begin, where there are many of them. */
    int64_t parted = 0, part_bytes = 0;
    bytes = 0;
    count = take(&rule[_i], text, 4090, 4150, &bytes);
    for (int64_t begin = 4090; begin < 4150; begin++)
        parted += take(&rule[_i], text, begin, begin + 1, &part_bytes);
    ck_assert_msg(parted == count && part_bytes == bytes, "rule %d: %lld documents, not %lld", _i, (long long)parted,
                  (long long)count);
}

static bool is_blank(const char *text, size_t at)
{
    return text[at] == '\n' || (text[at] == '\r' && at + 1 < SIZE && text[at + 1] == '\n');
}

UNIT_TEST(blank_lines_across_edges)
{
    FREED char *text = make_text();
    struct bl_division_rule rule = {.by = BL_DIVISION_BLANK_LINE};
    int64_t bytes = 0, expected = 0, count = 0;
    bool inside = false;
    for (size_t at = 0; at < SIZE;) {
        char *newline = memchr(text + at, '\n', SIZE - at);
        size_t next = newline ? (size_t)(newline - text) + 1 : SIZE;
        bool blank = is_blank(text, at);
        expected += blank ? 0 : (int64_t)(next - at) - (newline && (next == SIZE || is_blank(text, next)));
        expected -= !blank && newline && newline > text + at && newline[-1] == '\r';
        count += !blank && !inside;
        inside = !blank;
        at = next;
    }
    ck_assert_int_eq(take(&rule, text, 0, INT64_MAX, &bytes), count);
    ck_assert_int_eq(bytes, expected);
}

UNIT_TEST(what_is_too_long_is_passed_over)
{
    FILE *file = fopen("text", "wb");
    fputs("short\n", file);
    for (int i = 0; i < 3000000; i++)
        fputc('y', file);
    fputs("\nlast", file);
    fclose(file);
    struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    struct bl_documents *documents;
    struct bl_document document;
    bool found = false;
    ck_assert_int_eq(bl_documents_open(&documents, "text", &rule, 0, INT64_MAX, 5, NULL, &e), BL_OK);
    ck_assert_int_eq(bl_documents_next(documents, &document, &found, &e), BL_OK);
    ck_assert(found && !document.too_long && document.size == 5);
    ck_assert_int_eq(bl_documents_next(documents, &document, &found, &e), BL_OK);
    ck_assert(found && document.too_long && document.size == 0 && document.offset == 6);
    ck_assert_int_eq(bl_documents_next(documents, &document, &found, &e), BL_OK);
    ck_assert(found && !document.too_long && !document.ended && document.size == 4 && document.offset == 3000007);
    ck_assert_int_eq(bl_documents_next(documents, &document, &found, &e), BL_OK);
    ck_assert(!found);
    bl_documents_close(documents);
}

UNIT_TEST(json_that_is_none)
{
    static const struct {
        const char *line;
        size_t at;
    } bad[] = {{"", 0},
               {"[]", 0},
               {"{", 1},
               {"{\"a\"}", 4},
               {"{\"a\":}", 5},
               {"{\"a\":1,}", 7},
               {"{\"a\":01}", 6},
               {"{\"a\":1.}", 7},
               {"{\"a\":\"\\x\"}", 6},
               {"{\"a\":\"\t\"}", 6},
               {"{\"a\":1} x", 8},
               {"{\"a\":nul}", 5},
               {"{\"a\":[1 2]}", 8},
               {"{\"a\":\"\\u12g4\"}", 6}};
    struct bl_json_key key;
    struct bl_json_value value;
    struct bl_json_fault fault;
    ck_assert(bl_json_key_parse(&key, "a", 1));
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(!bl_json_scan(bad[i].line, strlen(bad[i].line), &key, 1, &value, &fault), "%s", bad[i].line);
        ck_assert_msg(fault.at == bad[i].at, "%s: %zu, not %zu: %s", bad[i].line, fault.at, bad[i].at, fault.what);
    }
    char deep[4000];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    ck_assert(!bl_json_scan(deep, sizeof deep, &key, 1, &value, &fault));
    ck_assert_str_eq(fault.what, "nested too deeply");
    ck_assert(bl_json_scan("{\"a\": 1}", 8, NULL, 0, NULL, &fault)); /* no keys are asked for */
    ck_assert(!bl_json_scan("{\"a\": }", 8, NULL, 0, NULL, &fault));
}

/* What Python's json.dumps writes, and JSON has not. */
UNIT_TEST(json_with_numbers_that_are_not_finite)
{
    static const char line[] = "{\"a\": NaN, \"b\": -Infinity, \"c\": [1, Infinity, {\"d\": NaN}], \"e\": -1}";
    static const char *const bad[] = {"{\"a\": Na}",        "{\"a\": -Inf}", "{\"a\": -NaN}",
                                      "{\"a\": +Infinity}", "{\"a\": NaN1}", "{\"a\": -I"};
    struct bl_json_key key[3];
    struct bl_json_value value[3];
    struct bl_json_fault fault;
    for (int k = 0; k < 3; k++)
        ck_assert(bl_json_key_parse(&key[k], &"abe"[k], 1));
    ck_assert(bl_json_scan(line, sizeof line - 1, key, 3, value, &fault));
    ck_assert(fault.not_finite);
    ck_assert(value[0].type == BL_JSON_NOT_FINITE && value[0].size == 3);
    ck_assert(value[1].type == BL_JSON_NOT_FINITE && value[1].size == 9);
    ck_assert(value[2].type == BL_JSON_NUMBER && value[2].size == 2);
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_json_scan(bad[i], strlen(bad[i]), key, 3, value, &fault), "%s", bad[i]);
    ck_assert(bl_json_scan("{\"a\": null}", 11, key, 3, value, &fault));
    ck_assert(!fault.not_finite);
}

static void spool_stretch(uint64_t key, const char *path, int64_t first, struct bl_spool_index *places)
{
    struct bl_input input = {.path = path};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .end = INT64_MAX, .receipt = key};
    struct bl_spool_writer *writer;
    struct bl_error e = {0};
    int32_t steps[8] = {0};
    ck_assert_int_eq(bl_spool_create(&writer, ".", key, (struct bl_spool_stamp){5, 50}, false, &e), BL_OK);
    for (int64_t i = 0; i < 100; i++) {
        bool ok = i % 3 != 0;
        struct bl_row row = {.status = ok ? BL_ROW_OK : BL_ROW_SKIPPED,
                             .length = ok ? 1 + i % 7 : 0,
                             .reason = ok ? "" : "none",
                             .content = (uint64_t)(first + i),
                             .offset = first + 10 * i};
        ck_assert_int_eq(bl_spool_put(writer, 0, &row, steps, (size_t)row.length * 4, &e), BL_OK);
    }
    bool found, changed = true;
    ck_assert_int_eq(bl_spool_find(".", NULL, key, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert(!found && !changed);
    ck_assert_int_eq(bl_spool_publish(writer, &e), BL_OK);
    ck_assert_int_eq(bl_spool_find(".", NULL, key, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert(found && !changed);
    ck_assert_int_eq(bl_spool_find(".", NULL, key, 1, (struct bl_spool_stamp){6, 0}, &found, &changed, &e), BL_OK);
    ck_assert(!found && changed);
    ck_assert_int_eq(bl_spool_find(".", NULL, key, 1, (struct bl_spool_stamp){6, 51}, &found, &changed, &e), BL_OK);
    ck_assert(!found && changed);
    ck_assert_int_eq(bl_spool_find(".", NULL, key, 1, (struct bl_spool_stamp){6, 50}, &found, &changed, &e), BL_OK);
    ck_assert(found && !changed);
    ck_assert_int_eq(bl_spool_index_add(places, ".", &stretch, &e), BL_OK);
}

/* What was not synced is summed up; of the steps of what is shared the size tells, until they are read. */
UNIT_TEST(a_shared_stretch_is_not_read_to_be_found)
{
    const struct bl_row row = {.length = 1, .reason = ""};
    bool found, changed;
    for (int shared = 0; shared < 2; shared++) {
        struct bl_spool_writer *writer;
        ck_assert_int_eq(bl_spool_create(&writer, ".", 9, (struct bl_spool_stamp){5, 50}, shared, &e), BL_OK);
        ck_assert_int_eq(bl_spool_put(writer, 0, &row, "1234", 4, &e), BL_OK);
        ck_assert_int_eq(bl_spool_publish(writer, &e), BL_OK);
        ck_assert_int_eq(bl_spool_find(".", NULL, 9, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
        ck_assert_int_eq(found, 1);
        int fd = open("0000000000000009.steps", O_WRONLY | O_CLOEXEC);
        ck_assert(fd >= 0 && bl_io_pwrite(fd, "x", 1, 2, "steps", &e) == BL_OK && close(fd) == 0);
        ck_assert_int_eq(bl_spool_find(".", NULL, 9, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
        ck_assert_int_eq(found, shared);
    }
    ck_assert_int_eq(truncate("0000000000000009.steps", 3), 0);
    ck_assert_int_eq(bl_spool_find(".", NULL, 9, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert_int_eq(found, 0);
}

/* Files of the spool are opened once for all; those beyond the limit are the caller's own. */
UNIT_TEST(files_of_the_spool_are_shared)
{
    OWNED(bl_spool_index_free) struct bl_spool_index places = {0};
    bool held;
    for (uint64_t key = 11; key < 14; key++)
        spool_stretch(key, "a", (int64_t)key * 1000, &places);
    struct bl_spool_files *files = places.files_open;
    ck_assert_uint_eq(files->count, 3);
    atomic_store(&files->left, 2);
    int first = bl_spool_files_get(files, 0, ".", NULL, 11, &held, &e);
    ck_assert(first >= 0 && held);
    ck_assert_int_eq(bl_spool_files_get(files, 0, ".", NULL, 11, &held, &e), first);
    ck_assert(held);
    ck_assert_int_eq(bl_spool_files_get(files, 2, ".", NULL, 14, &held, &e), BL_EFAIL); /* there is none */
    bl_error_clear(&e);
    ck_assert_int_ge(bl_spool_files_get(files, 2, ".", NULL, 13, &held, &e), 0);
    ck_assert(held);
    int own = bl_spool_files_get(files, 1, ".", NULL, 12, &held, &e);
    ck_assert(own >= 0 && !held);
    ck_assert_int_eq(close(own), 0);
    bl_spool_files_close(files);
    ck_assert_int_eq(close(first), -1); /* it is closed */
    ck_assert_int_eq(atomic_load(&files->left), 2);
}

UNIT_TEST(every_document_has_its_place)
{
    OWNED(bl_spool_index_free) struct bl_spool_index places = {0};
    struct bl_spool_location place;
    spool_stretch(11, "a", 0, &places);
    spool_stretch(12, "a", 1000, &places);
    spool_stretch(13, "b", 0, &places);
    int64_t start = 0;
    for (int64_t i = 0; i < 100; i++) {
        bool ok = i % 3 != 0;
        ck_assert_int_eq(bl_spool_index_find(&places, "a", 1000 + 10 * i, &place), ok);
        ck_assert(!ok || (place.chunk == 1 && place.start == start && place.bytes == 4 * (1 + i % 7) &&
                          place.content == (uint64_t)(1000 + i)));
        ck_assert_int_eq(bl_spool_index_find(&places, "b", 10 * i, &place), ok);
        ck_assert(!ok || place.chunk == 2);
        start += ok ? bl_spool_stored(4 * (1 + i % 7)) : 0;
    }
    ck_assert(!bl_spool_index_find(&places, "b", 1010, &place));
    ck_assert(!bl_spool_index_find(&places, "c", 10, &place));
}

/* Wherever documents lie: evenly, ever farther from each other, or in two heaps. */
static int64_t uneven(int kind, int64_t i)
{
    return kind == 0 ? 10 * i : kind == 1 ? i * i * i + 2 * i : 3 * i + (i > 2500 ? INT64_C(1) << 40 : 0);
}

UNIT_LOOP(documents_that_lie_unevenly_are_found, 3)
{
    enum { COUNT = 3000 };
    struct bl_input input = {.path = "a"};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .end = INT64_MAX, .receipt = 3};
    struct bl_spool_writer *writer;
    OWNED(bl_spool_index_free) struct bl_spool_index places = {0};
    struct bl_spool_location place;
    ck_assert_int_eq(bl_spool_create(&writer, ".", 3, (struct bl_spool_stamp){5, 0}, false, &e), BL_OK);
    for (int64_t i = 0; i < COUNT; i++) {
        struct bl_row row = {.length = 1, .reason = "", .offset = uneven(_i, i)};
        ck_assert_int_eq(bl_spool_put(writer, 0, &row, "1234", 4, &e), BL_OK);
    }
    ck_assert_int_eq(bl_spool_publish(writer, &e), BL_OK);
    ck_assert_int_eq(bl_spool_index_add(&places, ".", &stretch, &e), BL_OK);
    for (int64_t i = 0; i < COUNT; i++) {
        ck_assert(bl_spool_index_find(&places, "a", uneven(_i, i), &place) && place.start == i * bl_spool_stored(4) &&
                  place.bytes == 4);
        ck_assert(!bl_spool_index_find(&places, "a", uneven(_i, i) + 1, &place));
    }
    ck_assert(!bl_spool_index_find(&places, "a", INT64_C(1) << 50, &place));
}

/* Rows alone whose lengths have too large a sum, which only a damaged file has: the index would overflow. */
UNIT_TEST(a_sum_of_lengths_that_overflows_is_damage)
{
    struct bl_input input = {.path = "a"};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .end = INT64_MAX, .receipt = 3};
    struct bl_spool_writer *writer;
    OWNED(bl_spool_index_free) struct bl_spool_index places = {0};
    bool found, changed;
    ck_assert_int_eq(bl_spool_create(&writer, ".", 3, (struct bl_spool_stamp){5, 0}, false, &e), BL_OK);
    for (int64_t i = 0; i < 3; i++) {
        struct bl_row row = {.length = INT64_MAX / 2, .reason = "", .offset = i ? INT64_MAX - 2 + i : -1};
        ck_assert_int_eq(bl_spool_put(writer, 0, &row, NULL, 0, &e), BL_OK);
    }
    ck_assert_int_eq(bl_spool_publish(writer, &e), BL_OK);
    ck_assert_int_eq(bl_spool_find(".", NULL, 3, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert(!found);
    ck_assert_int_eq(bl_spool_index_add(&places, ".", &stretch, &e), BL_EFAIL);
    ck_assert_ptr_nonnull(strstr(e.text, "is damaged"));
}

static int64_t count_files(void)
{
    FILE *files = popen("ls | wc -l", "r");
    long count = -1;
    ck_assert_int_eq(fscanf(files, "%ld", &count), 1);
    pclose(files);
    return count;
}

/* Two processes may be at one stretch at once: neither takes the other's file for its own. */
UNIT_TEST(a_stretch_is_kept_by_several_at_once)
{
    struct bl_spool_writer *a, *b, *killed;
    struct bl_row row = {.length = 2, .reason = "", .offset = 0};
    const int32_t steps[] = {1, 2};
    static const uint64_t keys[] = {3, 7};
    bool found, changed;
    ck_assert_int_eq(bl_spool_create(&a, ".", 7, (struct bl_spool_stamp){5, 0}, false, &e), BL_OK);
    ck_assert_int_eq(bl_spool_create(&b, ".", 7, (struct bl_spool_stamp){5, 0}, false, &e), BL_OK);
    ck_assert_int_eq(bl_spool_create(&killed, ".", 7, (struct bl_spool_stamp){5, 0}, false, &e), BL_OK);
    ck_assert_int_eq(bl_spool_put(b, 0, &row, steps, sizeof steps, &e), BL_OK);
    ck_assert_int_eq(bl_spool_put(a, 0, &row, steps, sizeof steps, &e), BL_OK);
    ck_assert_int_eq(bl_spool_publish(b, &e), BL_OK);
    ck_assert_int_eq(bl_spool_find(".", NULL, 7, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert(found && !changed);
    ck_assert_int_eq(bl_spool_publish(a, &e), BL_OK);
    ck_assert_int_eq(bl_spool_find(".", NULL, 7, 1, (struct bl_spool_stamp){5, 0}, &found, &changed, &e), BL_OK);
    ck_assert(found && !changed);
    ck_assert_int_eq(bl_spool_remove(".", 7, &e), BL_OK);
    ck_assert_int_eq(bl_spool_sweep(".", keys, 1, &e), BL_OK);
    ck_assert_int_eq(count_files(), 2); /* those of who was killed are another's */
    ck_assert_int_eq(bl_spool_sweep(".", keys, 2, &e), BL_OK);
    ck_assert_int_eq(count_files(), 0);
    bl_spool_abort(killed);
}

/* Random text of these characters, with an array's brackets around it. */
static size_t make_records(char *out, size_t size, const char *letters, uint32_t seed)
{
    size_t kinds = strlen(letters);
    out[0] = '[';
    for (size_t i = 1; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        out[i] = letters[(seed >> 16) % kinds];
    }
    return size;
}

/* Where a record ends, of which so many bytes are scanned at a time; SIZE_MAX: it does not. */
static size_t scan_record(bool row, const char *text, size_t size, size_t step)
{
    struct bl_record_scan scan = {0};
    size_t stop, next;
    for (size_t from = 0; from < size; from += step) {
        size_t end = from + step < size ? from + step : size;
        if (row ? bl_record_row_end(&scan, ',', text, from, end, &stop, &next)
                : bl_record_element_end(&scan, text, from, end, &stop))
            return row ? stop * 1000 + next : stop;
    }
    return SIZE_MAX - (row && bl_record_row_has_return(&scan));
}

UNIT_TEST(records_end_alike_in_pieces)
{
    char text[60];
    for (uint32_t seed = 0; seed < 4000; seed++) {
        size_t size = make_records(text, sizeof text, seed % 2 ? "a,\"\"\n\r" : "a,\"\"\\[]{}\n", seed);
        for (size_t step = 1; step < 4; step++)
            ck_assert_uint_eq(scan_record(seed % 2, text + seed % 2, size - 1, step),
                              scan_record(seed % 2, text + seed % 2, size - 1, size));
    }
}

/* Adds up the records of a part: their offsets, sizes and lines; and where the fault is, if there is one. */
static uint64_t sum_records(const struct bl_division_rule *rule, int64_t begin, int64_t end)
{
    struct bl_documents *documents;
    struct bl_document document;
    struct bl_error e = {0};
    uint64_t sum = 0;
    bool found;
    int code;
    ck_assert_int_eq(bl_documents_open(&documents, "records", rule, begin, end, INT64_MAX, NULL, &e), BL_OK);
    while (!(code = bl_documents_next(documents, &document, &found, &e)) && found)
        sum += 1000003 + (uint64_t)document.offset * 31 + document.size * 7 + (uint64_t)document.line;
    if (code == BL_EDATA)
        sum += 7000000 + (uint64_t)bl_documents_offset(documents);
    bl_documents_close(documents);
    return sum;
}

UNIT_TEST(parts_have_the_records_of_the_whole)
{
    char text[90];
    for (uint32_t seed = 0; seed < 24; seed++) {
        bool row = seed % 2;
        struct bl_division_rule rule = {.by = row ? BL_DIVISION_ROW : BL_DIVISION_JSON};
        size_t size = make_records(text, sizeof text, row ? "abcd,\"\"\n\r" : "[]{},,,,\"\"\n", seed);
        ck_assert_int_eq(bl_output_replace("records", text, size, &e), BL_OK);
        ck_assert_int_eq(bl_record_places_open(&rule.places, &e), BL_OK);
        uint64_t whole = sum_records(&rule, 0, INT64_MAX);
        for (int64_t at = 1; at < (int64_t)size; at++)
            ck_assert_uint_eq(sum_records(&rule, 0, at) + sum_records(&rule, at, INT64_MAX), whole);
        bl_record_places_close(rule.places);
    }
}
