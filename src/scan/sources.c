/* Turns the sources that the user named into the list of inputs.
 *
 * A name is tried in this order: "@list", a URL, an existing file or folder, braces, a glob. Then tars are replaced
 * by their samples, and the inputs are sorted and checked: for one kind, and for ids that occur twice. So v/?.mp4
 * with a.mp4 and b.mp4 gives the inputs v/a.mp4 and v/b.mp4, with their paths as ids. */
#include "scan/sources.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "remote/lookup.h"
#include "scan/containers.h"
#include "scan/files.h"
#include "scan/globs.h"
#include "scan/name_list.h"
#include "scan/samples.h"
#include "scan/urls.h"

#define SOURCES_MAX (INT_MAX >> 2)

/* The listing of inputs. walk.kind changes with each source; implied is the kind of files whose names show none. */
struct listing {
    struct bl_walk walk; /* its kind is that of the current source */
    const struct bl_kind *implied;
    int source;                     /* its number */
    int line;                       /* of the list that it is, or 0 */
    struct bl_remote_files *remote; /* or NULL */
};

/* --- kinds ------------------------------------------------------------------------------------------------------ */

/* Sets the kind of all inputs: files whose names show none take the kind of the others. BL_EUSAGE: there are several
 * kinds; the message counts them: "117 video such as v/000.mp4, 1 audio: v/x.ac3". */
static int files_resolve_kind(struct bl_files *files, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int kinds = 0;
    files->kind = NULL;
    /* Kinds are few, and counting in their order makes the message the same every time. */
    for (int k = 0; bl_kinds[k]; k++) {
        const struct bl_file *first = NULL;
        int64_t count = 0;
        for (size_t i = 0; i < files->count; i++) {
            bool is = files->file[i].kind == bl_kinds[k];
            /* The first file of a kind is its example. */
            first = is && !first ? &files->file[i] : first;
            count += is;
        }
        if (!first)
            continue;
        bl_buffer_printf(&text, "%s%" PRId64 " %s%s %s", text.size ? ", " : "", count, bl_kinds[k]->name,
                         count == 1 ? ":" : " such as", first->path);
        files->kind = bl_kinds[k];
        kinds++;
    }
    int code = bl_buffer_check(&text, e);
    if (!code && kinds > 1)
        code = bl_error_set(e, BL_EUSAGE, "sources of several kinds (%s): choose one with --kind", text.data);
    bl_buffer_free(&text);
    /* Files of no known kind get the first kind, whose reader says what is wrong. */
    if (!files->kind)
        files->kind = bl_kinds[0];
    return code;
}

/* --- sources ---------------------------------------------------------------------------------------------------- */

/* Finds the kind of a file that the user named; NULL: its name does not show it. A file in a compression that is not
 * read has the kind of its content, so that its reader skips it with a reason. */
static int path_find_kind(const char *path, const struct bl_kind **kind, struct bl_error *e)
{
    static const char *const suffixes[] = {".xz", ".bz2", ".lz4"};
    *kind = bl_kind_find_by_file(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && !*kind; i++) {
        if (!bl_path_has_suffix(path, suffixes[i]))
            continue;
        char *name = strndup(path, strlen(path) - strlen(suffixes[i]));
        if (!name)
            return bl_error_memory(e);
        /* The name without the suffix must show a kind. */
        *kind = bl_kind_find_by_file(name);
        free(name);
    }
    return BL_OK;
}

int bl_sources_refuse(const char *name, const char *operand, int code, const char *prefix, struct bl_error *e)
{
    static const char *const pickled[] = {"pt", "pth", "pkl", "pickle", "mdb", "lmdb", NULL};
    if (bl_path_has_suffix(name, ".parquet"))
        return bl_error_set(
            e, code,
            "%s: bload reads Parquet as lines of JSON: python3 -m bload.parquet %s --columns text | bload pack -",
            prefix, operand);
    if (bl_path_has_extension(name, pickled))
        return bl_error_set(
            e, code,
            "%s: bload reads no pickles and no LMDB: python3 -m bload.arrays %s -o NPY makes .npy files "
            "of the arrays in them",
            prefix, operand);
    return BL_OK;
}

/* Adds a file that the user named; the id of a tar is its name without folders. BL_EUSAGE: Parquet is read by
 * another program, and a compressed tar cannot be read in place. */
static int listing_add_file(struct listing *l, const char *path, struct bl_error *e)
{
    static const struct {
        const char *suffix, *tool;
    } names[] = {{".tar.gz", "gunzip"},    {".tgz", "gunzip"},        {".tar.zst", "unzstd --rm"},
                 {".tzst", "unzstd --rm"}, {".tar.xz", "unxz"},       {".tar.bz2", "bunzip2"},
                 {".tbz2", "bunzip2"},     {".tar.lz4", "unlz4 --rm"}};
    const struct bl_kind *kind = l->walk.kind;
    BL_TRY(bl_sources_refuse(path, path, BL_EUSAGE, path, e));
    if (!kind)
        BL_TRY(path_find_kind(path, &kind, e));
    /* The check comes after Parquet and applies to every kind. */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (bl_path_has_suffix(path, names[i].suffix))
            return bl_error_set(e, BL_EUSAGE,
                                "%s: members of a compressed tar cannot be read in place: decompress it first (%s %s)",
                                path, names[i].tool, path);
    }
    bool tar = bl_files_is_tar(kind, path);
    /* A tar has no kind until its members are known. */
    kind = kind || tar ? kind : l->implied;
    BL_TRY(bl_files_add(l->walk.files, path, tar ? (size_t)(bl_path_name(path) - path) : 0, kind, false, e));
    l->walk.files->file[l->walk.files->count - 1].tar = tar;
    return BL_OK;
}

/* Finds the file that a name of a pair of files means, such as an index beside its data. A name without the suffix
 * is completed only if it is no file itself. *meant: to be freed, or NULL. */
static int listing_find_meant(struct listing *l, const char *path, char **meant, struct bl_error *e)
{
    const char *const *pair = l->walk.names->pair;
    struct bl_buffer name = {0};
    struct stat status;
    bool there, named = bl_path_has_suffix(path, pair[0]);
    *meant = NULL;
    int code = bl_walk_stat(&l->walk, path, &status, &there, e);
    if (code || (there && !named))
        return code;
    /* The name of the pair's other file replaces the suffix. */
    bl_buffer_append(&name, path, strlen(path) - (named ? strlen(pair[0]) : 0));
    bl_buffer_printf(&name, "%s", pair[1]);
    code = bl_buffer_check(&name, e);
    if (!code)
        code = bl_walk_stat(&l->walk, name.data, &status, &there, e);
    if (!code && there)
        *meant = name.data;
    else
        bl_buffer_free(&name);
    return code;
}

/* Gives the files from index first on the number and line of their source. */
static void listing_note_source(struct listing *l, size_t first)
{
    for (size_t i = first; i < l->walk.files->count; i++) {
        l->walk.files->file[i].source = (unsigned)l->source & SOURCES_MAX;
        l->walk.files->file[i].line = l->line;
    }
}

/* Adds an existing file or folder, or "-", and notes its source. must_exist: a name that does not exist is an error
 * (BL_EUSAGE); otherwise the scan skips it, like a dangling link. */
static int listing_add_named(struct listing *l, const char *path, bool must_exist, struct bl_error *e)
{
    struct bl_files *files = l->walk.files;
    struct stat status;
    bool there = true, folder = false;
    size_t first = files->count;
    int code = BL_OK;
    if (strcmp(path, "-") != 0) { /* standard input */
        BL_TRY(bl_walk_stat(&l->walk, path, &status, &there, e));
        folder = there && S_ISDIR(status.st_mode);
        /* errno of the first stat belongs to the message: the calls in between change it. */
        int missing = errno;
        char *open_path = there || !must_exist ? NULL : bl_path_join(l->walk.base, path);
        /* A link whose target is gone exists by itself: the scan skips it. */
        bool is_link = open_path && lstat(open_path, &status) == 0;
        free(open_path);
        errno = missing;
        if (must_exist && !there && !is_link)
            return bl_error_errno(e, BL_EUSAGE, "%s", path);
    }
    if (folder) {
        code = bl_walk_folder(&l->walk, path, e);
        if (!code)
            bl_files_drop_secondary(files, first);
        /* Only the first empty folder is named in the message; all are counted. */
        if (!code && files->count == first && !files->empty_folders++) {
            files->empty_folder = strdup(path);
            code = files->empty_folder ? BL_OK : bl_error_memory(e);
        }
    } else {
        code = listing_add_file(l, path, e);
    }
    listing_note_source(l, first);
    return code;
}

/* Finds the list that a folder means, or a file that was named in it, such as the data folder of Kaldi's around a
 * wav.scp. *kind: the one of the list. *meant: to be freed, or NULL: the path means itself. */
static int listing_find_list(struct listing *l, const char *path, const struct bl_kind **kind, char **meant,
                             struct bl_error *e)
{
    struct stat own;
    bool exists;
    *meant = NULL;
    BL_TRY(bl_walk_stat(&l->walk, path, &own, &exists, e));
    for (int k = 0; bl_kinds[k] && !*meant; k++) {
        const struct bl_kind_lists *lists = bl_kinds[k]->scan->lists;
        if (!lists || !lists->folder[0] || (l->walk.kind && l->walk.kind != bl_kinds[k]))
            continue;
        bool named = strcmp(bl_path_name(path), lists->folder[0]) == 0;
        /* Below a member of a tar, and an array of a file, every name would be found. */
        if (!exists || (!named && !S_ISDIR(own.st_mode)))
            continue;
        char *folder = named ? bl_path_parent(path) : strdup(path);
        int code = folder ? BL_OK : bl_error_memory(e);
        for (int f = 0; f < 2 && !code && (f == 0 || *meant); f++) {
            struct stat status;
            bool there = false;
            char *list = bl_path_join(strcmp(folder, ".") == 0 && named ? NULL : folder, lists->folder[f]);
            code = list ? bl_walk_stat(&l->walk, list, &status, &there, e) : bl_error_memory(e);
            if (!code && there && S_ISREG(status.st_mode)) {
                free(*meant);
                *meant = list;
                *kind = bl_kinds[k];
            } else {
                free(list);
            }
        }
        free(folder);
        BL_TRY(code);
    }
    return BL_OK;
}

/* Adds a file or folder, or the file that its name means. */
static int listing_add_path(struct listing *l, const char *path, bool must_exist, struct bl_error *e)
{
    char *meant = NULL;
    const struct bl_kind *const kind = l->walk.kind, *found = kind;
    int code = l->walk.names ? listing_find_meant(l, path, &meant, e) : BL_OK;
    if (!code && !meant)
        code = listing_find_list(l, path, &found, &meant, e);
    l->walk.kind = found;
    if (!code)
        code = listing_add_named(l, meant ? meant : path, must_exist, e);
    l->walk.kind = kind;
    free(meant);
    return code;
}

/* --- URLs ------------------------------------------------------------------------------------------------------- */

/* Adds an object by its URL. BL_EUSAGE: it does not exist, or is no text. */
static int listing_add_object(struct listing *l, const char *url, struct bl_error *e)
{
    struct bl_remote_object object;
    struct bl_error fault = {0};
    int code = bl_remote_files_find(l->remote, url, &object, &fault);
    /* A folder's name without the slash is a likely mistake. */
    if (code == BL_EUSAGE && strncmp(url, "http", 4) != 0)
        return bl_error_set(e, code, "%s (all objects below a name: with a slash at its end)", fault.text);
    return code ? bl_error_pass(e, code, &fault) : listing_add_path(l, url, false, e);
}

/* Adds an object that a pattern matches: a callback of bl_urls_add_matches. */
static int listing_add_matched(void *context, const char *url, struct bl_error *e)
{
    return listing_add_path(context, url, false, e);
}

/* Adds a URL without patterns: an object, or all objects below a prefix that ends with a slash. */
static int listing_add_plain_url(struct listing *l, const char *url, struct bl_error *e)
{
    const char *bucket = strstr(url, "://") + 3;
    if (!l->remote)
        return bl_error_set(e, BL_EUSAGE, "%s is a URL, and here inputs are local files", url);
    bool is_object = strncasecmp(url, "http", 4) == 0 || (url[strlen(url) - 1] != '/' && strchr(bucket, '/'));
    if (is_object)
        return listing_add_object(l, url, e);
    size_t first = l->walk.files->count;
    int code = bl_urls_add_below(&l->walk, l->remote, url, e);
    listing_note_source(l, first);
    return code;
}

/* Adds a URL, which may be a pattern. "?" begins the query of a web server's URL, and is no pattern. */
static int listing_add_url(struct listing *l, const char *url, struct bl_error *e)
{
    size_t first = l->walk.files->count;
    if (!l->remote || strncasecmp(url, "http", 4) == 0 || !strpbrk(url, "*?["))
        return listing_add_plain_url(l, url, e);
    int code = bl_urls_add_matches(&l->walk, l->remote, url, listing_add_matched, l, e);
    listing_note_source(l, first);
    return code;
}

/* Names that braces gave: all of them, and those that are no patterns. */
struct expanded {
    struct bl_buffer all, plain;
};

/* Keeps a name: a callback of bl_braces_expand. */
static int expanded_keep(void *context, const char *name, struct bl_error *e)
{
    struct expanded *names = context;
    bl_buffer_append(&names->all, name, strlen(name) + 1);
    if (strncasecmp(name, "http", 4) == 0 || !strpbrk(name, "*?["))
        bl_buffer_append(&names->plain, name, strlen(name) + 1);
    BL_TRY(bl_buffer_check(&names->plain, e));
    return bl_buffer_check(&names->all, e);
}

/* Adds the URLs that braces give. */
static int listing_add_url_braces(struct listing *l, const char *url, struct bl_error *e)
{
    struct expanded names = {0};
    int code = bl_braces_expand(url, expanded_keep, &names, e);
    if (!code && l->remote)
        code = bl_remote_files_lookup(l->remote, &names.plain, e);
    for (size_t at = 0; at < names.all.size && !code; at += strlen(names.all.data + at) + 1)
        code = listing_add_url(l, names.all.data + at, e);
    bl_buffer_free(&names.all);
    bl_buffer_free(&names.plain);
    return code;
}

/* --- lists ------------------------------------------------------------------------------------------------------ */

#define BATCH 10000                    /* names that are looked for together, */
#define BATCH_BYTES ((size_t)16 << 20) /* in so many bytes, or one more name */

/* Names of a list that are added together. */
struct batch {
    struct bl_buffer names; /* each with a NUL after it; those of a list from afar are complete URLs */
    int line[BATCH];
    int count;
};

/* Reads names of the list until the batch is full. *end: there are no more. Messages about URLs name the line. */
static int batch_read(struct batch *b, struct bl_name_list *list, bool *end, struct bl_error *e)
{
    char *name;
    bl_buffer_clear(&b->names);
    b->count = 0;
    *end = false;
    while (b->count < BATCH && b->names.size < BATCH_BYTES) {
        BL_TRY(bl_name_list_next(list, &name, &b->line[b->count], e));
        *end = !name;
        if (!name)
            break;
        const size_t begin = b->names.size;
        int code = list->is_far ? bl_url_resolve(&b->names, list->shown, name, e) : BL_OK;
        if (code) {
            b->names.size = begin;
            bl_error_prefix(e, "%s:%d", list->shown, b->line[b->count]);
            return code;
        }
        bl_buffer_append(&b->names, list->is_far ? "" : name, list->is_far ? 1 : strlen(name) + 1);
        BL_TRY(bl_buffer_check(&b->names, e));
        b->count++;
    }
    return BL_OK;
}

/* Adds the names of a batch, which are URLs or files. */
static int listing_add_batch(struct listing *l, const struct batch *b, const struct bl_name_list *list,
                             struct bl_error *e)
{
    const char *name = b->names.data;
    int code = l->remote && b->count ? bl_remote_files_lookup(l->remote, &b->names, e) : BL_OK;
    for (int i = 0; i < b->count && !code; i++, name += strlen(name) + 1) {
        bool is_far = list->is_far || bl_far_is(name);
        l->line = b->line[i];
        code = is_far ? listing_add_plain_url(l, name, e) : listing_add_path(l, name, false, e);
        if (code && is_far && code != BL_ECANCEL)
            bl_error_prefix(e, "%s:%d", list->shown, l->line);
    }
    l->line = 0;
    return code;
}

/* Adds the names of "@list"; path: "-" for standard input. BL_EFAIL: the file is no list. */
static int listing_add_list(struct listing *l, const char *path, struct bl_error *e)
{
    struct bl_name_list list;
    struct bl_remote_object object;
    struct bl_error fault = {0};
    struct stat status;
    bool there = true, end = false;
    if (bl_far_is(path) && !l->remote)
        return bl_error_set(e, BL_EUSAGE, "%s is a URL, and here lists are local files", path);
    if (bl_far_is(path))
        BL_TRY(bl_remote_files_find(l->remote, path, &object, e));
    else if (strcmp(path, "-") != 0)
        BL_TRY(bl_walk_stat(&l->walk, path, &status, &there, e));
    if (!there)
        return bl_error_errno(e, BL_EUSAGE, "cannot open the list %s", path);
    BL_TRY(bl_name_list_open(&list, l->walk.base, path, e));
    struct batch *batch = calloc(1, sizeof *batch);
    int code = batch ? BL_OK : bl_error_memory(e);
    /* What is wrong with an earlier line is said first. */
    for (int broken = 0; !code && !broken && !end;) {
        broken = batch_read(batch, &list, &end, &fault);
        code = listing_add_batch(l, batch, &list, e);
        if (!code && broken)
            code = bl_error_pass(e, broken, &fault);
    }
    if (batch)
        bl_buffer_free(&batch->names);
    free(batch);
    bl_name_list_close(&list);
    return code;
}

/* Adds the names that a pattern matches. BL_EUSAGE: there are none, not even folders that cannot be read. */
static int listing_add_glob(struct listing *l, const char *pattern, struct bl_error *e)
{
    struct bl_buffer names = {0};
    /* Folders that cannot be read become inputs: a pattern that adds only those is no error. */
    size_t unreadable = l->walk.files->count;
    l->walk.whole_ids = bl_globs_descend(pattern); /* folders of several depths may have files of the same name */
    int code = bl_globs_expand(&l->walk, pattern, &names, e);
    if (!code && !names.size && l->walk.files->count == unreadable)
        code = bl_error_set(e, BL_EUSAGE, "%s matches no file", pattern);
    for (size_t at = 0; at < names.size && !code; at += strlen(names.data + at) + 1)
        code = listing_add_path(l, names.data + at, false, e);
    l->walk.whole_ids = false;
    bl_buffer_free(&names);
    return code;
}

/* Adds a name that braces gave, which may be a glob itself: a callback of bl_braces_expand. */
static int listing_add_expanded(void *context, const char *name, struct bl_error *e)
{
    struct listing *l = context;
    return strpbrk(name, "*?[") ? listing_add_glob(l, name, e) : listing_add_path(l, name, true, e);
}

/* Adds one source by the first rule that fits its name. */
static int listing_add_source(struct listing *l, const struct bl_source *source, struct bl_error *e)
{
    const char *path = source->path;
    struct stat status;
    if (!*path)
        return bl_error_set(e, BL_EUSAGE, "a source with an empty name");
    if (path[0] == '@')
        return listing_add_list(l, path + 1, e);
    if (bl_far_is(path))
        return bl_braces_are_in(path) ? listing_add_url_braces(l, path, e) : listing_add_url(l, path, e);
    /* A file may be called "what?.mp4": only a name that does not exist is a pattern. */
    bool there = true, braces = bl_braces_are_in(path);
    BL_TRY(braces || strpbrk(path, "*?[") ? bl_walk_stat(&l->walk, path, &status, &there, e) : BL_OK);
    if (there)
        return listing_add_path(l, path, true, e);
    return braces ? bl_braces_expand(path, listing_add_expanded, l, e) : listing_add_glob(l, path, e);
}

/* --- ids -------------------------------------------------------------------------------------------------------- */

/* Orders inputs by their paths, in natural order: "a2" before "a10". The order decides the bytes of the dataset. */
static int file_compare_paths(const void *a, const void *b)
{
    return bl_text_natural(((const struct bl_file *)a)->path, ((const struct bl_file *)b)->path);
}

/* Orders inputs by id, then by source and line, so that the message names the earlier place first. */
static int file_compare_ids(const void *a, const void *b)
{
    const struct bl_file *x = *(const struct bl_file *const *)a, *y = *(const struct bl_file *const *)b;
    int order = strcmp(x->id, y->id);
    return order ? order : x->source != y->source ? (int)x->source - (int)y->source : x->line - y->line;
}

/* " (LIST:LINE)", where the name was read in a file. */
static void file_print_place(struct bl_buffer *text, const struct bl_sources *sources, const struct bl_file *file)
{
    const struct bl_source *source = &sources->source[file->source];
    if (file->line)
        bl_buffer_printf(text, " (%s:%d)", strcmp(source->path, "@-") == 0 ? "standard input" : source->path + 1,
                         file->line);
    else if (source->line)
        bl_buffer_printf(text, " (%s:%" PRId64 ")", sources->file, source->line);
}

/* Checks that no two inputs have the same id. Both are named, with the lines of the lists that name them. */
static int files_check_ids(const struct bl_files *files, const struct bl_sources *sources, struct bl_error *e)
{
    const struct bl_file **order = malloc((files->count + 1) * sizeof *order);
    if (!order)
        return bl_error_memory(e);
    for (size_t i = 0; i < files->count; i++)
        order[i] = &files->file[i];
    qsort(order, files->count, sizeof *order, file_compare_ids);
    int code = BL_OK;
    for (size_t i = 1; i < files->count && !code; i++) {
        const struct bl_file *a = order[i - 1], *b = order[i];
        if (strcmp(b->id, a->id) != 0)
            continue;
        struct bl_buffer one = {0}, two = {0};
        bl_buffer_text(&one, a->path);
        file_print_place(&one, sources, a);
        bl_buffer_text(&two, b->path);
        file_print_place(&two, sources, b);
        code = one.failed || two.failed ? bl_error_memory(e) : BL_OK;
        if (!code)
            code = bl_error_set(
                e, BL_EUSAGE, "two inputs have the id \"%s\": %s and %s (%s)", a->id, one.data, two.data,
                strcmp(a->path, b->path) == 0 ? "the same file: name it once" : "name a folder above both");
        bl_buffer_free(&one);
        bl_buffer_free(&two);
    }
    free(order);
    return code;
}

/* Checks that only one list or input is standard input. */
static int files_check_stdin(const struct bl_files *files, const struct bl_sources *sources, struct bl_error *e)
{
    int lists = 0;
    bool named = false;
    for (int s = 0; s < sources->count; s++)
        lists += strcmp(sources->source[s].path, "@-") == 0;
    for (size_t i = 0; i < files->count && lists; i++)
        named |= strcmp(files->file[i].path, "-") == 0;
    return lists + named < 2 ? BL_OK : bl_error_set(e, BL_EUSAGE, "standard input is one list (@-) or one input (-)");
}

/* Checks that no object is taken for a folder. */
static int files_check_urls(const struct bl_files *files, struct bl_error *e)
{
    for (size_t i = 0; i < files->count && files->kind->scan->stat_folder; i++) {
        if (!files->file[i].folder && bl_far_is(files->file[i].path) && !bl_file_is_list(&files->file[i], files->kind))
            return bl_error_set(e, BL_EUSAGE,
                                "%s: sequences of the kind %s are folders: name the folder, with a slash at its end",
                                files->file[i].path, files->kind->name);
    }
    return BL_OK;
}

static int ignored_compare(const void *a, const void *b)
{
    return strcmp(((const struct bl_ignored *)a)->extension, ((const struct bl_ignored *)b)->extension);
}

/* Makes the list; the caller frees it with bl_files_free, after success only. BL_EUSAGE: a source is wrong. */
int bl_sources_list(struct bl_files *files, const struct bl_sources *sources, struct bl_error *e)
{
    *files = (struct bl_files){0};
    struct listing l = {
        .walk = {.files = files, .base = sources->base}, .implied = sources->implied, .remote = sources->remote};
    int code = BL_OK;
    for (l.source = 0; l.source < sources->count && !code; l.source++) {
        const struct bl_source *source = &sources->source[l.source];
        l.walk.kind = source->kind ? source->kind : sources->kind;
        l.walk.names = l.walk.kind == sources->kind ? sources->names : NULL;
        code = listing_add_source(&l, source, e);
    }
    const struct bl_samples_options samples = {.member = sources->member,
                                               .kind = sources->kind,
                                               .kept = sources->kept,
                                               .base = sources->base,
                                               .workers = sources->workers ? sources->workers : 1,
                                               .cancel = sources->cancel,
                                               .sharing = sources->sharing};
    if (!code)
        code = bl_samples_expand(files, &samples, e);
    if (!code && sources->configs)
        code = bl_containers_expand(files, sources->configs, sources->base, sources->cancel, e);
    if (code)
        goto out;
    /* Sorting makes the order independent of the order of the sources. */
    if (files->count)
        qsort(files->file, files->count, sizeof *files->file, file_compare_paths);
    qsort(files->ignored, (size_t)files->ignored_count, sizeof *files->ignored, ignored_compare);
    code = files_check_stdin(files, sources, e);
    if (code)
        goto out;
    code = files_resolve_kind(files, e);
    for (size_t i = 0; i < files->count && !code && !files->kind->reads_stdin && !bl_kind_is_list(files->kind, "-");
         i++) {
        if (strcmp(files->file[i].path, "-") == 0)
            code =
                bl_error_set(e, BL_EUSAGE, "-: the kind %s cannot be read from standard input (a list of paths is @-)",
                             files->kind->name);
    }
    if (!code)
        code = files_check_urls(files, e);
    if (!code)
        code = files_check_ids(files, sources, e);
out:
    if (code)
        bl_files_free(files);
    return code;
}
