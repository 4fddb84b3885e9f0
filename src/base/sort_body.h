/* The sort of base/sort.h for one type of key. sort.c includes this file once per type; KEY is the type and NAMED(f)
 * the name of f for it. */
/* For small ranges, in which counting digits does not pay. It compares all bits of the keys. */

static void NAMED(sort_by_insertion)(KEY *key, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        KEY x = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > x; j--)
            key[j] = key[j - 1];
        key[j] = x;
    }
}

/* Sorts by the digits from `shift` down to `lowest`, one digit per recursion level. A first pass counts the keys of
 * each digit, which gives every digit a range of the array. A second pass moves each key into its range: next[d] is the
 * first place of range d that is not filled, and end[d] is behind its last place. */
static void NAMED(sort_by_digits)(KEY *key, size_t n, int shift, int lowest)
{
    if (n <= INSERTION_SORT) {
        NAMED(sort_by_insertion)(key, n);
        return;
    }
    size_t next[DIGITS] = {0}, end[DIGITS], sum = 0;
    for (size_t i = 0; i < n; i++)
        next[key[i] >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        size_t count = next[d];
        next[d] = sum;
        end[d] = sum += count;
    }
    for (int d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            size_t here = next[d];
            KEY x = key[here];
            size_t home = next[x >> shift & (DIGITS - 1)]++;
            key[here] = key[home];
            key[home] = x;
        }
    }
    for (int d = 0; d < DIGITS && shift > lowest; d++)
        NAMED(sort_by_digits)(key + (d ? end[d - 1] : 0), end[d] - (d ? end[d - 1] : 0), shift - DIGIT_BITS, lowest);
}
