#include <stdlib.h>
#include <string.h>

#include "bload.h"
#include "doctor/doctor.h"
#include "kind/kinds.h"
#include "kind/simd.h"
#include "kind/text/regex.h"
#include "store/jpeg.h"
#include "store/seekable.h"

/* Several kinds may have the same libraries. */
static void versions_emit(void *sink, const char *name, const char *version)
{
    struct bl_findings *f = sink;
    for (size_t i = 0; i < f->count; i++) {
        if (f->finding[i].group == f->group && strcmp(f->finding[i].name, name) == 0)
            return;
    }
    bl_findings_add(f, BL_VERDICT_OK, name, "%s", version);
}

/* What the kind says of itself in manifests, with a config in which nothing is chosen. */
static void versions_of_kind(struct bl_findings *f, const struct bl_kind *kind)
{
    void *config = calloc(1, kind->options.config_size + 1);
    f->failed |= !config;
    if (config)
        kind->read->versions(config, versions_emit, f);
    free(config);
}

void bl_doctor_versions(struct bl_findings *f)
{
    char regex[BL_REGEX_VERSION_MAX];
    f->group = "versions";
    bl_findings_add(f, BL_VERDICT_OK, "bload", "%s, SIMD level %s", BLOAD_VERSION, bl_simd_name(bl_simd_best()));
    for (int k = 0; bl_kinds[k]; k++) {
        if (bl_kinds[k]->read->versions)
            versions_of_kind(f, bl_kinds[k]);
    }
    versions_emit(f, "pcre2", bl_regex_version(regex));
    versions_emit(f, "zstd", bl_compressor_version());
    versions_emit(f, "libjpeg-turbo", bl_jpeg_version());
}
