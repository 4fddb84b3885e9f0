#include "kind/media/module.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "bload.h"
#include "kind/media/place.h"

/* --- module ------------------------------------------------------------------------------------------------------- */

#define MODULE_PREFIX "libbload-media-"
#define MODULE_NAME MODULE_PREFIX BLOAD_VERSION ".so"

/* NULL unless the program is linked with the module. */
#pragma weak bl_media_functions

/* Roles of the process, like its standard input: the module is loaded once, and set to what the tool is set to. */
static _Atomic(const struct bl_media *) opened;
static enum bl_simd simd;
static bool simd_is_set;
static bl_opener *opener;
static void *opener_context;

/* --- place of the module ------------------------------------------------------------------------------------------ */

/* The folder of the module, absolute. False: the program cannot find out where it is itself. */
static bool module_folder(struct bl_buffer *out)
{
    char self[PATH_MAX], folder[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self);
    if (size <= 0 || size == (ssize_t)sizeof self)
        return false;
    self[size] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash)
        return false;
    *slash = '\0';
    bl_buffer_printf(out, "%s/%s", self, bl_media_place);
    if (!out->failed && realpath(out->data, folder)) { /* without "..", for messages */
        bl_buffer_clear(out);
        bl_buffer_text(out, folder);
    }
    return true;
}

/* Appends the path at which the module must be. BL_EUSAGE: it cannot be found out. */
static int module_path(struct bl_buffer *path, struct bl_error *e)
{
    if (!module_folder(path))
        return bl_error_set(e, BL_EUSAGE, "cannot find the media module: /proc/self/exe cannot be read");
    bl_buffer_text(path, "/" MODULE_NAME);
    return bl_buffer_check(path, e);
}

/* Reports that the module is not at its path: the folder has a module of another version, or none. */
static int module_report_missing(const char *path, struct bl_error *e)
{
    struct bl_buffer folder = {0}, other = {0};
    bl_buffer_printf(&folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    DIR *directory = folder.failed ? NULL : opendir(folder.data);
    const struct dirent *entry;
    while (directory && !other.size && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, MODULE_PREFIX, strlen(MODULE_PREFIX)) == 0)
            bl_buffer_text(&other, entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (other.size && !other.failed)
        bl_error_set(e, BL_EUSAGE,
                     "this bload is version %s, and its media module is of another version (%s beside %s): install "
                     "bload-media %s",
                     BLOAD_VERSION, other.data, path, BLOAD_VERSION);
    else
        bl_error_set(e, BL_EUSAGE,
                     "videos, sound and images need the media module, and there is no %s: install the package "
                     "bload-media",
                     path);
    bl_buffer_free(&folder);
    bl_buffer_free(&other);
    return BL_EUSAGE;
}

int bl_media_check(struct bl_error *e)
{
    struct bl_buffer path = {0};
    if (&bl_media_functions || atomic_load(&opened))
        return BL_OK;
    bool exists = false;
    int code = module_path(&path, e);
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && !exists)
        code = module_report_missing(path.data, e);
    bl_buffer_free(&path);
    return code;
}

void bl_media_append_place(struct bl_buffer *out)
{
    struct bl_buffer path = {0};
    struct bl_error none = {0};
    if (&bl_media_functions)
        bl_buffer_text(out, "built in");
    else if (bl_media_check(&none) || module_path(&path, &none))
        bl_buffer_text(out, "not installed");
    else
        bl_buffer_text(out, path.data);
    bl_buffer_free(&path);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Looks at version and size first: structs of another version have other members. */
static int module_take(void *library, const char *path, const struct bl_media **media, struct bl_error *e)
{
    const struct bl_media *found = dlsym(library, "bl_media_functions");
    if (!found)
        return bl_error_set(e, BL_EUSAGE, "%s is no media module of bload", path);
    if (strcmp(found->version, BLOAD_VERSION) != 0 || found->size != sizeof *found)
        return bl_error_set(e, BL_EUSAGE, "%s is of another build of bload (%s, and this is %s): install both anew",
                            path, found->version, BLOAD_VERSION);
    *media = found;
    return BL_OK;
}

/* The library stays loaded: decoders of some codecs leave threads and exit handlers behind. */
static int module_load(const struct bl_media **media, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_media_check(e);
    if (!code)
        code = module_path(&path, e);
    if (code)
        goto out;
    void *library = dlopen(path.data, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();
    code = library ? module_take(library, path.data, media, e)
                   : bl_error_set(e, BL_EFAIL, "cannot load the media module: %s", why ? why : path.data);
out:
    bl_buffer_free(&path);
    return code;
}

int bl_media_open(const struct bl_media **out, struct bl_error *e)
{
    const struct bl_media *media = atomic_load_explicit(&opened, memory_order_acquire);
    if (!media) {
        media = &bl_media_functions; /* NULL unless the module is linked in */
        if (!media)
            BL_TRY(module_load(&media, e));
        if (simd_is_set)
            BL_TRY(media->set_simd(simd, e));
        if (opener)
            media->set_opener(opener, opener_context);
        media->set_far(bl_far_get());
        atomic_store_explicit(&opened, media, memory_order_release);
    }
    *out = media;
    return BL_OK;
}

const struct bl_media *bl_media_opened(void)
{
    return atomic_load_explicit(&opened, memory_order_acquire);
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

int bl_media_set_simd(enum bl_simd level, struct bl_error *e)
{
    BL_TRY(bl_simd_check(level, e));
    simd = level;
    simd_is_set = true;
    return bl_media_opened() ? bl_media_opened()->set_simd(level, e) : BL_OK;
}

void bl_media_set_opener(bl_opener *function, void *context)
{
    opener = function;
    opener_context = context;
    bl_opener_set(function, context);
    if (bl_media_opened())
        bl_media_opened()->set_opener(function, context);
}

void bl_media_set_far(const struct bl_far_files *files)
{
    bl_far_set(files);
    if (bl_media_opened())
        bl_media_opened()->set_far(files);
}

void bl_media_set_environment(void)
{
    static const char *const names[] = {
        "SOXR_USE_SIMD",    "SOXR_USE_SIMD64",  "SOXR_MIN_DFT_SIZE", "SOXR_LARGE_DFT_SIZE", "SOXR_COEFS_SIZE",
        "SOXR_COEF_INTERP", "SOXR_NUM_THREADS", "SOXR_STRICT_BUF",   "SOXR_NOSMALLINTOPT",  "SOXR_TRACE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("SOXR_USE_SIMD32", "1", 1);
    setenv("G_SLICE", "always-malloc", 1);
}

/* --- forwarding functions ----------------------------------------------------------------------------------------- */

/* A macro for each kind of function: they differ in nothing but the kind. */

#define COUNTER(kind)                                                                                                  \
    int bl_##kind##_forward_open_counter(const void *config, const struct bl_kind_env *env,                            \
                                         struct bl_counter **counter, struct bl_error *e)                              \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.open_counter(config, env, counter, e);                                        \
    }

#define COUNT(kind)                                                                                                    \
    int bl_##kind##_forward_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,       \
                                  struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)           \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.count(config, env, counter, chunk, emit, sink, e);                            \
    }

#define SIZE(kind)                                                                                                     \
    int bl_##kind##_forward_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,          \
                                 struct bl_dimensions *size, struct bl_error *e)                                       \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.size(config, env, row, size, e);                                              \
    }

#define READER(kind)                                                                                                   \
    int bl_##kind##_forward_open_reader(const void *config, const struct bl_kind_env *env,                             \
                                        const struct bl_fields *fields, struct bl_reader **reader, struct bl_error *e) \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.open_reader(config, env, fields, reader, e);                                  \
    }

#define VERSIONS(kind)                                                                                                 \
    int bl_##kind##_forward_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit,         \
                                     void *sink, struct bl_error *e)                                                   \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        (void)env;                                                                                                     \
        if (!code)                                                                                                     \
            media->kind.versions(config, emit, sink);                                                                  \
        return code;                                                                                                   \
    }

COUNTER(video)
COUNTER(frames)
COUNTER(images)
COUNTER(audio)
COUNT(video)
COUNT(frames)
COUNT(images)
COUNT(audio)
SIZE(video)
SIZE(frames)
READER(video)
READER(frames)
READER(images)
READER(audio)
VERSIONS(video)
VERSIONS(audio)
