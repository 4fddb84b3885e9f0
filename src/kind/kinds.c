/* The list of all kinds, and the search in it.
 *
 * This is the only file that knows every kind: a new one needs a folder and a line here. The lists are X-macros, so
 * that the declaration, the address and the name of a kind come from one line and cannot disagree. */
#include "kind/kinds.h"

#include <string.h>

/* A line for each kind of sources: KIND(video) is expanded for bl_kind_video. If several kinds take an extension, the
 * first one gets the files with that extension: .npy belongs to array and to text, and array comes first. */
#define SOURCES(KIND)                                                                                                  \
    KIND(video)                                                                                                        \
    KIND(audio)                                                                                                        \
    KIND(array)                                                                                                        \
    KIND(text)                                                                                                         \
    KIND(frames)                                                                                                       \
    KIND(labels)

/* Kinds that only follow the sequences of another kind, and so are no choices of --kind. */
#define FOLLOWERS(KIND)                                                                                                \
    KIND(intervals)                                                                                                    \
    KIND(audio_per_step)

/* Kinds of fields with steps of their own (kind/own). The first one that takes the extension of a path gets it. */
#define OWN(KIND)                                                                                                      \
    KIND(array)                                                                                                        \
    KIND(text)                                                                                                         \
    KIND(images)                                                                                                       \
    KIND(video)

#define DECLARE(kind) extern const struct bl_kind bl_kind_##kind;
#define ADDRESS(kind) &bl_kind_##kind,
#define NAME(kind) #kind,

/* The files of the kinds define these structs; no header has all of them. */
SOURCES(DECLARE)
FOLLOWERS(DECLARE)
DECLARE(images)

const struct bl_kind *const bl_kinds[] = {SOURCES(ADDRESS) NULL};
const char *const bl_kind_choices[] = {"auto", SOURCES(NAME) NULL};
static const struct bl_kind *const followers[] = {FOLLOWERS(ADDRESS) NULL};
static const struct bl_kind *const own[] = {OWN(ADDRESS) NULL};

/* Arrays with an entry for each kind have BL_KINDS_MAX entries. */
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

/* Returns whether a column of the table is counted in the manifest. columns is "\tname\tname"; at stays at a tab, and
 * the name after it is compared by its full length. */
bool bl_kinds_count(const char *columns)
{
    for (int k = 0; bl_kinds[k]; k++) {
        /* A kind may add several columns, and a total without a name does not go into the manifest. */
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

/* The caller passes a kind of the list, so that the loop ends. */
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
        /* A kind with per_step_of cannot be named by a user: it is chosen by the kind of the field that it follows. */
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

const struct bl_kind *bl_kind_find_own(const char *name, const char *path)
{
    for (int k = 0; own[k]; k++) {
        if (name ? strcmp(own[k]->name, name) == 0 : path && bl_kind_has_extension(own[k], path))
            return own[k];
    }
    return NULL;
}
