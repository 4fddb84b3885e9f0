#include "plan/subproblem.h"

#include <stdlib.h>
#include <string.h>

/* Sorts the pieces by group with a counting sort. begin: [groups+1] where each group begins in member[]. */
static int subproblems_sort_members(struct bl_subproblems *s, const struct bl_pieces *pieces, size_t groups,
                                    size_t *begin, struct bl_error *e)
{
    const struct bl_lengths *all = &pieces->lengths;
    s->member = malloc((all->count + 1) * sizeof *s->member);
    if (!s->member)
        return bl_error_memory(e);
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            begin[bl_pieces_group(pieces, i) + 1]++;
    for (size_t g = 0; g < groups; g++)
        begin[g + 1] += begin[g];
    for (size_t i = 0; i < all->count; i++)
        if (bl_lengths_has(all, i))
            s->member[begin[bl_pieces_group(pieces, i)]++] = (uint32_t)i;
    memmove(begin + 1, begin, groups * sizeof *begin);
    begin[0] = 0;
    return BL_OK;
}

int bl_subproblems_make(struct bl_subproblems *s, const struct bl_pieces *pieces, bool split, struct bl_error *e)
{
    size_t groups = 1;
    for (size_t i = 0; split && i < pieces->lengths.count; i++)
        groups = bl_pieces_group(pieces, i) >= groups ? (size_t)bl_pieces_group(pieces, i) + 1 : groups;
    size_t *begin = calloc(groups + 1, sizeof *begin);
    *s = (struct bl_subproblems){.each = calloc(groups, sizeof *s->each)};
    int code = begin && s->each ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    if (!split) {
        s->each[s->count++].lengths = pieces->lengths;
        goto out;
    }
    code = subproblems_sort_members(s, pieces, groups, begin, e);
    for (size_t g = 0; !code && g < groups; g++) {
        if (begin[g] == begin[g + 1])
            continue;
        struct bl_lengths *lengths = &s->each[s->count++].lengths;
        *lengths = pieces->lengths;
        lengths->index = s->member + begin[g];
        lengths->count = begin[g + 1] - begin[g];
    }
out:
    free(begin);
    return code;
}

void bl_subproblem_free(struct bl_subproblem *s)
{
    bl_histogram_free(&s->h);
    bl_patterns_free(&s->patterns);
    bl_draft_free(&s->kept);
}

void bl_subproblems_free(struct bl_subproblems *s)
{
    for (size_t i = 0; i < s->count; i++)
        bl_subproblem_free(&s->each[i]);
    free(s->each);
    free(s->member);
    *s = (struct bl_subproblems){0};
}
