/* Synthetic lists of lengths, the same on every machine: lists KIND COUNT > FILE. Tokens up to 2,048, of "longtail" up
 * to 131,072; of the kinds that begin with "s-" samples of sound at 16 kHz, up to 30 seconds, of which hardly two are
 * equally many. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 30.0 /* seconds */

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double u = uniform(), v = uniform();
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static double tokens(const char *kind)
{
    double length = 1;
    if (strcmp(kind, "alpaca") == 0)
        length = exp(5.0 + 0.7 * normal());
    else if (strcmp(kind, "c4") == 0)
        length = exp(5.8 + 1.1 * normal());
    else if (strcmp(kind, "heavy") == 0)
        length = 100 / pow(uniform(), 1 / 1.1);
    else if (strcmp(kind, "uniform") == 0)
        length = 2048 * uniform();
    else
        return -1;
    return length >= 2047 ? 2048 : 1 + floor(length);
}

static double seconds(const char *kind)
{
    if (strcmp(kind, "s-lognormal-5") == 0)
        return 5 * exp(0.5 * normal());
    if (strcmp(kind, "s-lognormal-12") == 0)
        return 12 * exp(0.5 * normal());
    if (strcmp(kind, "s-read") == 0)
        return uniform() < 2 / 3.0 ? 14.5 + normal() : 1.5 + 15 * uniform();
    if (strcmp(kind, "s-exponential") == 0)
        return 1 - 6 * log(uniform());
    if (strcmp(kind, "s-triangular") == 0)
        return 1 + 16 * sqrt(uniform());
    if (strcmp(kind, "s-normal-8") == 0)
        return 8 + 2 * normal();
    if (strcmp(kind, "s-normal-12") == 0)
        return 12 + 3 * normal();
    if (strcmp(kind, "s-even") == 0)
        return LONGEST * uniform();
    return -1;
}

/* Documents of up to 131,072 tokens, or of up to a quarter of that: most are short, and most tokens are in long ones.
 */
static double documents(const char *kind)
{
    double longest = strcmp(kind, "longtail") == 0 ? 131072 : strcmp(kind, "longtail-quarter") == 0 ? 32768 : -1;
    for (int i = 0; longest > 0 && i < 1000; i++) {
        double length = floor(exp(6.9 + 1.35 * normal()));
        if (length >= 1 && length <= longest)
            return length;
    }
    return -1;
}

/* Drawn again where it is none that can be; -1: there is no such kind. */
static double samples(const char *kind)
{
    for (int i = 0; i < 1000; i++) {
        double length = ceil(16000 * seconds(kind));
        if (length >= 1 && length <= 16000 * LONGEST)
            return length;
    }
    return -1;
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? atol(argv[2]) : 0;
    const char *kind = argc == 3 ? argv[1] : "";
    int is_sound = strncmp(kind, "s-", 2) == 0, is_long = strncmp(kind, "longtail", 8) == 0;
    for (long i = 0; i < count; i++) {
        double length = is_sound ? samples(kind) : is_long ? documents(kind) : tokens(kind);
        if (length < 0)
            count = 0;
        else
            printf("%.0f\n", length);
    }
    if (count < 1) {
        fprintf(stderr,
                "usage: lists "
                "alpaca|c4|heavy|uniform|longtail|longtail-quarter|s-lognormal-5|s-lognormal-12|s-read|s-exponential|"
                "s-triangular|s-normal-8|s-normal-12|s-even COUNT\n");
        return 2;
    }
    return 0;
}
