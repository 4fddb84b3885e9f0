/* See geometry.h. All results are integers, or doubles after one division, so that every machine gets the same
 * rectangle. */
#include "kind/video/geometry.h"

#include <math.h>
#include <string.h>

#define TAN_ONE_DEGREE 0.017455064928217585

static int geometry_check_size(const char *what, int64_t width, int64_t height, int code, struct bl_error *e)
{
    if (width < 1 || height < 1 || width > BL_SIDE_MAX || height > BL_SIDE_MAX || width * height > BL_AREA_MAX)
        return bl_error_set(e, code, "%s of %lldx%lld pixels is out of bounds (at most %d a side, %lld in all)", what,
                            (long long)width, (long long)height, BL_SIDE_MAX, (long long)BL_AREA_MAX);
    return 0;
}

/* The matrix maps the coded point (p, q) to (a p + c q, b p + d q), y downwards. We look for the signed permutation
 * that both columns point along; their scale is left to the sample aspect ratio. */
static int orientation_from_matrix(const int32_t *matrix, unsigned *orientation, struct bl_error *e)
{
    *orientation = 0;
    if (!matrix)
        return 0;
    double a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
    if (a * d - b * c == 0)
        return 0;
    if (fabs(b) <= TAN_ONE_DEGREE * fabs(a) && fabs(c) <= TAN_ONE_DEGREE * fabs(d)) {
        *orientation = (a < 0 ? BL_ORIENT_MIRROR_X : 0) | (d < 0 ? BL_ORIENT_MIRROR_Y : 0);
        return 0;
    }
    if (fabs(a) <= TAN_ONE_DEGREE * fabs(b) && fabs(d) <= TAN_ONE_DEGREE * fabs(c)) {
        *orientation = BL_ORIENT_TRANSPOSE | (c < 0 ? BL_ORIENT_MIRROR_X : 0) | (b < 0 ? BL_ORIENT_MIRROR_Y : 0);
        return 0;
    }
    double degrees = atan2(b, a) * (180 / acos(-1));
    return bl_error_set(e, BL_EDATA, "rotated by %.1f degrees: only right angles can be turned upright",
                        degrees < 0 ? degrees + 360 : degrees);
}

/* num / den rounded half up, at least 1; both are positive, num below 2^62. */
static int64_t ratio_round(int64_t num, int64_t den)
{
    int64_t rounded = (2 * num + den) / (2 * den);
    return rounded > 0 ? rounded : 1;
}

/* The upright size: the sample aspect ratio on the coded width, then the turn. */
static int geometry_set_display(struct bl_geometry *g, const struct bl_geometry_input *in, struct bl_error *e)
{
    int64_t width = in->coded_width, height = in->coded_height;
    if (in->sar_num > 0 && in->sar_den > 0)
        width = ratio_round(width * in->sar_num, in->sar_den);
    BL_TRY(geometry_check_size("a picture", width, height, BL_EDATA, e));
    int turned = g->orientation & BL_ORIENT_TRANSPOSE;
    g->display_width = (int)(turned ? height : width);
    g->display_height = (int)(turned ? width : height);
    return 0;
}

static void geometry_fit(struct bl_geometry *g, enum bl_fit fit)
{
    int64_t wide = (int64_t)g->width * g->display_height, high = (int64_t)g->height * g->display_width;
    double across = 1, down = 1; /* the visible shares of the upright picture */
    int width = g->width, height = g->height;
    if (fit == BL_FIT_CROP && wide < high)
        across = (double)wide / (double)high;
    if (fit == BL_FIT_CROP && high < wide)
        down = (double)high / (double)wide;
    if (fit == BL_FIT_PAD && high < wide)
        width = (int)ratio_round(high, g->display_height);
    if (fit == BL_FIT_PAD && wide < high)
        height = (int)ratio_round(wide, g->display_width);
    g->place_x = (g->width - width) / 2;
    g->place_y = (g->height - height) / 2;

    int turned = g->orientation & BL_ORIENT_TRANSPOSE;
    g->scaled_width = turned ? height : width;
    g->scaled_height = turned ? width : height;
    g->source_width = g->coded_width * (turned ? down : across);
    g->source_height = g->coded_height * (turned ? across : down);
    g->source_x = (g->coded_width - g->source_width) / 2;
    g->source_y = (g->coded_height - g->source_height) / 2;
}

int bl_geometry_make(struct bl_geometry *geometry, const struct bl_geometry_input *input, struct bl_error *e)
{
    memset(geometry, 0, sizeof(*geometry));
    BL_TRY(geometry_check_size("a coded picture", input->coded_width, input->coded_height, BL_EDATA, e));
    BL_TRY(orientation_from_matrix(input->matrix, &geometry->orientation, e));
    BL_TRY(geometry_set_display(geometry, input, e));
    geometry->resize = input->resize;
    geometry->coded_width = input->coded_width;
    geometry->coded_height = input->coded_height;
    int native = !input->target_width && !input->target_height;
    geometry->width = native ? geometry->display_width : input->target_width;
    geometry->height = native ? geometry->display_height : input->target_height;
    BL_TRY(geometry_check_size("a target", geometry->width, geometry->height, BL_EUSAGE, e));
    geometry_fit(geometry, input->fit);
    return BL_OK;
}

/* Transposed first, then mirrored, then placed. */
ptrdiff_t bl_geometry_place(const struct bl_geometry *g, int pixel, ptrdiff_t *step_x, ptrdiff_t *step_y)
{
    ptrdiff_t row = (ptrdiff_t)g->width * pixel, right = pixel, down = row;
    int turned = g->orientation & BL_ORIENT_TRANSPOSE;
    int upright_width = turned ? g->scaled_height : g->scaled_width;
    int upright_height = turned ? g->scaled_width : g->scaled_height;
    ptrdiff_t origin = g->place_y * row + (ptrdiff_t)g->place_x * pixel;
    if (g->orientation & BL_ORIENT_MIRROR_X) {
        origin += (ptrdiff_t)(upright_width - 1) * pixel;
        right = -pixel;
    }
    if (g->orientation & BL_ORIENT_MIRROR_Y) {
        origin += (upright_height - 1) * row;
        down = -row;
    }
    *step_x = turned ? down : right;
    *step_y = turned ? right : down;
    return origin;
}
