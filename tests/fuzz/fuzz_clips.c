/* Lists of clips, as CSV, TSV or JSON lines: whatever comes out has the form of kind/list.h, with the values of all
 * further columns, or says why not. The first byte says which form. */
#include <string.h>

#include "fuzz.h"
#include "kind/kinds.h"
#include "kind/list.h"
#include "kind/video/video.h"
#include "scan/list_lines.h"

/* A line's values must fit into the table. */
static void check_line(const struct bl_line *line, const struct bl_clip_columns *columns, struct bl_clip *clip)
{
    struct bl_error e = {0};
    size_t tabs = 0;
    never(!line->size || line->number < 1);
    if (line->unusable)
        return;
    for (size_t i = 0; i < line->size; i++)
        tabs += line->text[i] == '\t';
    never(tabs != BL_CLIP_VALUES - 1 + columns->count || memchr(line->text, '\n', line->size));
    int code = bl_clip_parse(clip, line->text, line->size, &e);
    never(code ? code != BL_EDATA || !e.text[0] : !*clip->path || !clip->id.size);
    never(!code && (clip->start > 1e9 || clip->end > 1e9 || (clip->end >= 0 && clip->end < clip->start)));
}

static void read_lines(const char *path, const struct bl_clip_columns *columns)
{
    struct bl_list_lines *lines;
    struct bl_clip clip = {0};
    struct bl_error e = {0};
    bool found = true;
    int code = bl_list_lines_open(&lines, path, columns, NULL, &e);
    never(code && !e.text[0]);
    if (code)
        return;
    while (!code && found) {
        struct bl_line line;
        code = bl_list_lines_next(lines, &line, &found, &e);
        if (!code && found)
            check_line(&line, columns, &clip);
    }
    never(code && !e.text[0]);
    bl_list_lines_close(lines);
    bl_clip_free(&clip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const form[] = {"csv", "tsv", "jsonl", "csv"};
    char path[64], link[64];
    struct bl_clip_columns columns = {.are_clips = true};
    struct bl_error e = {0};
    if (!size)
        return 0;
    /* The last form is a table, of whose columns the path and the id are made. */
    columns.renames = (data[0] & 3) == 3 ? "path=a/{path}{n:03},id={id}-{path},word=w" : NULL;
    int fd = fuzz_file(data + 1, size - 1, path);
    snprintf(link, sizeof link, "/tmp/bload-fuzz-%d.%s", getpid(), form[data[0] & 3]);
    unlink(link);
    never(symlink(path, link) != 0);
    /* The next bits choose a kind with numbers in names, and a template of the path. */
    if (data[0] & 8)
        columns.renames = "path=a/{v}_{n:03d}";
    int code =
        bl_clip_columns_add(&columns, data[0] & 4 ? bl_kind_find("frames") : &bl_kind_video, link, link, NULL, &e);
    never(code && !e.text[0]);
    if (!code)
        read_lines(link, &columns);
    bl_clip_columns_free(&columns);
    unlink(link);
    close(fd);
    return 0;
}
