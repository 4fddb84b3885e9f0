#include "kind/audio/elementary.h"

#include <math.h>

/* ln(m 2^k) = 2 artanh((m - 1) / (m + 1)) + k ln(2), with m between sqrt(1/2) and sqrt(2). */
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

/* A power of 2, times the Taylor series of what remains. */
double bl_elementary_exp(double x)
{
    double power = rint(x / M_LN2), rest = x - power * M_LN2, sum = 1;
    for (int k = 16; k > 0; k--)
        sum = 1 + sum * rest / k;
    return ldexp(sum, (int)power);
}

/* The cosine, 1 - x^2/2 (1 - x^2/12 (...)), with first = 0; the sine, x (1 - x^2/6 (...)), with first = 1. x is at most
 * pi / 4. */
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
