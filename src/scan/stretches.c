#include "scan/stretches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 4096 /* in a stretch */

int bl_stretches_look(const char *path, struct bl_input *input, const char **unusable, struct bl_error *e)
{
    struct stat status;
    *unusable = NULL;
    input->bytes = input->modified = 0;
    if (strcmp(path, "-") == 0)
        return BL_OK;
    if (stat(path, &status) != 0) {
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot look at %s", path);
        *unusable = errno == ENOENT ? "dangling link, or no such file" : strerror(errno);
        return BL_OK;
    }
    if (!S_ISREG(status.st_mode))
        *unusable = "not a regular file";
    input->bytes = status.st_size;
    input->modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return BL_OK;
}

/* Takes one more file into the stretch. */
static int add(const struct bl_stretches *s, struct bl_stretch_files *out, struct bl_error *e)
{
    size_t count = (size_t)out->stretch.inputs;
    struct bl_input *input = realloc(out->input, (count + 1) * sizeof *input);
    if (!input)
        return bl_error_memory(e);
    out->stretch.input = out->input = input;
    input[count] = (struct bl_input){.path = bl_source_open_path(s->base, out->file[count].path)};
    if (!input[count].path)
        return bl_error_memory(e);
    out->stretch.inputs++;
    return BL_OK;
}

static void drop_last(struct bl_stretch_files *out)
{
    free((char *)out->input[--out->stretch.inputs].path);
}

/* Further files, as long as all of them are small enough together. One that cannot be read stands alone. */
static int add_small(struct bl_stretches *s, struct bl_stretch_files *out, struct bl_error *e)
{
    int64_t bytes = out->input[0].bytes;
    int code = BL_OK;
    while (!code && s->next < s->files->count && out->stretch.inputs < FILES_MAX) {
        const char *unusable;
        code = add(s, out, e);
        if (code)
            break;
        struct bl_input *input = &out->input[out->stretch.inputs - 1];
        code = bl_stretches_look(input->path, input, &unusable, e);
        bytes += input->bytes;
        if (code || unusable || bytes > s->kind->stretch || strcmp(input->path, "-") == 0) {
            drop_last(out);
            break;
        }
        s->next++;
    }
    return code;
}

/* The part of a large file that comes next. */
static void cut(struct bl_stretches *s, struct bl_stretch_files *out)
{
    out->stretch.begin = s->begin;
    s->begin += s->kind->stretch;
    out->last = s->begin >= out->input[0].bytes;
    if (!out->last) {
        out->stretch.end = s->begin;
        return;
    }
    s->next++;
    s->begin = 0;
}

static int fill(struct bl_stretches *s, struct bl_stretch_files *out, struct bl_error *e)
{
    const char *unusable;
    bool divisible = false;
    int code = bl_stretches_look(out->input[0].path, out->input, &unusable, e);
    out->looked = !code && !unusable;
    if (out->looked && out->input[0].bytes > s->kind->stretch && s->kind->divisible)
        code = s->kind->divisible(s->config, out->input, &divisible, e);
    if (!code && divisible) {
        cut(s, out);
        return BL_OK;
    }
    s->next++;
    return code || !out->looked || strcmp(out->input[0].path, "-") == 0 ? code : add_small(s, out, e);
}

int bl_stretches_next(struct bl_stretches *s, struct bl_stretch_files *out, struct bl_error *e)
{
    *out = (struct bl_stretch_files){.stretch = {.end = INT64_MAX}, .last = true};
    if (s->next == s->files->count)
        return 0;
    out->file = &s->files->file[s->next];
    int code = add(s, out, e);
    if (!code && s->kind->stretch)
        code = fill(s, out, e);
    else
        s->next++; /* the worker looks at it: there are file systems where that takes long */
    return code ? code : 1;
}

void bl_stretch_files_free(struct bl_stretch_files *files)
{
    while (files->stretch.inputs)
        drop_last(files);
    free(files->input);
    *files = (struct bl_stretch_files){0};
}
