/* Replaces files that hold several sequences by these: "c3d.h5" with the datasets v_a/c3d and v_b/c3d becomes the
 * inputs "c3d.h5#/v_a/c3d" and "c3d.h5#/v_b/c3d". From then on they are inputs like others, each with one sequence. */
#include "scan/containers.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "kind/kinds.h"

/* The files of one kind, and what is found in them. */
struct expansion {
    struct bl_files *files;
    size_t *number; /* [count] of the file among all */
    char **path;    /* [count] to open */
    size_t count;
    bool *replaced; /* [files] */
    struct bl_buffer made, id;
};

/* Adds a sequence of a file as an input: a callback. It has what is known of the file. A file that cannot be listed to
 * its end stays an input, too, with that fault. */
static int expansion_take(void *sink, size_t file, const char *name, const char *fault, struct bl_error *e)
{
    struct expansion *x = sink;
    struct bl_files *files = x->files;
    size_t number = x->number[file];
    if (!name) {
        x->replaced[number] = false;
        return bl_files_set_fault(files, number, fault, e);
    }
    bl_buffer_clear(&x->made);
    bl_buffer_clear(&x->id);
    bl_buffer_printf(&x->made, "%s#/%s", files->file[number].path, name);
    bl_buffer_printf(&x->id, "%s#/%s", files->file[number].id, name);
    BL_TRY(bl_buffer_check(&x->made, e));
    BL_TRY(bl_buffer_check(&x->id, e));
    BL_TRY(bl_files_add_named(files, x->made.data, x->id.data, files->file[number].kind, NULL, e));
    const struct bl_file *from = &files->file[number];
    struct bl_file *made = &files->file[files->count - 1];
    made->line = from->line;
    made->source = from->source;
    made->found = from->found;
    x->replaced[number] = true;
    return BL_OK;
}

/* Removes the files that were replaced, of the first `count`. The others keep their order. */
static void expansion_finish(struct expansion *x, size_t count)
{
    struct bl_files *files = x->files;
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (i < count && x->replaced[i])
            free(files->file[i].path); /* which owns all texts of the file */
        else
            files->file[kept++] = files->file[i];
    }
    files->count = kept;
}

/* Expands the files of one kind. */
static int containers_expand_kind(struct expansion *x, const struct bl_kind *kind, void *config, const char *base,
                                  const struct bl_cancel *cancel, struct bl_error *e)
{
    size_t count = x->files->count;
    int code = BL_OK;
    x->count = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const struct bl_file *file = &x->files->file[i];
        if (file->kind != kind || file->fault)
            continue;
        x->number[x->count] = i;
        x->path[x->count] = bl_path_join(base, file->path);
        code = x->path[x->count] ? BL_OK : bl_error_memory(e);
        x->count += !code;
    }
    if (!code && x->count)
        code = kind->scan->expand(config, (const char *const *)x->path, x->count, cancel, expansion_take, x, e);
    for (size_t i = 0; i < x->count; i++)
        free(x->path[i]);
    expansion_finish(x, count);
    return code;
}

int bl_containers_expand(struct bl_files *files, void *const *configs, const char *base, const struct bl_cancel *cancel,
                         struct bl_error *e)
{
    int code = BL_OK;
    for (int k = 0; bl_kinds[k] && !code; k++) {
        if (!bl_kinds[k]->scan->expand || !files->count)
            continue;
        struct expansion x = {.files = files,
                              .number = calloc(files->count, sizeof *x.number),
                              .path = calloc(files->count, sizeof *x.path),
                              .replaced = calloc(files->count, sizeof *x.replaced)};
        code = x.number && x.path && x.replaced ? containers_expand_kind(&x, bl_kinds[k], configs[k], base, cancel, e)
                                                : bl_error_memory(e);
        free(x.number);
        free(x.path);
        free(x.replaced);
        bl_buffer_free(&x.made);
        bl_buffer_free(&x.id);
    }
    return code;
}
