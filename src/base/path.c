#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *bl_path_join(const char *base, const char *path)
{
    if (!base || path[0] == '/' || strcmp(path, "-") == 0)
        return strdup(path);
    size_t size = strlen(base) + strlen(path) + 2;
    char *joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%s/%s", base, path);
    return joined;
}

void bl_path_free_all(char **paths, size_t count)
{
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
}

char *bl_path_parent(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    return size ? strndup(path, size) : strdup(".");
}

const char *bl_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t bl_path_stem(const char *path)
{
    const char *name = bl_path_name(path), *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - path) : strlen(path);
}

bool bl_path_has_suffix(const char *path, const char *suffix)
{
    size_t size = strlen(path), tail = strlen(suffix);
    return size >= tail && strcasecmp(path + size - tail, suffix) == 0;
}

bool bl_path_is_url(const char *path)
{
    size_t size = 0;
    while ((path[size] >= 'a' && path[size] <= 'z') || (path[size] >= 'A' && path[size] <= 'Z') ||
           (size && ((path[size] >= '0' && path[size] <= '9') || (path[size] && strchr("+-.", path[size])))))
        size++;
    return size > 1 && strncmp(path + size, "://", 3) == 0;
}
