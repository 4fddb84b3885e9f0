#include "remote/claim.h"

#include "unit.h"

UNIT_TEST(a_claim_is_read_as_it_was_written)
{
    static const enum bl_claim_state states[] = {BL_CLAIM_HELD, BL_CLAIM_FREE, BL_CLAIM_DONE};
    for (size_t i = 0; i < COUNT(states); i++) {
        struct bl_claim claim, same, other;
        struct bl_buffer text OWNED(bl_buffer_free) = {0};
        ck_assert_int_eq(bl_claim_init(&claim, states[i], 45, &e), BL_OK);
        ck_assert_int_eq(bl_claim_init(&other, states[i], 45, &e), BL_OK);
        ck_assert(memcmp(claim.random, other.random, sizeof claim.random) != 0);
        bl_claim_format(&claim, &text);
        ck_assert_int_eq(bl_claim_parse(&same, text.data, text.size, &e), BL_OK);
        ck_assert_int_eq(same.state, states[i]);
        ck_assert_str_eq(same.host, claim.host);
        ck_assert_int_eq(same.process, getpid());
        ck_assert_int_eq(same.lease, 45);
        ck_assert_int_eq(text.size == BL_CLAIM_DONE_BYTES, states[i] == BL_CLAIM_DONE);
    }
}

/* A list tells by its size whether a claim is done: also with the longest values. */
UNIT_TEST(only_claims_that_are_done_have_their_size)
{
    struct bl_claim claim = {.process = INT64_MAX, .lease = BL_LEASE_MAX};
    struct bl_buffer text OWNED(bl_buffer_free) = {0};
    memset(claim.host, 'h', sizeof claim.host - 1);
    bl_claim_format(&claim, &text);
    ck_assert_uint_lt(text.size, BL_CLAIM_DONE_BYTES);
    bl_buffer_clear(&text);
    claim.state = BL_CLAIM_DONE;
    bl_claim_format(&claim, &text);
    ck_assert_uint_eq(text.size, BL_CLAIM_DONE_BYTES);
}

UNIT_TEST(other_texts_are_no_claims)
{
    static const char *const texts[] = {"",
                                        "hello\n",
                                        "claim: held\nhost: a\nprocess: 1\n",
                                        "claim: lent\nhost: a\nprocess: 1\nlease: 60\n",
                                        "claim: held\nhost: \nprocess: 1\nlease: 60\n",
                                        "claim: held\nhost: a b\nprocess: 1\nlease: 60\n",
                                        "claim: held\nhost: a\nprocess: 0\nlease: 60\n",
                                        "claim: held\nhost: a\nprocess: 1\nlease: 0\n",
                                        "claim: held\nhost: a\nprocess: 1\nlease: 604801\n",
                                        "claim: held\nhost: a\nprocess: 1\nlease: 60 s\n"};
    struct bl_claim claim;
    for (size_t i = 0; i < COUNT(texts); i++)
        FAILS(bl_claim_parse(&claim, texts[i], strlen(texts[i]), &e), BL_EFAIL, "it is no claim of bload");
    static const char later[] = "version: 2\nclaim: held\nhost: a\nprocess: 1\nlease: 60\nqueue: x\n";
    ck_assert_int_eq(bl_claim_parse(&claim, later, sizeof later - 1, &e), BL_OK);
}
