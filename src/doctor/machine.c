/* Examines the machine and the build: limits, versions, decoders, GPUs, the sandbox.
 *
 * A finding is a line of the report: the group "machine", the name "open files", the verdict "ok", and the text "at
 * most 1,048,576". No examination fails: where something cannot be examined, that is a finding, too. */
#include "doctor/machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pool/memory_budget.h"
#include "base/process.h"
#include "base/text.h"
#include "bload.h"
#include "kind/array/hdf5.h"
#include "kind/isolated/isolation.h"
#include "kind/kinds.h"
#include "kind/media/module.h"
#include "kind/media_options.h"
#include "kind/text/regex.h"
#include "remote/curl_library.h"
#include "run/machine.h"
#include "store/block.h"
#include "store/plan_info.h"
#include "store/shard_reader.h"

/* --- findings ----------------------------------------------------------------------------------------------------- */

/* A finding belongs to a group and has a verdict, and its text says what there is, or what to do. A failed allocation
 * loses a finding, and bl_findings_check reports it at the end: examinations themselves return nothing. */

void bl_findings_add(struct bl_findings *f, enum bl_verdict verdict, const char *name, const char *format, ...)
{
    struct bl_finding finding = {.group = f->group, .name = name, .verdict = verdict};
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&finding.text, format, arguments);
    va_end(arguments);
    if (size < 0) {
        f->failed = true;
        return;
    }
    /* The text belongs to the list from here on. */
    if (BL_ARRAY_RESERVE(f->finding, f->capacity, f->count + 1, NULL)) {
        f->failed = true;
        free(finding.text);
        return;
    }
    f->finding[f->count++] = finding;
}

/* Adds a number to the last finding, for the JSON report: programs read it without parsing the text. */
void bl_findings_value(struct bl_findings *f, const char *unit, int64_t value)
{
    if (f->failed || !f->count)
        return;
    f->finding[f->count - 1].unit = unit;
    f->finding[f->count - 1].value = value;
}

/* The exit status of the command follows from the number of faults. */
int64_t bl_findings_count(const struct bl_findings *f, enum bl_verdict verdict)
{
    int64_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += f->finding[i].verdict == verdict;
    return count;
}

const char *bl_verdict_name(enum bl_verdict verdict)
{
    static const char *const names[BL_VERDICTS] = {"ok", "note", "warning", "fault"};
    return names[verdict];
}

/* A finding without its text would be worse than none. */
int bl_findings_check(const struct bl_findings *f, struct bl_error *e)
{
    return f->failed ? bl_error_memory(e) : BL_OK;
}

void bl_findings_free(struct bl_findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->finding[i].text);
    free(f->finding);
    *f = (struct bl_findings){0};
}

/* The report in JSON. Texts may contain names of files, which need not be UTF-8 and are escaped. */
int bl_findings_json(const struct bl_findings *f, const char *dir, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_pack("{s:s, s:o}", "bload", BLOAD_VERSION, "directory", bl_jansson_escaped(dir));
    json_t *findings = json_array();
    bl_jansson_set(&object, "faults", json_integer(bl_findings_count(f, BL_VERDICT_FAULT)));
    bl_jansson_set(&object, "warnings", json_integer(bl_findings_count(f, BL_VERDICT_WARNING)));
    for (size_t i = 0; i < f->count; i++) {
        const struct bl_finding *finding = &f->finding[i];
        json_t *point = json_pack("{s:s, s:s, s:s, s:o}", "group", finding->group, "name", finding->name, "verdict",
                                  bl_verdict_name(finding->verdict), "text", bl_jansson_escaped(finding->text));
        bl_jansson_set(&point, "value", finding->unit ? json_integer(finding->value) : json_null());
        bl_jansson_set(&point, "unit", finding->unit ? json_string(finding->unit) : json_null());
        bl_jansson_push(&findings, point);
    }
    bl_jansson_set(&object, "findings", findings);
    return bl_jansson_append(object, out, e);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* Limits of the machine, the control group and the user, as far as runs depend on them. The figures of one worker were
 * measured: it takes four descriptors for a field that is decoded, and with less address space threads do not start. */

#define DESCRIPTORS_BASE 16                    /* of the process itself */
#define DESCRIPTORS_WORKER 4                   /* of each worker, for one field */
#define DESCRIPTORS_USUAL 1024                 /* the usual limit of a system */
#define ADDRESS_SPACE_MIN ((int64_t)256 << 20) /* bytes */
#define SHARD_SIZE ((int64_t)256 << 20)        /* bytes: the default of --shard-size */

/* Adds the number of processors that runs use, and the share of the control group if it has a limit. The share is in
 * thousandths of a processor: 1,500 is one and a half. */
static void limits_add_processors(struct bl_findings *f)
{
    int64_t usable = bl_machine_processors(), share = bl_machine_group_processors("");
    struct bl_buffer text = {0};
    /* Affinity and control groups may leave fewer processors than the machine has. */
    bl_buffer_printf(&text, "%" PRId64 " of %ld are used", usable, sysconf(_SC_NPROCESSORS_ONLN));
    if (share < INT64_MAX)
        bl_buffer_printf(&text, "; the control group has %.2f", (double)share / 1000);
    f->failed |= text.failed;
    bl_findings_add(f, BL_VERDICT_OK, "processors", "%s", text.failed ? "" : text.data);
    bl_findings_value(f, "processors", usable);
    bl_buffer_free(&text);
}

/* Adds the memory in bytes. It must suffice for one worker that decodes video, the kind with the largest readers, and
 * should suffice for as many workers as there are processors. */
static void limits_add_memory(struct bl_findings *f)
{
    char usable[32], each[32], readers[BL_PLURAL_SIZE];
    int64_t memory = bl_machine_memory(), reader = bl_kind_find("video")->read->memory;
    int64_t workers = bl_memory_for_inputs(0) / reader;
    bl_text_size(usable, memory);
    bl_text_size(each, reader);
    bl_text_plural(readers, workers, "worker");
    /* The message says whose limit it is, since users look at the machine first. */
    const char *group = bl_machine_group_memory("") == memory ? ", the limit of the control group" : "";
    if (workers < 1)
        bl_findings_add(f, BL_VERDICT_FAULT, "memory",
                        "%s%s: a worker that decodes video needs %s, and memory for its blocks: give more", usable,
                        group, each);
    else if (workers < bl_machine_processors())
        bl_findings_add(f, BL_VERDICT_NOTE, "memory",
                        "%s%s: enough for %s of %s each and their blocks, fewer than processors", usable, group,
                        readers, each);
    else
        bl_findings_add(f, BL_VERDICT_OK, "memory", "%s%s", usable, group);
    bl_findings_value(f, "bytes", memory);
}

/* Raises the limit of open files to the most that the user may have, as runs do, and adds that limit. */
static void limits_add_descriptors(struct bl_findings *f)
{
    char count[32];
    int64_t limit = bl_descriptors_raise(), workers = bl_machine_processors();
    /* The workers for which the descriptors suffice. */
    int64_t most = (limit - DESCRIPTORS_BASE) / DESCRIPTORS_WORKER;
    bl_text_count(count, limit);
    if (most < 1)
        bl_findings_add(f, BL_VERDICT_FAULT, "open files", "at most %s, too few for one worker: raise ulimit -n",
                        count);
    else if (most < workers)
        bl_findings_add(f, BL_VERDICT_FAULT, "open files",
                        "at most %s, too few for %" PRId64 " workers: raise ulimit -n, or give -j %" PRId64, count,
                        workers, most);
    else if (limit < DESCRIPTORS_USUAL)
        bl_findings_add(f, BL_VERDICT_WARNING, "open files",
                        "at most %s: with several fields a worker needs more; raise ulimit -n to %d", count,
                        DESCRIPTORS_USUAL);
    else
        bl_findings_add(f, BL_VERDICT_OK, "open files", "at most %s", count);
    bl_findings_value(f, "descriptors", limit);
}

/* Adds a limit in bytes. If it is below `wanted`, the finding has this verdict and this advice. */
static void limits_add_bytes(struct bl_findings *f, int resource, const char *name, int64_t wanted,
                             enum bl_verdict verdict, const char *advice)
{
    char size[32];
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX) {
        bl_findings_add(f, BL_VERDICT_OK, name, "not limited");
        /* INT64_MAX is large enough to count as unlimited. */
        return;
    }
    int64_t bytes = (int64_t)limit.rlim_cur;
    bl_text_size(size, bytes);
    if (bytes < wanted)
        bl_findings_add(f, verdict, name, "at most %s: %s", size, advice);
    else
        bl_findings_add(f, BL_VERDICT_OK, name, "at most %s", size);
    bl_findings_value(f, "bytes", bytes);
}

void bl_doctor_limits(struct bl_findings *f)
{
    f->group = "machine";
    limits_add_processors(f);
    limits_add_memory(f);
    /* Where control groups cannot be read, bload takes the limits of the machine for its own. */
    if (access("/proc/self/cgroup", R_OK) == 0 && access("/sys/fs/cgroup", R_OK) == 0)
        bl_findings_add(f, BL_VERDICT_OK, "control group", "can be read");
    else
        bl_findings_add(f, BL_VERDICT_WARNING, "control group",
                        "cannot be read (/proc/self/cgroup, /sys/fs/cgroup): limits of a container or job are not "
                        "seen; give -j and --memory");
    limits_add_descriptors(f);
    struct rlimit limit;
    /* Below the minimum no run works; below the memory only large runs may fail. */
    bool tiny = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < (rlim_t)ADDRESS_SPACE_MIN;
    limits_add_bytes(f, RLIMIT_AS, "address space", tiny ? ADDRESS_SPACE_MIN : bl_machine_memory(),
                     tiny ? BL_VERDICT_FAULT : BL_VERDICT_WARNING,
                     tiny ? "threads will not start: raise ulimit -v"
                          : "less than the memory that runs assume: raise ulimit -v, or give --memory");
    limits_add_bytes(f, RLIMIT_FSIZE, "file size", SHARD_SIZE, BL_VERDICT_WARNING,
                     "shards are larger: raise ulimit -f, or give a smaller --shard-size");
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

/* Adds a version, unless the group has one of this name: several kinds use the same libraries. It is a callback of a
 * kind's versions, so that each kind names its own libraries. */
static void versions_emit(void *sink, const char *name, const char *version)
{
    struct bl_findings *f = sink;
    /* Names may come from different kinds; the groups are constants and are compared as pointers. */
    for (size_t i = 0; i < f->count; i++) {
        if (f->finding[i].group == f->group && strcmp(f->finding[i].name, name) == 0)
            return;
    }
    bl_findings_add(f, BL_VERDICT_OK, name, "%s", version);
}

/* Adds the version of a library that bload loads when it is needed, or a note that it is not there. */
static void library_add(struct bl_findings *f, const char *name,
                        int (*append)(struct bl_buffer *version, struct bl_error *e))
{
    struct bl_buffer version = {0};
    struct bl_error e = {0};
    if (append(&version, &e))
        bl_findings_add(f, BL_VERDICT_NOTE, name, "%s", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, name, "%s", version.data);
    bl_buffer_free(&version);
}

void bl_doctor_versions(struct bl_findings *f)
{
    char regex[BL_REGEX_VERSION_MAX];
    const struct bl_media *media;
    /* The module may be absent, and a machine for texts and arrays needs none. */
    struct bl_error e = {0};
    struct bl_buffer place = {0};
    f->group = "versions";
    bl_findings_add(f, BL_VERDICT_OK, "bload", "%s, SIMD level %s", BLOAD_VERSION, bl_simd_name(bl_simd_best()));
    bl_media_append_place(&place);
    f->failed |= place.failed;
    if (bl_media_open(&media, &e))
        bl_findings_add(f, BL_VERDICT_WARNING, "media module", "%s; text and arrays need none", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "media module", "%s", place.failed ? "" : place.data);
    bl_buffer_free(&place);
    for (int k = 0; bl_kinds[k]; k++) {
        if (!bl_kinds[k]->read->versions)
            continue;
        /* A config in which nothing is chosen. A missing media module is a finding already, so that its error is
         * ignored here. */
        void *config = calloc(1, bl_kinds[k]->options.config_size + 1);
        struct bl_error ignored = {0};
        f->failed |= !config;
        if (config)
            (void)bl_kinds[k]->read->versions(config, NULL, versions_emit, f, &ignored);
        free(config);
    }
    library_add(f, "HDF5", bl_hdf5_append_version);
    library_add(f, "curl", bl_curl_describe);
    /* These libraries belong to no kind: regular expressions, compressed shards, and JPEG files of exports. */
    versions_emit(f, "pcre2", bl_regex_version(regex));
    versions_emit(f, "zstd", bl_compressor_version());
    versions_emit(f, "libjpeg-turbo", bl_jpeg_version());
}

/* --- decoders ----------------------------------------------------------------------------------------------------- */

/* Adds the usual codecs, each with the name of its decoder, or a warning where this build of FFmpeg has none. */
void bl_doctor_decoders(struct bl_findings *f)
{
    const char *codec, *decoder;
    const struct bl_media *media;
    struct bl_error e = {0};
    f->group = "decoders";
    if (bl_media_open(&media, &e))
        return; /* a finding among the versions */
    for (int i = 0; media->usual_decoder(i, &codec, &decoder); i++) {
        /* `decoder` is NULL where FFmpeg has none. */
        if (decoder)
            bl_findings_add(f, BL_VERDICT_OK, codec, "%s", decoder);
        else
            bl_findings_add(f, BL_VERDICT_WARNING, codec,
                            "missing: such files will be skipped; use a build of FFmpeg that decodes it");
    }
}

/* --- GPUs --------------------------------------------------------------------------------------------------------- */

/* Adds the codecs that the GPU decodes, or the reason why they are not known. */
static void gpus_add_codecs(struct bl_findings *f, const struct bl_media *media, struct bl_gpu *gpu)
{
    struct bl_error e = {0};
    struct bl_buffer codecs = {0};
    int code = media->gpu_append_codecs(gpu, &codecs, &e);
    f->failed |= codecs.failed;
    if (code)
        bl_findings_add(f, BL_VERDICT_WARNING, "NVDEC", "%s", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "NVDEC", "decodes %s (--decoder auto)",
                        codecs.size ? codecs.data : "nothing");
    bl_buffer_free(&codecs);
}

/* Adds the CUDA version of the build, and the driver or the codecs. */
void bl_doctor_gpus(struct bl_findings *f)
{
    struct bl_gpu *gpu;
    struct bl_error e = {0};
    const struct bl_media *media;
    f->group = "GPU";
    if (bl_media_open(&media, &e))
        return; /* a finding among the versions */
    int version = media->gpu_version();
    /* CUDA encodes version 12.4 as 12040. */
    if (version)
        bl_findings_add(f, BL_VERDICT_OK, "build", "with CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (media->gpu_open(&gpu, "all", &e)) {
        /* A machine without a GPU needs no driver. The devices show a GPU of Linux and one of WSL. */
        bool is_visible = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
        bl_findings_add(f, version && is_visible ? BL_VERDICT_WARNING : BL_VERDICT_NOTE, "driver",
                        "%s; videos are decoded on the processor", e.text);
    } else {
        gpus_add_codecs(f, media, gpu);
    }
    media->gpu_close(gpu);
}

/* --- sandbox ------------------------------------------------------------------------------------------------------ */

#define SHARED_SIZE ((size_t)4 << 20) /* bytes: a small block */

/* Tries what isolation needs: shared memory for blocks, a process for a decoder, and a filter of system calls. */
void bl_doctor_sandbox(struct bl_findings *f)
{
    struct bl_error e = {0};
    bool filtered;
    f->group = "sandbox";
    struct bl_shared_memory memory;
    if (bl_shared_memory_make(&memory, SHARED_SIZE, &e)) {
        bl_findings_add(f, BL_VERDICT_FAULT, "shared memory", "%s: blocks are assembled in it (memfd_create)", e.text);
        bl_error_clear(&e);
    } else {
        /* Writing touches the pages: memfd_create alone reserves none. */
        memset(memory.data, 1, memory.size);
        bl_shared_memory_free(&memory);
        bl_findings_add(f, BL_VERDICT_OK, "shared memory", "memfd");
    }
    /* A decoder's process is started and ended without any input. */
    if (bl_isolation_try(&filtered, &e)) {
        bl_findings_add(f, BL_VERDICT_FAULT, "decoder process", "%s: --isolate off decodes in one process", e.text);
        return;
    }
    bl_findings_add(f, BL_VERDICT_OK, "decoder process", "started and ended");
    if (filtered)
        bl_findings_add(f, BL_VERDICT_OK, "system calls", "filtered (seccomp): a decoder can open nothing");
    else
        bl_findings_add(f, BL_VERDICT_WARNING, "system calls",
                        "no filter (seccomp): a decoder that crashes does not end the run, but a file that takes one "
                        "over could open other files");
}
