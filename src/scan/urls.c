/* Matches names of objects, and completes those of lists.
 *
 * A store has no folders: what a pattern of files does from folder to folder is done here with each name of a list,
 * part by part. The list has the objects whose names begin with the fixed part of the pattern. */
#include "scan/urls.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/fs.h"
#include "remote/url.h"
#include "scan/globs.h"

#define SPECIAL "*?[\\"

/* --- patterns ----------------------------------------------------------------------------------------------------- */

size_t bl_url_glob_fixed(const char *pattern)
{
    return strcspn(pattern, SPECIAL);
}

/* Copies a text, and divides the copy at its slashes. */
static int parts_make(char **text, const char ***part, size_t *parts, const char *from, struct bl_error *e)
{
    *parts = 1;
    for (const char *at = from; (at = strchr(at, '/')); at++)
        ++*parts;
    *text = strdup(from);
    *part = calloc(*parts, sizeof **part);
    if (!*text || !*part)
        return bl_error_memory(e);
    char *at = *text;
    for (size_t i = 0; i < *parts; i++) {
        (*part)[i] = at;
        at += strcspn(at, "/");
        at += *at ? 1 : 0;
        if (i + 1 < *parts)
            at[-1] = '\0';
    }
    return BL_OK;
}

int bl_url_glob_open(struct bl_url_glob *glob, const char *pattern, struct bl_error *e)
{
    return parts_make(&glob->text, &glob->part, &glob->parts, pattern, e);
}

void bl_url_glob_free(struct bl_url_glob *glob)
{
    free(glob->text);
    free(glob->part);
    *glob = (struct bl_url_glob){0};
}

/* A name that is compared with a pattern. */
struct glob_match {
    const struct bl_url_glob *glob;
    const char **part;
    size_t parts;
    bool *fails; /* of each part of the pattern with each part of the name: no match begins there */
};

static size_t match_from(struct glob_match *m, size_t at, size_t from);

/* Goes on behind "**": with the present part of the name, or with one below, but in no hidden folder. At the end of the
 * pattern, it matches everything below. */
static size_t match_descend(struct glob_match *m, size_t at, size_t from)
{
    for (size_t i = from; i < m->parts; i++) {
        size_t end = at + 1 < m->glob->parts                   ? match_from(m, at + 1, i)
                     : i + 1 == m->parts && *m->part[i] != '.' ? m->parts
                                                               : 0;
        if (end || *m->part[i] == '.')
            return end;
    }
    return 0;
}

/* Returns how many parts of the name the pattern matches, if its parts from `at` on match those of the name from `from`
 * on; or 0. */
static size_t match_from(struct glob_match *m, size_t at, size_t from)
{
    const struct bl_url_glob *glob = m->glob;
    if (at == glob->parts)
        return from;
    /* Nothing behind the last slash: a folder. */
    if (from == m->parts || (at + 1 == glob->parts && !*glob->part[at]))
        return from < m->parts ? from : 0;
    bool *fails = &m->fails[at * m->parts + from];
    const char *pattern = glob->part[at], *name = m->part[from];
    size_t end = 0;
    if (*fails)
        return 0;
    if (strcmp(pattern, "**") == 0)
        end = match_descend(m, at, from);
    else if (pattern[strcspn(pattern, SPECIAL)] ? fnmatch(pattern, name, FNM_PERIOD) == 0 : strcmp(pattern, name) == 0)
        end = match_from(m, at + 1, from + 1);
    *fails = !end;
    return end;
}

int bl_url_glob_match(const struct bl_url_glob *glob, const char *url, size_t *size, struct bl_error *e)
{
    struct glob_match m = {.glob = glob};
    char *text = NULL;
    *size = 0;
    int code = parts_make(&text, &m.part, &m.parts, url, e);
    m.fails = code ? NULL : calloc(m.parts, glob->parts);
    if (!code && !m.fails)
        code = bl_error_memory(e);
    size_t end = code ? 0 : match_from(&m, 0, 0);
    if (end)
        *size = end == m.parts ? strlen(url) : (size_t)(m.part[end] - text) - 1;
    free(text);
    free(m.part);
    free(m.fails);
    return code;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

/* Objects below a prefix, or those that a pattern matches. */
struct below {
    const struct bl_walk *walk;
    size_t prefix;                  /* bytes of the URL before an id */
    const struct bl_url_glob *glob; /* or NULL */
    bool whole_ids;
    bl_url_take *take;
    void *context;
    int64_t taken;
    char *folder;          /* that a pattern matched, and whose objects come now, or NULL */
    size_t first;          /* of the files of this folder */
    struct bl_hash inputs; /* the folders that are inputs, by their URLs */
};

/* Adds the folder of an object as an input, once. prefix: bytes of the URL before the object's name in the source. */
static int below_add_input(struct below *below, const char *url, size_t prefix, size_t id, struct bl_error *e)
{
    struct bl_files *files = below->walk->files;
    size_t size = (size_t)(strrchr(url, '/') - url), number;
    uint64_t hash = XXH3_64bits(url, size);
    for (struct bl_hash_probe probe = bl_hash_begin(&below->inputs, hash);
         bl_hash_next(&below->inputs, &probe, &number);) {
        const char *path = number < files->count ? files->file[number].path : "";
        if (strncmp(path, url, size) == 0 && !path[size])
            return BL_OK;
    }
    char *folder = strndup(url, size);
    if (!folder)
        return bl_error_memory(e);
    /* The source itself is named as it was given. */
    int code = bl_files_add(files, folder, size < prefix ? 0 : id, below->walk->kind, false, e);
    free(folder);
    if (code)
        return code;
    files->file[files->count - 1].folder = true;
    return bl_hash_add(&below->inputs, hash, files->count - 1, e);
}

/* Adds an object of a folder. prefix: bytes of its URL before its name in the folder. */
static int below_add(struct below *below, const char *url, size_t prefix, struct bl_error *e)
{
    const struct bl_walk *walk = below->walk;
    const char *rest = url + prefix;
    size_t id = below->whole_ids ? 0 : prefix;
    bool is_part;
    if (*rest == '.' || strstr(rest, "/.")) {
        bl_files_ignore(walk->files, ".hidden", 1);
        return BL_OK;
    }
    BL_TRY(bl_walk_add_found(walk, url, id, &is_part, e));
    return is_part ? below_add_input(below, url, prefix, id, e) : BL_OK;
}

/* Begins the folder that is this many bytes of the URL, after the one before, whose files of lower ranks are dropped.
 * 0: none begins. */
static int below_turn(struct below *below, const char *url, size_t size, struct bl_error *e)
{
    if (below->folder && size && strncmp(below->folder, url, size) == 0 && !below->folder[size])
        return BL_OK;
    if (below->folder)
        bl_files_drop_secondary(below->walk->files, below->first);
    free(below->folder);
    below->folder = size ? strndup(url, size) : NULL;
    below->first = below->walk->files->count;
    return size && !below->folder ? bl_error_memory(e) : BL_OK;
}

/* Takes an object of a list: with a pattern that matches its name as one that was named, otherwise as a file in a
 * folder. */
static int below_take(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    struct below *below = context;
    size_t size, whole = strlen(object->url);
    if (!below->glob)
        return below_add(below, object->url, below->prefix, e);
    BL_TRY(bl_url_glob_match(below->glob, object->url, &size, e));
    if (!size)
        return BL_OK;
    below->taken++;
    BL_TRY(below_turn(below, object->url, size < whole ? size : 0, e));
    return size < whole ? below_add(below, object->url, size + 1, e) : below->take(below->context, object->url, e);
}

int bl_urls_add_below(const struct bl_walk *walk, struct bl_remote_files *remote, const char *url, struct bl_error *e)
{
    size_t size = strlen(url), first = walk->files->count;
    /* Of a bucket without a slash, ids begin behind that slash. */
    struct below below = {.walk = walk, .prefix = size + (url[size - 1] != '/')};
    int code = bl_remote_files_list(remote, url, below_take, &below, e);
    bl_hash_free(&below.inputs);
    if (!code)
        bl_files_drop_secondary(walk->files, first);
    return code;
}

int bl_urls_add_matches(const struct bl_walk *walk, struct bl_remote_files *remote, const char *pattern,
                        bl_url_take *take, void *context, struct bl_error *e)
{
    struct bl_url_glob glob = {0};
    /* As of files: folders of several depths have files of the same names. */
    struct below below = {
        .walk = walk, .glob = &glob, .whole_ids = bl_globs_descend(pattern), .take = take, .context = context};
    size_t fixed = bl_url_glob_fixed(pattern);
    const char *bucket = strstr(pattern, "://") + 3;
    if (pattern + fixed < bucket || !memchr(bucket, '/', fixed - (size_t)(bucket - pattern)))
        return bl_error_set(
            e, BL_EUSAGE, "%s: a pattern of objects has *, ? or [...] below the bucket, and not in its name", pattern);
    char *prefix = strndup(pattern, fixed);
    int code = prefix ? bl_url_glob_open(&glob, pattern, e) : bl_error_memory(e);
    if (!code)
        code = bl_remote_files_list(remote, prefix, below_take, &below, e);
    if (!code)
        code = below_turn(&below, pattern, 0, e);
    if (!code && !below.taken)
        code = bl_error_set(e, BL_EUSAGE, "%s matches no object", pattern);
    free(prefix);
    free(below.folder);
    bl_hash_free(&below.inputs);
    bl_url_glob_free(&glob);
    return code;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Appends a part of a name: as it is for a store, and for a web server with the bytes encoded that no URL has. */
static void part_append(struct bl_buffer *out, const char *part, size_t size, bool is_web)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)part[i];
        if (is_web && (byte <= ' ' || byte >= 0x7f || strchr("\\#\"<>^`{|}", byte)))
            bl_buffer_printf(out, "%%%02X", byte);
        else
            bl_buffer_byte(out, (char)byte);
    }
}

/* Returns why a list from afar may not have this URL, or NULL. */
static const char *url_refuse(const char *list, const char *url)
{
    struct bl_site own, other;
    if (!bl_url_is(url))
        return "URLs of this kind are not read, only s3, gs, https, http and hf";
    /* A stranger's list does not reach services of this machine, as redirects do not. */
    bool is_near = !bl_site_parse(&other, url) && bl_site_is_loopback(&other);
    bool may_be = !bl_site_parse(&own, list) && bl_site_is_loopback(&own);
    return is_near && !may_be ? "a list from elsewhere names a server of this machine" : NULL;
}

int bl_url_resolve(struct bl_buffer *out, const char *list, const char *name, struct bl_error *e)
{
    const char *fault = bl_path_is_url(name) ? url_refuse(list, name) : NULL;
    if (fault)
        return bl_error_set(e, BL_EUSAGE, "%s: %s", name, fault);
    if (bl_path_is_url(name)) {
        bl_buffer_text(out, name);
        return bl_buffer_check(out, e);
    }
    bool is_web = strncasecmp(list, "http", 4) == 0;
    size_t folder = is_web ? strcspn(list, "?#") : strlen(list);
    while (folder && list[folder - 1] != '/')
        folder--;
    bl_buffer_append(out, list, folder);
    for (const char *at = name; *at && !fault;) {
        size_t size = strcspn(at, "/"), whole = size + (at[size] == '/');
        if (at == name && !size)
            fault = "an absolute path";
        else if (size == 2 && memcmp(at, "..", 2) == 0)
            fault = "a path with ..";
        else if (size != 1 || *at != '.')
            part_append(out, at, whole, is_web);
        at += whole;
    }
    if (fault)
        return bl_error_set(e, BL_EUSAGE, "%s: %s: a list from afar has URLs, and names in its own folder", name,
                            fault);
    bl_buffer_text(out, "");
    return bl_buffer_check(out, e);
}
