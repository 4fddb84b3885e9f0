/* The one place that knows every kind. */
#include "kind/kinds.h"

#include <string.h>

/* A line for each kind: KIND(video) stands for bl_kind_video. Where several take an extension, the first gets files of
 * that name. */
#define SOURCES(KIND)                                                                                                  \
    KIND(video)                                                                                                        \
    KIND(audio)                                                                                                        \
    KIND(array)                                                                                                        \
    KIND(text)                                                                                                         \
    KIND(frames)                                                                                                       \
    KIND(labels)

/* Those that only follow others. */
#define FOLLOWERS(KIND)                                                                                                \
    KIND(intervals)                                                                                                    \
    KIND(audio_per_step)

#define DECLARE(kind) extern const struct bl_kind bl_kind_##kind;
#define ADDRESS(kind) &bl_kind_##kind,
#define NAME(kind) #kind,

SOURCES(DECLARE)
FOLLOWERS(DECLARE)

const struct bl_kind *const bl_kinds[] = {SOURCES(ADDRESS) NULL};
const char *const bl_kind_choices[] = {"auto", SOURCES(NAME) NULL};
static const struct bl_kind *const followers[] = {FOLLOWERS(ADDRESS) NULL};

_Static_assert(sizeof bl_kinds / sizeof *bl_kinds <= BL_KINDS_MAX, "raise BL_KINDS_MAX");

const struct bl_kind *bl_kind_find(const char *name)
{
    for (int k = 0; bl_kinds[k]; k++) {
        if (strcmp(bl_kinds[k]->name, name) == 0)
            return bl_kinds[k];
    }
    return NULL;
}

const struct bl_kind *bl_kind_find_by_file(const char *name)
{
    for (int k = 0; bl_kinds[k]; k++) {
        if (!bl_kinds[k]->scan->stat_folder && bl_kind_has_extension(bl_kinds[k], name))
            return bl_kinds[k];
    }
    return NULL;
}

bool bl_kinds_count(const char *columns)
{
    for (int k = 0; bl_kinds[k]; k++) {
        const struct bl_total *total = bl_kinds[k]->scan->totals;
        for (int t = 0; total && total[t].column; t++) {
            size_t size = strlen(total[t].column);
            for (const char *at = columns; total[t].name && (at = strchr(at, '\t')); at++) {
                if (strcspn(at + 1, "\t") == size && memcmp(at + 1, total[t].column, size) == 0)
                    return true;
            }
        }
    }
    return false;
}

int bl_kind_index(const struct bl_kind *kind)
{
    int k = 0;
    while (bl_kinds[k] != kind)
        k++;
    return k;
}

const struct bl_kind *bl_kind_find_follower(const char *name)
{
    for (int k = 0; followers[k]; k++) {
        if (!followers[k]->follow->per_step_of && strcmp(followers[k]->name, name) == 0)
            return followers[k];
    }
    return NULL;
}

const struct bl_kind *bl_kind_find_per_step(const struct bl_kind *kind)
{
    for (int k = 0; followers[k]; k++) {
        if (followers[k]->follow->per_step_of == kind)
            return followers[k];
    }
    return NULL;
}
