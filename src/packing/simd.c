/* The SIMD level of the run: given, or that of the dataset in the directory, or the best of this machine. */
#include "kind/media/module.h"
#include "packing/internal.h"

/* Reads the level of the dataset in the directory, finished or not; *level stays unchanged if there is none. */
static int simd_recorded(const struct bl_packing *p, enum bl_simd *level, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    int code = BL_OK;
    if (bl_manifest_read(&m, p->request.output, &none) == BL_OK)
        bl_buffer_text(&name, m.simd);
    else
        code = bl_state_recorded(p->request.output, "simd", &name, e);
    if (!code && name.size)
        code = bl_simd_parse(name.data, level, e);
    bl_manifest_free(&m);
    bl_buffer_free(&name);
    return code;
}

/* The identity of the dataset contains the level, not how it was chosen. */
static int simd_use(struct bl_packing *p, enum bl_simd level, struct bl_error *e)
{
    p->env.simd = level;
    p->request.options->simd = (int)level + 1;
    return bl_media_set_simd(level, e);
}

int bl_packing_choose_simd(struct bl_packing *p, struct bl_error *e)
{
    enum bl_simd level = bl_simd_best();
    p->simd_unset = !p->request.options->simd;
    if (!p->simd_unset)
        return simd_use(p, (enum bl_simd)(p->request.options->simd - 1), e);
    int code = simd_recorded(p, &level, e);
    return code ? code : simd_use(p, level, e);
}

int bl_packing_follow_simd(struct bl_packing *p, bool *changed, struct bl_error *e)
{
    enum bl_simd level = p->env.simd;
    int code = p->simd_unset ? simd_recorded(p, &level, e) : BL_OK;
    *changed = !code && level != p->env.simd;
    return *changed ? simd_use(p, level, e) : code;
}
