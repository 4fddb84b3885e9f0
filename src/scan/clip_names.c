#include "scan/clip_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Names of the column with the path in lists of other programs. */
static const char *const usual[] = {"file_name",  "filename",   "file_path",  "filepath",       "video",
                                    "video_path", "video_file", "audio_path", "audio_filepath", NULL};

/* --- --columns -------------------------------------------------------------------------------------------------- */

/* A pair of --columns: NAME=COLUMN. */
struct pair {
    struct bl_clip_name name, column;
    const char *next; /* the text of the next pair, or NULL */
};

static struct pair pair_read(const char *text)
{
    size_t size = strcspn(text, ","), name = strcspn(text, ",=");
    size_t column = text[name] == '=' ? name + 1 : size;
    return (struct pair){
        .name = {text, name}, .column = {text + column, size - column}, .next = text[size] ? text + size + 1 : NULL};
}

static bool names_are_same(struct bl_clip_name a, struct bl_clip_name b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

bool bl_clip_name_is(struct bl_clip_name name, const char *text)
{
    return names_are_same(name, (struct bl_clip_name){text, strlen(text)});
}

int bl_clip_names_check(const char *renames, struct bl_error *e)
{
    int count = 0;
    struct pair pair, before;
    for (const char *text = renames; text; text = pair.next) {
        pair = pair_read(text);
        if (!pair.name.size || !pair.column.size || ++count > BL_CLIP_RENAMES_MAX)
            return bl_error_set(e, BL_EUSAGE,
                                "--columns expects 1 to %d pairs NAME=COLUMN with commas between them, such as "
                                "path=file_name,label=class, not \"%s\"",
                                BL_CLIP_RENAMES_MAX, renames);
        for (const char *other = renames; other != text; other = before.next) {
            before = pair_read(other);
            if (names_are_same(before.name, pair.name) || names_are_same(before.column, pair.column))
                return bl_error_set(e, BL_EUSAGE, "--columns %s: a name or a column occurs twice", renames);
        }
    }
    return BL_OK;
}

struct bl_clip_name bl_clip_names_find(const char *renames, const char *column, size_t size, int *number)
{
    struct bl_clip_name own = {column, size};
    struct pair pair;
    *number = 0;
    for (const char *text = renames; text; text = pair.next, ++*number) {
        pair = pair_read(text);
        if (names_are_same(pair.column, own))
            return pair.name;
    }
    *number = -1;
    return own;
}

struct bl_clip_name bl_clip_names_column(const char *renames, int number)
{
    struct pair pair = {.next = renames};
    for (int i = 0; i <= number; i++) {
        if (!pair.next)
            return (struct bl_clip_name){"", 0};
        pair = pair_read(pair.next);
    }
    return pair.column;
}

/* --- the path --------------------------------------------------------------------------------------------------- */

/* Whether it is a usual name of the path, in any case. */
static bool name_is_usual(struct bl_clip_name name)
{
    for (size_t u = 0; usual[u]; u++) {
        if (strlen(usual[u]) == name.size && strncasecmp(usual[u], name.text, name.size) == 0)
            return true;
    }
    return false;
}

/* Takes one more column. *second: is set to another one that may be the path, too. */
static void path_offer(struct bl_clip_path *path, struct bl_clip_name name, struct bl_clip_path *second)
{
    if (bl_clip_name_is(name, "path")) {
        *path = (struct bl_clip_path){.found = true};
        return;
    }
    struct bl_clip_path *at = path->found ? second : path;
    if (!name_is_usual(name) || (path->found && !*path->name))
        return;
    at->found = true;
    snprintf(at->name, sizeof at->name, "%.*s", (int)name.size, name.text);
}

static int path_check(const struct bl_clip_path *path, const struct bl_clip_path *second, struct bl_error *e)
{
    if (!*path->name || !second->found)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "\"%s\" or \"%s\" may be the path: choose with --columns path=%s", path->name,
                        second->name, path->name);
}

int bl_clip_path_of_header(struct bl_clip_path *path, const char *renames, char *const *column, size_t count,
                           struct bl_error *e)
{
    struct bl_clip_path second = {0};
    int number;
    *path = second;
    for (size_t c = 0; c < count; c++)
        path_offer(path, bl_clip_names_find(renames, column[c], strlen(column[c]), &number), &second);
    return path_check(path, &second, e);
}

int bl_clip_path_of_object(struct bl_clip_path *path, const char *renames, const struct bl_json_value *object,
                           struct bl_error *e)
{
    struct bl_clip_path second = {0};
    struct bl_json_value key, value;
    int number;
    *path = second;
    for (size_t at = 0; bl_json_next_member(object, &at, &key, &value);) {
        struct bl_clip_name name = bl_clip_names_find(renames, key.text, key.size, &number);
        if (value.type == BL_JSON_STRING || bl_clip_name_is(name, "path")) /* lhotse has an object "video" */
            path_offer(path, name, &second);
    }
    return path_check(path, &second, e);
}
