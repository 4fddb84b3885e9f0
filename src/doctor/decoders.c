#include "doctor/doctor.h"
#include "kind/media/usual_decoders.h"

void bl_doctor_decoders(struct bl_findings *f)
{
    const char *codec, *decoder;
    f->group = "decoders";
    for (int i = 0; bl_usual_decoder(i, &codec, &decoder); i++) {
        if (decoder)
            bl_findings_add(f, BL_VERDICT_OK, codec, "%s", decoder);
        else
            bl_findings_add(f, BL_VERDICT_WARNING, codec,
                            "missing: such files will be skipped; use a build of FFmpeg that decodes it");
    }
}
