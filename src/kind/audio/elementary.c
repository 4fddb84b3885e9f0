#include "kind/audio/elementary.h"

#include <math.h>

/* 2 artanh((m - 1) / (m + 1)), with m between sqrt(1/2) and sqrt(2), and the exponent. */
double bl_elementary_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < M_SQRT1_2) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), t = s * s, sum = 0;
    for (int k = 21; k > 0; k -= 2)
        sum = sum * t + 1.0 / k;
    return 2 * s * sum + exponent * M_LN2;
}

/* Taylor's series of what is left beside a power of 2. */
double bl_elementary_exp(double x)
{
    double power = rint(x / M_LN2), rest = x - power * M_LN2, sum = 1;
    for (int k = 16; k > 0; k--)
        sum = 1 + sum * rest / k;
    return ldexp(sum, (int)power);
}

/* 1 - x^2/2 (1 - x^2/12 (...)) from k = 0, or x (1 - x^2/6 (...)) from k = 1, for x up to a quarter of pi. */
static double cosine_series(double x, int first)
{
    double sum = 1;
    for (int k = 20 + first; k > first; k -= 2)
        sum = 1 - sum * x * x / (k * (k - 1));
    return first ? x * sum : sum;
}

double bl_elementary_cos(double turns)
{
    double part = turns - floor(turns);
    part = part > 0.5 ? 1 - part : part; /* the cosine is even */
    double sign = part > 0.25 ? -1 : 1;
    part = part > 0.25 ? 0.5 - part : part;
    return sign * (part > 0.125 ? cosine_series(2 * M_PI * (0.25 - part), 1) : cosine_series(2 * M_PI * part, 0));
}
