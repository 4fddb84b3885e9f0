#include <string.h>

#include "base/shared_memory.h"
#include "doctor/doctor.h"
#include "kind/isolated/isolation.h"

#define SHARED_SIZE ((size_t)4 << 20) /* bytes: a small block */

static void sandbox_try_memory(struct bl_findings *f)
{
    struct bl_shared_memory memory;
    struct bl_error e = {0};
    if (bl_shared_memory_make(&memory, SHARED_SIZE, &e)) {
        bl_findings_add(f, BL_VERDICT_FAULT, "shared memory", "%s: blocks are assembled in it (memfd_create)", e.text);
        return;
    }
    memset(memory.data, 1, memory.size);
    bl_shared_memory_free(&memory);
    bl_findings_add(f, BL_VERDICT_OK, "shared memory", "memfd");
}

void bl_doctor_sandbox(struct bl_findings *f)
{
    struct bl_error e = {0};
    bool filtered;
    f->group = "sandbox";
    sandbox_try_memory(f);
    if (bl_isolation_try(&filtered, &e)) {
        bl_findings_add(f, BL_VERDICT_FAULT, "decoder process", "%s: --isolate off decodes in one process", e.text);
        return;
    }
    bl_findings_add(f, BL_VERDICT_OK, "decoder process", "started and ended");
    if (filtered)
        bl_findings_add(f, BL_VERDICT_OK, "system calls", "filtered (seccomp): a decoder can open nothing");
    else
        bl_findings_add(f, BL_VERDICT_WARNING, "system calls",
                        "no filter (seccomp): a decoder that crashes does not end the run, but one that a file takes "
                        "over could open other files");
}
