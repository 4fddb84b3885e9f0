/* Synthetic lists of lengths, the same on every machine: lists KIND COUNT > FILE */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static long one(const char *kind)
{
    double length = 1;
    if (strcmp(kind, "alpaca") == 0)
        length = exp(5.0 + 0.7 * normal());
    else if (strcmp(kind, "c4") == 0)
        length = exp(5.8 + 1.1 * normal());
    else if (strcmp(kind, "heavy") == 0)
        length = 100 / pow(uniform(), 1 / 1.1);
    else
        length = 2048 * uniform();
    return length >= 2047 ? 2048 : 1 + (long)length;
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? atol(argv[2]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: lists alpaca|c4|heavy|uniform COUNT\n");
        return 2;
    }
    for (long i = 0; i < count; i++)
        printf("%ld\n", one(argv[1]));
    return 0;
}
