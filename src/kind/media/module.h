/* The media module: what decodes videos, sound and images, and all that calls FFmpeg, zimg and soxr.
 *
 * These libraries bring 140 others, which take longer to load than most commands take to run. So they belong to a
 * shared library of our own, libbload-media, which a process loads when it first decodes something: a decoder process's
 * fork server (kind/isolated), or the tool itself with --isolate off, with a GPU, and to write PNG files. The tool
 * keeps everything else that it knows of these kinds: names, options, help, extensions, columns.
 *
 * The module is private to one version of the tool. It has its own copy of what it needs of base/ and kind/, and the
 * tool exports nothing to it: structs cross the border, and the functions of struct bl_media. Programs that are linked
 * with `bl_media_functions` (the tool of the wheel, the fuzzers) have the module built in.
 *
 * libjpeg-turbo and KISS FFT stay in the tool: stored JPEG files and bload show need them, and they take no time to
 * load. */
#ifndef BL_MODULE_H
#define BL_MODULE_H

#include "base/input_file.h"
#include "kind/audio/read.h"
#include "kind/kind.h"
#include "kind/media_options.h"

/* --- module ------------------------------------------------------------------------------------------------------- */

struct bl_gpu;
struct bl_png;
struct bl_video_config;

/* Finds the size of the pictures that a row's file gives. BL_EDATA: it does not decode. */
typedef int bl_media_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                          struct bl_dimensions *size, struct bl_error *e);

/* The functions of a kind that the module has, as in struct bl_kind_scan and struct bl_kind_read. A function that the
 * kind does not need is NULL. */
struct bl_decoding {
    bl_counter_open *open_counter;
    bl_kind_count *count;
    bl_media_size *size;
    bl_reader_open *open_reader;
    void (*versions)(const void *config, bl_version_emit *emit, void *sink);
};

struct bl_media {
    const char *version; /* BLOAD_VERSION when it was compiled */
    size_t size;         /* of this struct, then */
    struct bl_decoding video, frames, audio;

    /* bl_audio_count_file, for sound that follows the steps of another kind. */
    int (*count_sound)(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                       struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e);

    /* Of the process: holds FFmpeg to the level (kind/media_options.h); through whom inputs are opened
     * (base/input_file.h). */
    int (*set_simd)(enum bl_simd level, struct bl_error *e);
    void (*set_opener)(bl_opener *opener, void *context);

    /* kind/media/allowlist.h */
    bool (*usual_decoder)(int i, const char **codec, const char **decoder);

    /* kind/frames/read.h */
    int (*png_open)(struct bl_png **png, const struct bl_field *field, struct bl_error *e);
    int (*png_encode)(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size, struct bl_error *e);
    void (*png_close)(struct bl_png *png);

    /* Opens what --decoder may use: sets gpu, gpu_functions and gpu_pool of the config. BL_EUSAGE, BL_EFAIL as
     * bl_nvdec_open; then nothing is open. */
    int (*open_gpu)(struct bl_video_config *config, struct bl_error *e);
    void (*close_gpu)(struct bl_video_config *config);

    /* kind/video/gpu.h, gpu_pool.h */
    int (*gpu_version)(void);
    int (*gpu_open)(struct bl_gpu **gpu, const char *which, struct bl_error *e);
    void (*gpu_close)(struct bl_gpu *gpu);
    int (*gpu_append_codecs)(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);
};

/* The module's only symbol. */
extern const struct bl_media bl_media_functions;

/* Loads the module with the first call, and gives its functions, which stay as long as the process does. Any thread may
 * call it. BL_EUSAGE: it is not installed, or of another version. BL_EFAIL: it cannot be loaded. */
int bl_media_open(const struct bl_media **media, struct bl_error *e);

/* The functions of a module that is open: for those who hold what one of its functions has made. */
const struct bl_media *bl_media_opened(void);

/* Whether the module is there, without loading it. BL_EUSAGE: it is not. */
int bl_media_check(struct bl_error *e);

/* Appends where the module is: its path, "built in", or "not installed". */
void bl_media_append_place(struct bl_buffer *out);

/* Holds the module to a SIMD level, now or when it is loaded: before any decoder is opened, on one thread. BL_EUSAGE:
 * the machine lacks it. Decoders of other projects behind FFmpeg (libdav1d, libvpx) choose for themselves; those
 * formats are specified to the bit. */
int bl_media_set_simd(enum bl_simd level, struct bl_error *e);

/* Has the tool and the module, now or when it is loaded, open inputs through this function. On one thread. */
void bl_media_set_opener(bl_opener *opener, void *context);

/* Sets the environment of libraries: call it once, before there are threads and before the module is loaded. soxr reads
 * options that would change bytes, among them which instructions it uses: they become those of kind/audio/mix.h.
 * glib, which some of FFmpeg's libraries bring, allocates while it holds a lock of its own when it is loaded, and where
 * that fails waits for that lock for ever: not so with this allocator. */
void bl_media_set_environment(void);

/* --- forwarding functions ----------------------------------------------------------------------------------------- */

/* The functions of kinds that the media module has, for their tables: each opens the module, or knows that it is open,
 * and hands its arguments on. bl_video_forward_count has the module count what bl_kind_video is asked to. */

bl_counter_open bl_video_forward_open_counter, bl_frames_forward_open_counter, bl_audio_forward_open_counter;
bl_kind_count bl_video_forward_count, bl_frames_forward_count, bl_audio_forward_count;
bl_media_size bl_video_forward_size, bl_frames_forward_size;
bl_reader_open bl_video_forward_open_reader, bl_frames_forward_open_reader, bl_audio_forward_open_reader;
bl_kind_versions bl_video_forward_versions, bl_audio_forward_versions;

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

/* Holds FFmpeg to the level, for the whole process, from now on: before any decoder is opened, on one thread. BL_EUSAGE
 * when the machine lacks it. The tool calls bl_media_set_simd. */
int bl_simd_apply(enum bl_simd level, struct bl_error *e);

/* zimg's cpu_type for the level. */
int bl_simd_zimg(enum bl_simd level);

#endif
