/* Who meets again: of the pairs of sequences that share a block in one plan, how many share one in another plan of the
 * same sequences. Pieces of cut sequences count as sequences of their own, known by their sequence and first step: two
 * pieces of one sequence are a pair, too. */
#ifndef BL_COMPANY_H
#define BL_COMPANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

struct bl_company {
    bool is_measured;
    uint64_t pairs; /* that share a block in the first plan */
    uint64_t again; /* of these, that share one in the second plan */
    double random;  /* the share expected if the second were drawn: a uniformly random partition into blocks of its
                       numbers of pieces, whatever their lengths and groups */
};

/* Returns the number of pairs that share a block. */
uint64_t bl_company_count_pairs(const struct bl_plan *plan);

/* Returns the share that meets again, 0 to 1; 0 without pairs. */
static inline double bl_company_share(const struct bl_company *company)
{
    return company->pairs ? (double)company->again / (double)company->pairs : 0;
}

/* Where the pieces of a plan lie, to compare other plans with it. */
struct bl_company_places {
    size_t count;                   /* sequences */
    uint32_t *place;                /* [count + 1] the sequence's block, or UINT32_MAX; if sequences are cut, the
                                       first of its pieces below, then the number of pieces */
    struct bl_company_piece *piece; /* by sequence, then by start; NULL if none is cut */
    uint32_t *met;                  /* [blocks] 0, except while a block is compared */
    double random;                  /* as above */
};

/* Finds the pieces of a plan of `count` sequences. 4 bytes for each sequence and block, and 16 for each piece if
 * sequences are cut; the plan is not needed afterwards. BL_EDATA: the plan has other sequences. BL_EFAIL: out of
 * memory. Free with bl_company_free_places, also after errors. */
int bl_company_find_places(struct bl_company_places *places, const struct bl_plan *plan, size_t count,
                           struct bl_error *e);
void bl_company_free_places(struct bl_company_places *places);

/* Counts the pairs of a plan, and those that share a block in the other plan. Linear in time. BL_EDATA: as above. */
int bl_company_count(struct bl_company *company, const struct bl_plan *plan, struct bl_company_places *other,
                     struct bl_error *e);

/* Both: the share of the first plan's pairs that meet again in the second. */
int bl_company_measure(struct bl_company *company, const struct bl_plan *first, const struct bl_plan *second,
                       size_t count, struct bl_error *e);

#endif
