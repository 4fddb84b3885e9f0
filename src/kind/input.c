#include "kind/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *bl_input_path(const char *base, const char *path)
{
    if (!base || path[0] == '/' || strcmp(path, "-") == 0)
        return strdup(path);
    size_t size = strlen(base) + strlen(path) + 2;
    char *joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%s/%s", base, path);
    return joined;
}
