/* Sources: what the user named, turned into the files that are inputs, in natural order. */
#ifndef BL_SOURCES_H
#define BL_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"

/* One thing that the user named: a file, a folder, a glob or an @list. */
struct bl_source {
    const char *path;           /* as given */
    const struct bl_kind *kind; /* said for this source, or NULL */
    int64_t line;               /* of the YAML file that names it; 0: it was named on the command line */
};

struct bl_file {
    char *path;                 /* as given, with what was found below it; owned */
    const char *id;             /* path, or its part below the source folder: points into path */
    const struct bl_kind *kind; /* while the sources are listed, NULL where its name does not tell */
    int line;                   /* of the list that its source is; 0: it is none */
    unsigned source : 31;       /* by which it was found */
    unsigned found : 1;         /* in a folder, by its extension */
};

struct bl_ignored {
    char extension[16]; /* "txt"; "hidden", "no extension" */
    int64_t count;
};

#define BL_IGNORED_MAX 32

/* The inputs of a run. */
struct bl_files {
    struct bl_file *file;
    size_t count, capacity;
    const struct bl_kind *kind;                /* of all of them */
    struct bl_ignored ignored[BL_IGNORED_MAX]; /* files of folders that are no inputs, by extension */
    int ignored_count;
    char *empty_folder;    /* the first folder, of those that were named, without any input; or NULL */
    int64_t empty_folders; /* how many there are */
};

/* What is to be listed. */
struct bl_sources {
    const struct bl_source *source;
    int count;
    const char *file;           /* the YAML file that names them, or NULL */
    const char *base;           /* directory that relative paths count from, or NULL: the working directory */
    const struct bl_kind *kind; /* what the user said all of it is, or NULL */
};

/* Lists the sources. Errors: BL_EUSAGE for a source that is not there, a glob that matches nothing, kinds that are
 * mixed (with the counts) and ids that come twice (both named); BL_EFAIL for a directory that cannot be read. */
int bl_sources_list(struct bl_files *files, const struct bl_sources *sources, struct bl_error *e);

/* Counts a file that is no input under its extension; past the table's end under "others". */
void bl_files_ignore(struct bl_files *files, const char *name);

/* Adds a file, of which it keeps a copy of the path; its id begins at id_offset there. */
int bl_files_add(struct bl_files *files, const char *path, size_t id_offset, const struct bl_kind *kind, bool found,
                 struct bl_error *e);

/* Whether one of them is a list of inputs. */
bool bl_files_have_list(const struct bl_files *files, const struct bl_kind *kind);
void bl_files_free(struct bl_files *files);

#endif
