#include "doctor/doctor.h"
#include "kind/media/module.h"

void bl_doctor_decoders(struct bl_findings *f)
{
    const char *codec, *decoder;
    const struct bl_media *media;
    struct bl_error e = {0};
    f->group = "decoders";
    if (bl_media_open(&media, &e))
        return; /* a finding among the versions */
    for (int i = 0; media->usual_decoder(i, &codec, &decoder); i++) {
        if (decoder)
            bl_findings_add(f, BL_VERDICT_OK, codec, "%s", decoder);
        else
            bl_findings_add(f, BL_VERDICT_WARNING, codec,
                            "missing: such files will be skipped; use a build of FFmpeg that decodes it");
    }
}
