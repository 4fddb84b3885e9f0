/* Expands the sources that the user named into the input files, in natural order. */
#ifndef BL_SOURCES_H
#define BL_SOURCES_H

#include "base/option.h"
#include "remote/files.h"
#include "scan/files.h"

/* One thing that the user named: a file, a folder, a glob, an @list or a URL. */
struct bl_source {
    const char *path;           /* as given */
    const struct bl_kind *kind; /* --kind of this source, or NULL */
    int64_t line;               /* of the YAML file that names it; 0: it is of the command line */
};

struct bl_sources {
    const struct bl_source *source;
    int count;
    const char *file;                  /* the YAML file that names them, or NULL */
    const char *base;                  /* directory that relative paths count from, or NULL: the working directory */
    const struct bl_kind *kind;        /* --kind of all sources, or NULL */
    const struct bl_kind *implied;     /* kind of files that are named and whose names show none; or NULL */
    const struct bl_kind_names *names; /* of that kind, by its options; or NULL */
    void *const *configs;              /* options of each kind, in the order of bl_kinds; or NULL: none expands files */
    const char *member;                /* of tars: see scan/samples.h; or NULL */
    const struct bl_texts *kept;       /* the same */
    int workers;                       /* threads that read tars; 0: one */
    struct bl_cancel *cancel;          /* or NULL: no source is a tar */
    const struct bl_sharing *sharing;  /* of tasks: see scan/samples.h; or NULL */
    struct bl_remote_files *remote;    /* opens URLs; or NULL: a URL is refused */
};

/* Refuses a file that bload does not read itself, but a Python module of its: Parquet, and files that would have to be
 * unpickled. code: of the error, which begins with prefix; operand: for the command. BL_OK: the name shows none. */
int bl_sources_refuse(const char *name, const char *operand, int code, const char *prefix, struct bl_error *e);

/* Lists the sources. Errors: BL_EUSAGE for a source that is not found, a glob that matches nothing, mixed kinds
 * (with counts) and duplicate ids (both named), compressed tars, and what samples.h says of tars; BL_EFAIL for a
 * directory that cannot be read. */
int bl_sources_list(struct bl_files *files, const struct bl_sources *sources, struct bl_error *e);

#endif
