#include "kind/kind.h"

#include <string.h>
#include <strings.h>

#include "kind/video/video.h"

const struct bl_kind *const bl_kinds[] = {&bl_kind_video, NULL};

const struct bl_kind *bl_kind_find(const char *name)
{
    for (int i = 0; bl_kinds[i]; i++) {
        if (strcmp(bl_kinds[i]->name, name) == 0)
            return bl_kinds[i];
    }
    return NULL;
}

const struct bl_kind *bl_kind_of_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *slash = strrchr(name, '/');
    if (!dot || (slash && dot < slash))
        return NULL;
    for (int i = 0; bl_kinds[i]; i++) {
        for (const char *const *extension = bl_kinds[i]->extensions; *extension; extension++) {
            if (strcasecmp(dot + 1, *extension) == 0)
                return bl_kinds[i];
        }
    }
    return NULL;
}
