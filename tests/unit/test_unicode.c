#include "kind/text/unicode.h"
#include "unit.h"

UNIT_TEST(well_known_code_points)
{
    static const struct {
        uint32_t point;
        unsigned has;
    } known[] = {
        {'A', BL_UPPER},       {'z', BL_LOWER},       {'7', BL_NUMBER},
        {' ', BL_SPACE},       {'\n', BL_SPACE},      {0x1c, 0}, /* Python calls it space; Unicode does not */
        {'_', BL_PUNCTUATION}, {'$', BL_SYMBOL},      {0x85, BL_SPACE},
        {0xaa, BL_MODIFIER},   {0xb2, BL_NUMBER},     {0x1c5, BL_UPPER}, /* a title-case letter */
        {0x301, BL_MARK},      {0x200b, 0},                              /* zero width space, which is none */
        {0x3000, BL_SPACE},    {0x4e00, BL_MODIFIER}, {0xd800, 0},
        {0x1f600, BL_SYMBOL},  {0x10d50, BL_UPPER}, /* Garay, new in Unicode 16 */
        {0x10ffff, 0},         {0x110000, 0},         {UINT32_MAX, 0},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_msg(bl_unicode_class(known[i].point) == known[i].has, "U+%04X has %u", (unsigned)known[i].point,
                      bl_unicode_class(known[i].point));
}

UNIT_TEST(classes_fit_together)
{
    unsigned spaces = 0;
    for (uint32_t c = 0; c < 0x110000; c++) {
        unsigned has = bl_unicode_class(c);
        if (has & (has - 1))
            ck_abort_msg("U+%04X is of two classes", (unsigned)c);
        spaces += (has & BL_SPACE) != 0;
    }
    ck_assert_uint_eq(spaces, 25); /* PropList.txt: White_Space */
}
