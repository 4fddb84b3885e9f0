/* Expands braces and globs.
 *
 * A glob is expanded from left to right, one part between slashes at a time: a pattern of the parts "a", "*.d" and "**"
 * enters a, matches its names with "*.d", and descends into each match. glob(3) is not used, since it has no "**" and
 * hides why a folder cannot be read. */
#include "scan/globs.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"
#include "kind/kind.h"

/* --- braces ------------------------------------------------------------------------------------------------------- */

/* The expansion of braces. emit gets each name; names counts them against BL_BRACES_MAX, as {0..9}{0..9}... grows
 * fast. */
struct braces {
    int (*emit)(void *context, const char *name, struct bl_error *e);
    void *context;
    int names;
};

/* The text in braces: a range of numbers, or words with commas between them. */
struct group {
    const char *begin, *end; /* the braces */
    bool range;
    int64_t from, to;
    int digits; /* numbers have at least so many */
};

/* Reads a range "N..M" into the group, or returns false. As in shells, zeros in front make all numbers as long as
 * the longer end: "00..10" gives 00, 01, ..., 10. Numbers of 18 digits fit 64 bits. */
static bool group_read_range(struct group *g)
{
    const char *from = g->begin + 1, *dots = strstr(from, "..");
    if (!dots || dots > g->end)
        return false;
    size_t from_size = (size_t)(dots - from), to_size = (size_t)(g->end - dots) - 2;
    /* "007..9" is padded, "0..9" is not. */
    bool padded = (from_size > 1 && from[0] == '0') || (to_size > 1 && dots[2] == '0');
    g->digits = !padded ? 1 : from_size > to_size ? (int)from_size : (int)to_size;
    return from_size <= 18 && to_size <= 18 && bl_text_to_int(from, from_size, 0, INT64_MAX, &g->from) &&
           bl_text_to_int(dots + 2, to_size, 0, INT64_MAX, &g->to);
}

/* Finds the first group without braces inside. Braces without a comma or a range are part of the name, as in shells. */
static bool group_find(const char *text, struct group *g)
{
    for (const char *at = text; (at = strchr(at, '{')); at++) {
        size_t inside = strcspn(at + 1, "{}");
        if (at[1 + inside] != '}')
            continue;
        *g = (struct group){.begin = at, .end = at + 1 + inside};
        g->range = group_read_range(g);
        if (g->range || memchr(at, ',', inside + 1))
            return true;
    }
    return false;
}

bool bl_braces_are_in(const char *text)
{
    struct group g;
    return group_find(text, &g);
}

static int braces_expand(struct braces *b, const char *text, struct bl_error *e);

/* Expands the text with the group replaced by a word. */
static int group_replace(struct braces *b, const char *text, const struct group *g, const char *word, size_t size,
                         struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_append(&name, text, (size_t)(g->begin - text));
    bl_buffer_append(&name, word, size);
    bl_buffer_text(&name, g->end + 1);
    int code = bl_buffer_check(&name, e);
    if (!code)
        code = braces_expand(b, name.data, e);
    bl_buffer_free(&name);
    return code;
}

/* Emits each name of the pattern: replaces the first group by each of its words, and expands the result. BL_EUSAGE:
 * there are more than BL_BRACES_MAX names. */
static int braces_expand(struct braces *b, const char *text, struct bl_error *e)
{
    struct group g;
    if (!group_find(text, &g)) {
        if (b->names++ == BL_BRACES_MAX)
            return bl_error_set(e, BL_EUSAGE, "a pattern of more than %d names", BL_BRACES_MAX);
        return b->emit(b->context, text, e);
    }
    if (g.range) {
        /* Ranges may go down: "3..1" is 3, 2, 1. */
        for (int64_t n = g.from;; n += g.from <= g.to ? 1 : -1) {
            char word[32]; /* group_read_range admits 18 digits */
            int size = snprintf(word, sizeof word, "%0*" PRId64, g.digits, n);
            BL_TRY(group_replace(b, text, &g, word, (size_t)size, e));
            if (n == g.to)
                return BL_OK;
        }
    }
    for (const char *word = g.begin + 1; word <= g.end;) {
        size_t size = strcspn(word, ",}");
        BL_TRY(group_replace(b, text, &g, word, size, e));
        word += size + 1;
    }
    return BL_OK;
}

/* The error names the whole pattern only where the expansion made it: other errors come from emit. */
int bl_braces_expand(const char *text, int (*emit)(void *context, const char *name, struct bl_error *e), void *context,
                     struct bl_error *e)
{
    struct braces b = {.emit = emit, .context = context};
    int code = braces_expand(&b, text, e);
    if (code == BL_EUSAGE && b.names > BL_BRACES_MAX)
        bl_error_prefix(e, "%s", text);
    return code;
}

/* --- globs -------------------------------------------------------------------------------------------------------- */

/* Expands the rest of a pattern. path: the names that were found for the pattern before it. At the end of the
 * pattern, path is appended to names if it exists, also as a dangling link. */
static int glob_expand(const struct bl_walk *walk, const char *path, const char *pattern, struct bl_buffer *names,
                       struct bl_error *e);

/* Continues with a name in the folder. rest: the pattern behind the part that the name matched, which begins with a
 * slash or is empty. */
static int glob_enter(const struct bl_walk *walk, const char *folder, const char *name, size_t size, const char *rest,
                      struct bl_buffer *names, struct bl_error *e)
{
    struct bl_buffer path = {0};
    size_t end = strlen(folder);
    bl_buffer_printf(&path, "%s%s", folder, end && folder[end - 1] != '/' ? "/" : "");
    bl_buffer_append(&path, name, size);
    /* All slashes are kept, as "a//" names a folder. */
    bl_buffer_append(&path, rest, strspn(rest, "/"));
    bl_buffer_text(&path, "");
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = glob_expand(walk, path.data, rest + strspn(rest, "/"), names, e);
    bl_buffer_free(&path);
    return code;
}

/* Expands "**": continues in the folder and in all folders below it. At the end of the pattern, it matches
 * everything that they hold. */
static int glob_descend(const struct bl_walk *walk, const char *path, const char *rest, struct bl_buffer *names,
                        struct bl_error *e)
{
    struct bl_buffer folders = {0};
    struct stat status;
    bool there;
    int code = bl_walk_stat(walk, *path ? path : ".", &status, &there, e);
    if (!code && there && S_ISDIR(status.st_mode))
        code = bl_walk_list_folders(walk, *path ? path : ".", &folders, e);
    rest += strspn(rest, "/");
    for (size_t at = 0; at < folders.size && !code; at += strlen(folders.data + at) + 1) {
        const char *folder = folders.data + at;
        /* The folders have "." as a prefix, which the names must not have. */
        if (!*path) /* "." and "./a" */
            folder += folder[1] ? 2 : 1;
        code = glob_expand(walk, folder, *rest ? rest : "*", names, e);
    }
    bl_buffer_free(&folders);
    return code;
}

/* Continues with each name in the folder that matches the first part of the pattern. A folder that does not exist
 * has no names. A folder that cannot be read becomes an input, which the scan skips with the reason. */
static int glob_match(const struct bl_walk *walk, const char *path, const char *pattern, const char *rest,
                      struct bl_buffer *names, struct bl_error *e)
{
    struct bl_buffer found = {0};
    int64_t count = 0;
    bool opened;
    char *part = strndup(pattern, (size_t)(rest - pattern));
    int code = part ? bl_walk_read_names(walk, *path ? path : ".", &found, &count, &opened, e) : bl_error_memory(e);
    if (code)
        goto out;
    if (!opened && errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG && errno != ELOOP) {
        if (bl_errno_is_system(errno)) {
            code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
            goto out;
        }
        /* Slashes at the end would make another path of the same folder. */
        size_t size = strlen(path);
        while (size > 1 && path[size - 1] == '/')
            size--;
        char *folder = strndup(size ? path : ".", size ? size : 1);
        code = folder ? bl_files_add(walk->files, folder, 0, walk->kind, false, e) : bl_error_memory(e);
        free(folder);
    }
    for (size_t at = 0; at < found.size && !code; at += strlen(found.data + at + 1) + 2) {
        const char *name = found.data + at + 1;
        /* As in shells, "*" matches no hidden name. */
        if (fnmatch(part, name, FNM_PERIOD) == 0)
            code = glob_enter(walk, path, name, strlen(name), rest, names, e);
    }
out:
    free(part);
    bl_buffer_free(&found);
    return code;
}

/* Chooses by the first part of the pattern: "**", a part with wildcards, a plain name, or the end. */
static int glob_expand(const struct bl_walk *walk, const char *path, const char *pattern, struct bl_buffer *names,
                       struct bl_error *e)
{
    const char *rest = pattern + strcspn(pattern, "/");
    size_t size = (size_t)(rest - pattern);
    if (size == 2 && memcmp(pattern, "**", 2) == 0)
        return glob_descend(walk, path, rest, names, e);
    if (size && strcspn(pattern, "*?[\\") < size)
        return glob_match(walk, path, pattern, rest, names, e);
    if (*pattern)
        return glob_enter(walk, path, pattern, size, rest, names, e);
    struct stat status;
    char *open_path = bl_path_join(walk->base, path);
    if (!open_path)
        return bl_error_memory(e);
    bool exists = lstat(open_path, &status) == 0;
    int error = errno;
    free(open_path);
    errno = error;
    if (!exists && bl_errno_is_system(error))
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (exists)
        bl_buffer_append(names, path, strlen(path) + 1);
    return bl_buffer_check(names, e);
}

/* --- ** --------------------------------------------------------------------------------------------------------- */

/* Returns whether a part of the pattern is "**", which alone may match a folder and its files. */
bool bl_globs_descend(const char *pattern)
{
    for (const char *at = pattern; (at = strstr(at, "**")); at++) {
        if ((at == pattern || at[-1] == '/') && (!at[2] || at[2] == '/'))
            return true;
    }
    return false;
}

/* A name that a pattern with "**" matches. */
struct match {
    char *path;
    bool is_folder;
};

struct matches {
    struct match *match; /* in the order of their paths, without repeats */
    size_t count, capacity;
};

/* Orders matches by their paths, byte by byte, for qsort and bsearch. */
static int match_compare(const void *a, const void *b)
{
    return strcmp(((const struct match *)a)->path, ((const struct match *)b)->path);
}

/* Sets the matches to the names, sorted and without repeats. Slashes at their ends are cut in `names`, which owns
 * the texts. */
static int matches_sort(struct matches *m, const struct bl_walk *walk, const struct bl_buffer *names,
                        struct bl_error *e)
{
    int code = BL_OK;
    size_t kept = 0;
    for (size_t at = 0, size; at < names->size; at += size + 1) {
        char *path = names->data + at;
        size = strlen(path);
        for (size_t end = size; end > 1 && path[end - 1] == '/'; end--)
            path[end - 1] = '\0';
        BL_TRY(BL_ARRAY_RESERVE(m->match, m->capacity, m->count + 1, e));
        m->match[m->count++].path = path;
    }
    if (m->count)
        qsort(m->match, m->count, sizeof *m->match, match_compare);
    for (size_t i = 0; i < m->count && !code; i++) {
        struct stat status;
        bool there;
        if (kept && strcmp(m->match[i].path, m->match[kept - 1].path) == 0)
            continue;
        code = bl_walk_stat(walk, m->match[i].path, &status, &there, e);
        m->match[kept++] = (struct match){m->match[i].path, !code && there && S_ISDIR(status.st_mode)};
    }
    m->count = kept;
    return code;
}

/* Removes names that would give an input twice: those in a folder that matches, too. A pattern that ends with "**"
 * matches folders and files alike: only the files stay, or only the folders for a kind whose inputs are folders. */
static int names_settle(const struct bl_walk *walk, const char *pattern, struct bl_buffer *names, struct bl_error *e)
{
    struct matches m = {0};
    struct bl_buffer kept = {0};
    size_t size = strlen(pattern);
    while (size && pattern[size - 1] == '/')
        size--;
    /* "**" is a part by itself at the end of the pattern. */
    bool all = size >= 2 && memcmp(pattern + size - 2, "**", 2) == 0 && (size == 2 || pattern[size - 3] == '/');
    bool folders = walk->kind && walk->kind->scan->stat_folder;
    int code = matches_sort(&m, walk, names, e);
    size_t taken = 0;
    for (size_t i = 0; i < m.count; i++) {
        if (!all || m.match[i].is_folder == folders)
            m.match[taken++] = m.match[i];
    }
    m.count = taken;
    for (size_t i = 0; i < m.count && !code; i++) {
        bool within = false; /* a folder above it matches, too */
        char *path = strdup(m.match[i].path);
        code = path ? BL_OK : bl_error_memory(e);
        for (char *slash = path; slash && (slash = strchr(slash + 1, '/')) && !within; *slash = '/') {
            *slash = '\0';
            const struct match key = {.path = path};
            const struct match *above = bsearch(&key, m.match, m.count, sizeof key, match_compare);
            within = above && above->is_folder;
        }
        free(path);
        if (!within)
            bl_buffer_append(&kept, m.match[i].path, strlen(m.match[i].path) + 1);
    }
    if (!code)
        code = bl_buffer_check(&kept, e);
    free(m.match);
    bl_buffer_free(names);
    *names = kept;
    return code;
}

/* Appends the names that the pattern matches, each with a NUL. No match is no error here. */
int bl_globs_expand(const struct bl_walk *walk, const char *pattern, struct bl_buffer *names, struct bl_error *e)
{
    int code = glob_expand(walk, "", pattern, names, e);
    return code || !bl_globs_descend(pattern) ? code : names_settle(walk, pattern, names, e);
}
