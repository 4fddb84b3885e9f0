#include "base/nearest.h"

#include <string.h>

#define NEAREST_MAX 48       /* characters of a word */
#define NEAREST_PREFIX_MIN 3 /* characters of a prefix that is worth a suggestion */

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Counts the edits that turn a into b, both of at most NEAREST_MAX characters: insertions, deletions, replacements and
 * swaps of neighbours, none of which touches a character twice ("optimal string alignment"). */
static int edits_count(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int rows[3][NEAREST_MAX + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a_size; i++) {
        int *spare = before;
        before = last;
        last = row;
        row = spare;
        row[0] = (int)i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = min_int(last[j - 1] + (a[i - 1] != b[j - 1]), min_int(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_int(row[j], before[j - 2] + 1);
        }
    }
    return row[b_size];
}

void bl_nearest_offer(struct bl_nearest *nearest, const char *candidate)
{
    size_t size = strlen(candidate);
    if (size > NEAREST_MAX || nearest->size > NEAREST_MAX)
        return;
    int edits = edits_count(nearest->word, nearest->size, candidate, size);
    int allowed = (int)size / 3;
    if (nearest->size >= NEAREST_PREFIX_MIN && size > nearest->size &&
        memcmp(candidate, nearest->word, nearest->size) == 0)
        edits = 1;
    if (edits <= allowed && (!nearest->best || edits < nearest->edits)) {
        nearest->best = candidate;
        nearest->edits = edits;
    }
}
