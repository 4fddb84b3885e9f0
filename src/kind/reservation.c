/* The memory that one worker reserves for the input that it decodes.
 *
 * A reservation only grows while an input is decoded: a reader calls need(64 MiB) before it decodes, and grow(96 MiB)
 * if a later picture turns out to be larger. need() may wait, because the worker holds nothing at that moment; grow()
 * never waits, because two workers that both wait for each other's memory would never end. */
#include "kind/reservation.h"

#include "base/text.h"

/* Gives back what is held and wakes those that need memory. */
static void reservation_give(struct bl_reservation *r)
{
    if (r->held)
        bl_memory_budget_give(r->budget, r->held);
    r->held = 0;
}

void bl_reservation_release(struct bl_reservation *r)
{
    reservation_give(r);
    r->needed = 0;
}

/* Notes that the input needs `bytes`. Returns false if the reservation covers as much already, or if the reader's fixed
 * share (included) does. */
static bool reservation_note(struct bl_reservation *r, int64_t bytes)
{
    if (!r || bytes <= r->included || bytes <= r->needed)
        return false;
    r->needed = bytes;
    return true;
}

static int reservation_refuse(const struct bl_reservation *r, int64_t bytes, struct bl_error *e)
{
    char a[32], b[32];
    return bl_error_set(e, BL_EUSAGE, "%s of memory are needed for it: --memory is too small by %s",
                        bl_text_size(a, bytes), bl_text_size(b, bytes - r->included - r->budget->total));
}

int bl_reservation_need(struct bl_reservation *r, int64_t bytes, struct bl_error *e)
{
    if (!reservation_note(r, bytes))
        return BL_OK;
    if (r->ask)
        return r->ask(r->sink, bytes, false, e);
    /* A process that decodes has no budget: it requests memory by `ask`, or nothing is limited. */
    if (!r->budget)
        return BL_OK;
    /* The worker gives back what it holds before it waits: several that hold a part and wait for more would block. */
    reservation_give(r);
    int64_t taken = bytes - r->included;
    if (r->strict && taken > r->budget->total)
        return reservation_refuse(r, bytes, e);
    int code = bl_memory_budget_take(r->budget, &taken, r->cancel, e);
    if (!code)
        r->held = taken;
    return code;
}

int bl_reservation_require(struct bl_reservation *r, int64_t bytes, struct bl_error *e)
{
    if (r && r->budget && bytes - r->included > r->budget->total)
        return reservation_refuse(r, bytes, e);
    return bl_reservation_need(r, bytes, e);
}

int bl_reservation_grow(struct bl_reservation *r, int64_t bytes, struct bl_error *e)
{
    if (!reservation_note(r, bytes))
        return BL_OK;
    if (r->ask)
        return r->ask(r->sink, bytes, true, e);
    /* The budget may go below zero here. Other workers then wait in need() until it recovers. */
    int64_t beyond = bytes - r->included - r->held;
    if (r->budget && beyond > 0) {
        bl_memory_budget_charge(r->budget, beyond);
        r->held += beyond;
    }
    return BL_OK;
}
