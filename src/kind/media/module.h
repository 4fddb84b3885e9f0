/* Loads the media module, the shared library that decodes videos, sound and images and calls FFmpeg, zimg and soxr.
 *
 * These libraries depend on 140 others, which take longer to load than most commands take to run. So only the module
 * libbload-media is linked with them, and a process loads it when it first decodes something. This is usually the fork
 * server of the decoder processes (kind/isolated), and the tool itself with --isolate off, with a GPU, and to write PNG
 * files. The tool contains everything else about these kinds: names, options, help, extensions, columns.
 *
 * The module belongs to exactly one version of the tool. It has its own copy of the parts of base/ and kind/ that it
 * needs, and calls no function of the tool except through pointers that the tool passes. The tool calls it through
 * struct bl_media. Programs that are linked with `bl_media_functions` (the tool of the wheel, the fuzzers) have the
 * module built in.
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

/* Finds the size of a row's pictures after conversion. BL_EDATA: the file does not decode. */
typedef int bl_media_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                          struct bl_dimensions *size, struct bl_error *e);

/* The functions of a kind that decode, as in struct bl_kind_scan and struct bl_kind_read; NULL if the kind needs none.
 */
struct bl_decoding {
    bl_counter_open *open_counter;
    bl_kind_count *count;
    bl_media_size *size;
    bl_reader_open *open_reader;
    void (*versions)(const void *config, bl_version_emit *emit, void *sink);
};

struct bl_media {
    const char *version; /* BLOAD_VERSION of the module */
    size_t size;         /* the size of this struct in the module */
    struct bl_decoding video, frames, images, audio;

    /* bl_audio_count_file: counts an audio file whose steps follow those of another kind. */
    int (*count_sound)(const struct bl_audio_config *config, const struct bl_kind_env *env, const char *path,
                       struct bl_meter *meter, struct bl_audio_info *info, struct bl_error *e);

    /* Settings of the process: the SIMD level of FFmpeg (kind/media_options.h), and the functions that open inputs
     * (base/input_file.h). */
    int (*set_simd)(enum bl_simd level, struct bl_error *e);
    void (*set_opener)(bl_opener *opener, void *context);
    void (*set_far)(const struct bl_far_files *files);

    /* kind/media/allowlist.h */
    bool (*usual_decoder)(int i, const char **codec, const char **decoder);

    /* kind/frames/read.h */
    int (*png_open)(struct bl_png **png, const struct bl_field *field, struct bl_error *e);
    int (*png_encode)(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size, struct bl_error *e);
    void (*png_close)(struct bl_png *png);

    /* bl_deinterlace_load: loads the library for --deinterlace, before decoder processes start. */
    int (*load_deinterlace)(struct bl_error *e);

    /* Opens the GPUs that --decoder may use, and sets gpu, gpu_functions and gpu_pool of the config. Errors as
     * bl_nvdec_open; after an error nothing is open. */
    int (*open_gpu)(struct bl_video_config *config, struct bl_error *e);
    void (*close_gpu)(struct bl_video_config *config);
    void (*gpu_times)(const struct bl_video_config *config, struct bl_gpu_times *times);

    /* kind/video/gpu.h, gpu_pool.h */
    int (*gpu_version)(void);
    int (*gpu_open)(struct bl_gpu **gpu, const char *which, struct bl_error *e);
    void (*gpu_close)(struct bl_gpu *gpu);
    int (*gpu_append_codecs)(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);
};

/* The module's only symbol. */
extern const struct bl_media bl_media_functions;

/* Sets *media to the module's functions, which stay valid until the process ends. The first call loads the module. Any
 * thread may call it. BL_EUSAGE: the module is not installed, or has another version; BL_EFAIL: it cannot be loaded. */
int bl_media_open(const struct bl_media **media, struct bl_error *e);

/* Returns the functions of the module, or NULL if it is not loaded. A caller that owns an object of the module can rely
 * on it. */
const struct bl_media *bl_media_opened(void);

/* Checks that the module is installed, without loading it. BL_EUSAGE: it is not. */
int bl_media_check(struct bl_error *e);

/* Appends the path of the module, "built in", or "not installed". */
void bl_media_append_place(struct bl_buffer *out);

/* Limits the module to a SIMD level, now or when it is loaded. Call it from one thread, before any decoder is opened.
 * BL_EUSAGE: the machine does not support the level. Decoders of other projects that FFmpeg calls (libdav1d, libvpx)
 * choose their level themselves, which does not change bytes, because their formats specify every bit. */
int bl_media_set_simd(enum bl_simd level, struct bl_error *e);

/* Sets the function that opens inputs in the tool and in the module, now or when it is loaded. Call it from one
 * thread. */
void bl_media_set_opener(bl_opener *opener, void *context);

/* bl_far_set for the process and its module. */
void bl_media_set_far(const struct bl_far_files *files);

/* Sets environment variables for libraries. Call it once, before there are threads and before the module is loaded.
 * - soxr reads variables that would change the bytes of a dataset, such as the instruction set. They get the values on
 *   which kind/audio/mix.h relies.
 * - glib, which some of FFmpeg's libraries load, allocates memory while it holds a lock. If that fails, glib waits for
 *   the same lock for ever. With the system's allocator (G_SLICE) it does not. */
void bl_media_set_environment(void);

/* --- forwarding functions ----------------------------------------------------------------------------------------- */

/* The functions in the tables of the kinds that need the module: each loads the module if necessary, and calls the
 * module's function with the same arguments. For example, bl_kind_video counts with bl_video_forward_count, which calls
 * bl_video_decoding_count in the module. */

bl_counter_open bl_video_forward_open_counter, bl_frames_forward_open_counter, bl_images_forward_open_counter,
    bl_audio_forward_open_counter;
bl_kind_count bl_video_forward_count, bl_frames_forward_count, bl_images_forward_count, bl_audio_forward_count;
bl_media_size bl_video_forward_size, bl_frames_forward_size;
bl_reader_open bl_video_forward_open_reader, bl_frames_forward_open_reader, bl_images_forward_open_reader,
    bl_audio_forward_open_reader;
bl_kind_versions bl_video_forward_versions, bl_audio_forward_versions;

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

/* Limits FFmpeg to the level in the whole process. Call it from one thread, before any decoder is opened. BL_EUSAGE:
 * the machine does not support the level. This is the module's side of bl_media_set_simd. */
int bl_simd_apply(enum bl_simd level, struct bl_error *e);

/* Returns zimg's cpu_type for the level. */
int bl_simd_zimg(enum bl_simd level);

#endif
