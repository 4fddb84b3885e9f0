/* Computes geometries; geometry.h explains the steps. All results are integers, or doubles after one division, so that
 * every machine gets the same rectangle. */
#include "kind/video/geometry.h"

#include <math.h>
#include <string.h>

#define TAN_ONE_DEGREE 0.017455064928217585 /* rotations may be off a right angle by as much */

/* Returns code, with a message about `what`, if a size is out of bounds. */
static int geometry_check_size(const char *what, int64_t width, int64_t height, int code, struct bl_error *e)
{
    if (width < 1 || height < 1 || width > BL_SIDE_MAX || height > BL_SIDE_MAX || width * height > BL_AREA_MAX)
        return bl_error_set(e, code, "%s of %lldx%lld pixels is out of bounds (at most %d a side, %lld in all)", what,
                            (long long)width, (long long)height, BL_SIDE_MAX, (long long)BL_AREA_MAX);
    return BL_OK;
}

/* Finds the orientation that a display matrix describes. The matrix maps the coded point (p, q) to (a p + c q, b p +
 * d q), y downwards. We look for the signed permutation that both columns point along; the sample aspect ratio decides
 * about their scale. */
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

/* Returns num / den rounded, halves up, and at least 1; both are positive, num below 2^62. */
static int64_t ratio_round(int64_t num, int64_t den)
{
    int64_t rounded = (2 * num + den) / (2 * den);
    return rounded > 0 ? rounded : 1;
}

/* Fits the upright picture into the target: sets the part that is scaled, its scaled size, and its place. wide < high
 * means that the picture is wider in shape than the target. */
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
    struct bl_geometry *g = geometry;
    int64_t width = input->coded_width, height = input->coded_height;
    memset(g, 0, sizeof(*g));
    BL_TRY(geometry_check_size("a coded picture", width, height, BL_EDATA, e));
    BL_TRY(orientation_from_matrix(input->matrix, &g->orientation, e));
    if (input->sar_num > 0 && input->sar_den > 0)
        width = ratio_round(width * input->sar_num, input->sar_den);
    BL_TRY(geometry_check_size("a picture", width, height, BL_EDATA, e));
    int turned = g->orientation & BL_ORIENT_TRANSPOSE;
    g->display_width = (int)(turned ? height : width);
    g->display_height = (int)(turned ? width : height);
    g->resize = input->resize;
    g->coded_width = input->coded_width;
    g->coded_height = input->coded_height;
    int native = !input->target_width && !input->target_height;
    g->width = native ? g->display_width : input->target_width;
    g->height = native ? g->display_height : input->target_height;
    BL_TRY(geometry_check_size("a target", g->width, g->height, BL_EUSAGE, e));
    geometry_fit(g, input->fit);
    return BL_OK;
}

/* The scaled picture is transposed first, then mirrored, then placed. */
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
