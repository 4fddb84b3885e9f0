#include "base/io.h"
#include "base/output.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "unit.h"

UNIT_SCRATCH

/* What a file holds, for comparisons; a file that is not there is "(none)". */
static const char *content(const char *path)
{
    static char text[256];
    struct bl_buffer b = {0};
    if (bl_io_read_file(path, 255, &b, NULL))
        return "(none)";
    snprintf(text, sizeof text, "%s", b.data ? b.data : "");
    bl_buffer_free(&b);
    return text;
}

UNIT_TEST(positions_are_kept)
{
    int fd = open("f", O_RDWR | O_CREAT, 0666);
    ck_assert_int_eq(bl_io_pwrite(fd, "world", 5, 6, "f", NULL), BL_OK);
    ck_assert_int_eq(bl_io_write(fd, "hello ", 6, "f", NULL), BL_OK);
    char text[12] = "";
    ck_assert_int_eq(bl_io_pread(fd, text, 11, 0, "f", NULL), BL_OK);
    ck_assert_str_eq(text, "hello world");
    FAILS(bl_io_pread(fd, text, 6, 8, "f", &e), BL_EFAIL, "f ends at byte 11, 3 bytes early");
    close(fd);
}

UNIT_TEST(a_full_disk_is_told)
{
    int fd = open("/dev/full", O_WRONLY);
    FAILS(bl_io_write(fd, "x", 1, "/dev/full", &e), BL_EFAIL, "cannot write /dev/full: No space left on device");
    ck_assert_int_eq(bl_io_pwrite(fd, "x", 1, 0, "/dev/full", &e), BL_EFAIL);
    close(fd);
    bl_error_clear(&e);
    struct bl_output out; /* one that a user named: a device is written to, not replaced */
    ck_assert_int_eq(bl_output_open(&out, "/dev/full", &e), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, "x", 1, &e), BL_OK);
    FAILS(bl_output_commit(&out, &e), BL_EFAIL, "cannot write /dev/full: No space left on device");
}

UNIT_TEST(whole_files_up_to_a_bound)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    ck_assert_int_eq(bl_output_replace("f", "0123456789", 10, NULL), BL_OK);
    bl_buffer_text(&b, "<");
    ck_assert_int_eq(bl_io_read_file("f", 10, &b, NULL), BL_OK);
    ck_assert_str_eq(b.data, "<0123456789");
    FAILS(bl_io_read_file("f", 9, &b, &e), BL_EFAIL, "f is longer than 9 bytes");
    FAILS(bl_io_read_file("absent", 9, &b, &e), BL_EFAIL, "cannot open absent: No such file or directory");
    FAILS(bl_io_read_file(".", 9, &b, &e), BL_EFAIL, "cannot read .: Is a directory");
}

UNIT_TEST(directories)
{
    struct stat status;
    ck_assert_int_eq(bl_fs_mkdirs("a/b//c/", NULL), BL_OK);
    ck_assert_int_eq(bl_fs_mkdirs("a/b/c", NULL), BL_OK);
    ck_assert_int_eq(stat("a/b/c", &status), 0);
    ck_assert_int_eq(bl_fs_mkdirs("/", NULL), BL_OK);
    ck_assert_int_eq(bl_fs_mkdirs("", &e), BL_EFAIL);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_output_replace("a/file", "", 0, NULL), BL_OK);
    FAILS(bl_fs_mkdirs("a/file", &e), BL_EFAIL, "a/file is not a directory");
    FAILS(bl_fs_mkdirs("a/file/below", &e), BL_EFAIL, "cannot make the directory a/file/below: Not a directory");
    ck_assert_int_eq(bl_fs_sync_directory("a", NULL), BL_OK);
    ck_assert_int_eq(bl_fs_sync_directory("absent", NULL), BL_EFAIL);
}

UNIT_TEST(the_name_appears_with_the_content)
{
    struct bl_output out;
    ck_assert_int_eq(bl_output_open(&out, "f", NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, "one ", 4, NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, "two", 3, NULL), BL_OK);
    ck_assert_str_eq(content("f"), "(none)");
    ck_assert_int_eq(bl_output_commit(&out, NULL), BL_OK);
    ck_assert_str_eq(content("f"), "one two");
    bl_output_abort(&out);
    ck_assert_str_eq(content("f"), "one two");
}

UNIT_TEST(what_is_given_up_leaves_nothing)
{
    struct bl_output out;
    ck_assert_int_eq(bl_output_replace("f", "old", 3, NULL), BL_OK);
    ck_assert_int_eq(bl_output_open(&out, "f", NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, "new", 3, NULL), BL_OK);
    bl_output_abort(&out);
    ck_assert_str_eq(content("f"), "old");
    ck_assert_int_eq(system("test \"$(ls)\" = f"), 0);
    ck_assert_int_eq(bl_output_open(&out, "no/such/f", &e), BL_EFAIL);
    bl_output_abort(&out);
    ck_assert_int_eq(mkdir("d", 0777), 0);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_output_replace("d", "x", 1, &e), BL_EFAIL);
    ck_assert_int_eq(system("test \"$(echo *)\" = 'd f'"), 0);
}

UNIT_TEST(large_pieces_keep_their_order)
{
    struct bl_output out;
    size_t size = 300000;
    FREED char *big = malloc(size);
    ck_assert_ptr_nonnull(big);
    memset(big, 'x', size);
    ck_assert_int_eq(bl_output_open(&out, "f", NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, "<", 1, NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, big, size, NULL), BL_OK);
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(bl_output_write(&out, "y", 1, NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, ">", 1, NULL), BL_OK);
    ck_assert_int_eq(bl_output_commit(&out, NULL), BL_OK);
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    ck_assert_int_eq(bl_io_read_file("f", SIZE_MAX, &b, NULL), BL_OK);
    ck_assert_uint_eq(b.size, 2 * size + 2);
    ck_assert_int_eq(b.data[0], '<');
    ck_assert_int_eq(memcmp(b.data + 1, big, size), 0);
    ck_assert_uint_eq(strspn(b.data + 1 + size, "y"), size);
    ck_assert_int_eq(b.data[2 * size + 1], '>');
}

/* As a user's output is written. */
static void put(const char *path, const char *text)
{
    struct bl_output out;
    ck_assert_int_eq(bl_output_open(&out, path, NULL), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, text, strlen(text), NULL), BL_OK);
    ck_assert_int_eq(bl_output_commit(&out, NULL), BL_OK);
}

/* A file of the tool's own replaces what bears its name, and nothing of its own is reached through a link. */
UNIT_TEST(own_files_are_not_reached_through_links)
{
    struct stat status;
    DIR *list;
    bool made;
    ck_assert_int_eq(mkdir("victim", 0777), 0);
    put("victim/f", "precious");
    ck_assert_int_eq(symlink("victim/f", "link"), 0);
    ck_assert_int_eq(bl_output_replace("link", "new", 3, NULL), BL_OK);
    ck_assert_int_eq(lstat("link", &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    ck_assert_int_eq(mkdir("set", 0777), 0);
    ck_assert_int_eq(symlink("../victim", "set/.bload"), 0);
    ck_assert_int_eq(symlink("../victim", "set/other"), 0);
    FAILS_WITH(bl_output_replace("set/.bload/f", "new", 3, &e), BL_EFAIL, "set/.bload is a link, or no directory");
    ck_assert_int_eq(bl_fs_unlink("set/.bload/f"), -1);
    ck_assert_int_eq(bl_fs_mkdir("set/.bload", &made, NULL), BL_EFAIL);
    ck_assert_int_eq(bl_fs_opendir("set/.bload", &list, NULL), BL_EFAIL);
    ck_assert_int_eq(bl_temporary_open("set/.bload", NULL), BL_EFAIL);
    ck_assert_int_eq(bl_fs_rename("link", "set/.bload/f", NULL), BL_EFAIL);
    ck_assert_int_eq(bl_fs_rename("link", "set/.bload/spool/f", NULL), BL_EFAIL);
    ck_assert_int_eq(bl_fs_create("set/other/f", O_WRONLY, NULL), BL_EFAIL); /* it is there */
    ck_assert_str_eq(content("victim/f"), "precious");
    ck_assert_int_eq(bl_output_replace("set/other/g", "user", 4, NULL), BL_OK); /* the user's link */
    ck_assert_int_eq(unlink("set/.bload"), 0);
    ck_assert_int_eq(bl_fs_opendir("set/.bload", &list, NULL), BL_OK);
    ck_assert_ptr_null(list); /* there is none */
    ck_assert_int_eq(bl_fs_mkdir("set/.bload", &made, NULL), BL_OK);
    ck_assert(made);
    ck_assert_int_eq(bl_fs_mkdir("set/.bload", &made, NULL), BL_OK);
    ck_assert(!made);
    ck_assert_int_eq(bl_output_replace("set/.bload/f", "own", 3, NULL), BL_OK);
    ck_assert_str_eq(content("set/.bload/f"), "own");
    ck_assert_int_eq(bl_fs_unlink("set/.bload/f"), 0);
    ck_assert_int_eq(bl_fs_rmdir("set/.bload", NULL), 0);
    bl_error_clear(&e);
    FAILS(bl_fs_rmdir("set/.bload", &e), BL_EFAIL, "cannot remove set/.bload: No such file or directory");
}

UNIT_TEST(the_parent_of_a_path)
{
    static const char *const known[][2] = {{"a", "."},  {"a/b", "a"},   {"a/b/", "a"}, {"a//b", "a"},
                                           {"/a", "/"}, {"/a/b", "/a"}, {"/", "/"},    {"", "."}};
    for (size_t i = 0; i < COUNT(known); i++) {
        FREED char *parent = bl_path_parent(known[i][0]);
        ck_assert_str_eq(parent, known[i][1]);
    }
}

UNIT_TEST(a_path_below_a_folder_or_url)
{
    static const char *const known[][3] = {{"a", "b", "a/b"},
                                           {"a/", "b", "a//b"},
                                           {"a", "../b", "a/../b"},
                                           {"a", "/b", "/b"},
                                           {"a", "-", "-"},
                                           {"a", "s3://x/b", "s3://x/b"},
                                           {"s3://x/a", "b", "s3://x/a/b"},
                                           {"s3://x/a/", "b", "s3://x/a/b"},
                                           {"s3://x", "b/c", "s3://x/b/c"},
                                           {"s3://x/", "b", "s3://x/b"},
                                           {"s3://x/v/a", "../b", "s3://x/v/b"},
                                           {"s3://x/v/a//", "../../b", "s3://x/b"},
                                           {"s3://x/a", "../../../b", "s3://x/b"},
                                           {"https://h:80/v", "../b/../c", "https://h:80/b/../c"},
                                           {"s3://x/a", "..b", "s3://x/a/..b"}};
    for (size_t i = 0; i < COUNT(known); i++) {
        FREED char *joined = bl_path_join(known[i][0], known[i][1]);
        ck_assert_str_eq(joined, known[i][2]);
    }
    FREED char *alone = bl_path_join(NULL, "b");
    ck_assert_str_eq(alone, "b");
}

UNIT_TEST(a_link_stays_a_link)
{
    struct stat status;
    ck_assert_int_eq(mkdir("d", 0777), 0);
    ck_assert_int_eq(bl_output_replace("d/f", "old", 3, NULL), BL_OK);
    ck_assert_int_eq(symlink("d/f", "link"), 0);
    put("link", "new");
    ck_assert_int_eq(lstat("link", &status), 0);
    ck_assert(S_ISLNK(status.st_mode));
    ck_assert_str_eq(content("d/f"), "new");
    ck_assert_int_eq(system("test \"$(ls d)\" = f"), 0);
}

UNIT_TEST(a_pipe_is_written_to_directly)
{
    ck_assert_int_eq(mkfifo("pipe", 0666), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    put("pipe", "through");
    char text[16] = "";
    ck_assert_int_eq(read(reader, text, sizeof text), 7);
    ck_assert_str_eq(text, "through");
    close(reader);
    ck_assert_int_eq(system("test -p pipe"), 0);
}

UNIT_TEST(lines_with_their_places)
{
    OWNED(bl_lines_close) struct bl_lines lines;
    char *line;
    size_t size;
    bool ended;
    ck_assert_int_eq(bl_output_replace("f", "one\n\nthr\0ee\r\nlast", 17, NULL), BL_OK);
    ck_assert_int_eq(bl_lines_open(&lines, "f", NULL), BL_OK);
    static const struct {
        const char *text;
        size_t size;
        int64_t offset;
        bool ended;
    } expected[] = {{"one", 3, 0, true}, {"", 0, 4, true}, {"thr\0ee\r", 7, 5, true}, {"last", 4, 13, false}};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(bl_lines_next(&lines, &line, &size, &ended, NULL), BL_OK);
        ck_assert_ptr_nonnull(line);
        ck_assert_uint_eq(size, expected[i].size);
        ck_assert_int_eq(memcmp(line, expected[i].text, size + 1), 0);
        ck_assert_int_eq(lines.number, i + 1);
        ck_assert_int_eq(lines.offset, expected[i].offset);
        ck_assert_int_eq(ended, expected[i].ended);
    }
    ck_assert_int_eq(bl_lines_next(&lines, &line, &size, &ended, NULL), BL_OK);
    ck_assert_ptr_null(line);
    ck_assert_int_eq(bl_lines_next(&lines, &line, &size, &ended, NULL), BL_OK);
    ck_assert_ptr_null(line);
}

UNIT_TEST(many_lines_across_chunks)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    for (int i = 0; i < 400000; i++)
        bl_buffer_printf(&b, "%0*d\n", 1 + i % 17, i);
    ck_assert_int_eq(bl_output_replace("f", b.data, b.size, NULL), BL_OK);
    OWNED(bl_lines_close) struct bl_lines lines;
    char *line;
    size_t size;
    bool ended;
    ck_assert_int_eq(bl_lines_open(&lines, "f", NULL), BL_OK);
    for (int i = 0; i < 400000; i++) {
        ck_assert_int_eq(bl_lines_next(&lines, &line, &size, &ended, NULL), BL_OK);
        ck_assert_ptr_nonnull(line);
        ck_assert_int_eq(atoi(line), i);
        ck_assert_int_eq(memcmp(b.data + lines.offset, line, size), 0);
    }
    ck_assert_int_eq(bl_lines_next(&lines, &line, &size, &ended, NULL), BL_OK);
    ck_assert_ptr_null(line);
}

/* The first line is of the given length; what reading it gives. */
static int read_long(size_t length, const char *after, struct bl_error *e)
{
    struct bl_buffer b = {0};
    OWNED(bl_lines_close) struct bl_lines lines;
    char *line;
    size_t size = 0;
    bool ended;
    ck_assert(bl_buffer_reserve(&b, length));
    memset(b.data, 'x', length);
    b.size = length;
    bl_buffer_text(&b, after);
    ck_assert_int_eq(bl_output_replace("f", b.data, b.size, NULL), BL_OK);
    bl_buffer_free(&b);
    ck_assert_int_eq(bl_lines_open(&lines, "f", NULL), BL_OK);
    int code = bl_lines_next(&lines, &line, &size, &ended, e);
    if (!code)
        ck_assert_uint_eq(size, length);
    return code;
}

UNIT_TEST(the_bound_on_a_line_is_one_number)
{
    static const char *const after[] = {"", "\n", "\nmore\n"};
    for (int i = 0; i < 3; i++) {
        bl_error_clear(&e);
        ck_assert_int_eq(read_long(BL_LINE_MAX, after[i], NULL), BL_OK);
        FAILS(read_long(BL_LINE_MAX + 1, after[i], &e), BL_EFAIL, "f:1: line is longer than 1048576 bytes");
        ck_assert_int_eq(read_long(3 * BL_LINE_MAX, after[i], NULL), BL_EFAIL);
    }
}

UNIT_TEST(lines_of_what_cannot_be_read)
{
    OWNED(bl_lines_close) struct bl_lines lines;
    char *line;
    size_t size;
    bool ended;
    ck_assert_int_eq(bl_lines_open(&lines, "absent", &e), BL_EFAIL);
    bl_lines_close(&lines);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_lines_open(&lines, ".", NULL), BL_OK);
    FAILS(bl_lines_next(&lines, &line, &size, &ended, &e), BL_EFAIL, "cannot read .: Is a directory");
}

static int publish(const char *text, size_t size, struct bl_error *e)
{
    struct bl_output out;
    ck_assert_int_eq(bl_output_open(&out, "once", e), BL_OK);
    ck_assert_int_eq(bl_output_write(&out, text, size, e), BL_OK);
    return bl_output_publish(&out, e);
}

UNIT_TEST(who_comes_second_must_have_made_the_same)
{
    static const struct {
        const char *text;
        size_t size;
        const char *message;
    } trial[] = {
        {"id length\na 1\nb 3\n", 19 - 1, "line 3 is \"b 2\" there, \"b 3\" here"},
        {"id length\na 1\n", 14, "line 3 is \"b 2\" there, \"\" here"},
        {"id length\na 1\nb 2\nc", 19, "line 4 is \"\" there, \"c\" here"},
        {"id \0", 4, "the first difference is in byte 3"},
    };
    ck_assert_int_eq(publish("id length\na 1\nb 2\n", 18, &e), BL_OK);
    ck_assert_int_eq(publish("id length\na 1\nb 2\n", 18, &e), BL_OK); /* the second comes with the same */
    for (size_t i = 0; i < COUNT(trial); i++)
        FAILS_WITH(publish(trial[i].text, trial[i].size, &e), BL_EDATA, trial[i].message);
    struct bl_buffer text = {0};
    ck_assert_int_eq(bl_io_read_file("once", 100, &text, &e), BL_OK);
    ck_assert_str_eq(text.data, "id length\na 1\nb 2\n");
    bl_buffer_free(&text);
    ck_assert_int_eq(system("test $(ls | wc -l) = 1"), 0); /* no temporary is left */
}

UNIT_TEST(files_are_compared_beyond_the_first_piece)
{
    size_t size = 300000;
    FREED char *text = malloc(size);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 10 == 9 ? '\n' : 'x';
    ck_assert_int_eq(publish(text, size, &e), BL_OK);
    ck_assert_int_eq(publish(text, size, &e), BL_OK);
    text[234567] = 'y';
    FAILS_WITH(publish(text, size, &e), BL_EDATA, "line 23457 is \"xxxxxxxxx\" there, \"xxxxxxxyx\" here");
}

/* A terminal joins the halves of a control that comes in two writes. */
UNIT_TEST(a_control_is_masked_wherever_a_write_ends)
{
    static const char text[] = "a\xc2\x9bm \xc2\xa9 \xc2\xc2\x85 \x1b[m\xc2";
    static const char expected[] = "a\\xC2\\x9Bm \xc2\xa9 \xc2\\xC2\\x85 \\x1B[m\xc2";
    for (size_t first = 0; first < sizeof text; first++) {
        struct bl_output out;
        ck_assert_int_eq(bl_output_open(&out, "screen", &e), BL_OK);
        out.escapes = true;
        ck_assert_int_eq(bl_output_write(&out, text, first, &e), BL_OK);
        ck_assert_int_eq(bl_output_flush(&out, &e), BL_OK);
        ck_assert_int_eq(bl_output_write(&out, text + first, sizeof text - 1 - first, &e), BL_OK);
        ck_assert_int_eq(bl_output_commit(&out, &e), BL_OK);
        ck_assert_str_eq(content("screen"), expected);
    }
}
