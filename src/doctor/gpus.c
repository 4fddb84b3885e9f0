#include <unistd.h>

#include "doctor/doctor.h"
#include "kind/media/module.h"

/* Whether there is hardware, so that it is worth saying what it lacks. */
static bool gpu_is_visible(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void gpus_add_codecs(struct bl_findings *f, const struct bl_media *media, struct bl_gpu *gpu)
{
    struct bl_error e = {0};
    struct bl_buffer codecs = {0};
    int code = media->gpu_append_codecs(gpu, &codecs, &e);
    f->failed |= codecs.failed;
    if (code)
        bl_findings_add(f, BL_VERDICT_WARNING, "NVDEC", "%s", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "NVDEC", "decodes %s (--decoder auto)",
                        codecs.size ? codecs.data : "nothing");
    bl_buffer_free(&codecs);
}

void bl_doctor_gpus(struct bl_findings *f)
{
    struct bl_gpu *gpu;
    struct bl_error e = {0};
    const struct bl_media *media;
    f->group = "GPU";
    if (bl_media_open(&media, &e))
        return; /* a finding among the versions */
    int version = media->gpu_version();
    if (version)
        bl_findings_add(f, BL_VERDICT_OK, "build", "with CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (media->gpu_open(&gpu, "all", &e))
        bl_findings_add(f, version && gpu_is_visible() ? BL_VERDICT_WARNING : BL_VERDICT_NOTE, "driver",
                        "%s; videos are decoded on the processor", e.text);
    else
        gpus_add_codecs(f, media, gpu);
    media->gpu_close(gpu);
}
