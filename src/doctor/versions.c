#include <stdlib.h>
#include <string.h>

#include "bload.h"
#include "doctor/doctor.h"
#include "kind/kinds.h"
#include "kind/media/module.h"
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
    struct bl_error e = {0}; /* of a media module that is not there, which is a finding already */
    f->failed |= !config;
    if (config)
        (void)kind->read->versions(config, NULL, versions_emit, f, &e);
    free(config);
}

static void versions_add_media(struct bl_findings *f)
{
    const struct bl_media *media;
    struct bl_error e = {0};
    struct bl_buffer place = {0};
    bl_media_append_place(&place);
    f->failed |= place.failed;
    if (bl_media_open(&media, &e))
        bl_findings_add(f, BL_VERDICT_WARNING, "media module", "%s; text and arrays need none", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "media module", "%s", place.failed ? "" : place.data);
    bl_buffer_free(&place);
}

void bl_doctor_versions(struct bl_findings *f)
{
    char regex[BL_REGEX_VERSION_MAX];
    f->group = "versions";
    bl_findings_add(f, BL_VERDICT_OK, "bload", "%s, SIMD level %s", BLOAD_VERSION, bl_simd_name(bl_simd_best()));
    versions_add_media(f);
    for (int k = 0; bl_kinds[k]; k++) {
        if (bl_kinds[k]->read->versions)
            versions_of_kind(f, bl_kinds[k]);
    }
    versions_emit(f, "pcre2", bl_regex_version(regex));
    versions_emit(f, "zstd", bl_compressor_version());
    versions_emit(f, "libjpeg-turbo", bl_jpeg_version());
}
