/* The frames that --frames and --frames-rule take, as numbers: pure functions of the number of frames.
 *
 * Trainers choose frames by short formulas, and the numbers decide what a model sees. Each formula here gives the
 * numbers of the released code, rounding included: that of numpy, which is in float64, or that of torch, which is in
 * float32 with the operations of its kernels for AVX2. */
#ifndef BL_FRAME_LIST_H
#define BL_FRAME_LIST_H

#include <stdint.h>

enum bl_frame_form {
    BL_FRAMES_LINSPACE,       /* numpy.linspace(0, n - 1, N, dtype=int): truncated */
    BL_FRAMES_LINSPACE_ROUND, /* numpy.linspace(0, n - 1, N).round() */
    BL_FRAMES_MIDDLE,         /* floor((i + 0.5) * n / N): the middle of each of N parts */
    BL_FRAMES_START,          /* floor(i * n / N): the start of each of N parts */
    BL_FRAMES_TORCH_LINSPACE, /* torch.linspace(first, first + n - 1, N).round(), in float32 */
    BL_FRAMES_TORCH_ARANGE,   /* torch.arange(0, n, n / N).int(), in float32 */
};

/* A list of N frames out of n. The numbers never decrease. They repeat if N is greater than n. */
struct bl_frame_list {
    enum bl_frame_form form;
    int64_t first;  /* the number of the first frame in its file: torch rounds the sum of both; 0 for whole files */
    int64_t frames; /* n >= 1 */
    int64_t count;  /* N; 0: there is no list, and every frame is taken */
};

/* Returns entry i of the list, 0 <= i < count: a number from 0 to frames - 1, which counts from the first frame. */
int64_t bl_frame_list_at(const struct bl_frame_list *list, int64_t i);

/* Returns how many entries repeat the one before. */
int64_t bl_frame_list_repeated(const struct bl_frame_list *list);

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* The rules of Qwen's models choose N by the length of the video: `fps` frames per second, within bounds. */

enum bl_frame_rule {
    BL_FRAME_RULE_NONE,
    BL_FRAME_RULE_QWEN_VL_UTILS, /* qwen_vl_utils.vision_process.smart_nframes, 0.0.14 */
    BL_FRAME_RULE_QWEN2_VL,      /* transformers.Qwen2VLVideoProcessor.sample_frames, 5.24 */
    BL_FRAME_RULE_QWEN3_VL,      /* transformers.Qwen3VLVideoProcessor.sample_frames, 5.24 */
};

#define BL_FRAME_RULE_FPS 2.0 /* the frames per second of all three, by default */

struct bl_frame_rule_options {
    enum bl_frame_rule rule;
    double fps;
    int64_t min, max, factor; /* factor >= 1; qwen3-vl has none */
};

/* Returns how many of `frames` frames the rule takes of a video with this rate (> 0). 0: the video is too short for the
 * rule, or the rule's bounds leave nothing. */
int64_t bl_frame_rule_count(const struct bl_frame_rule_options *options, int64_t frames, double rate);

/* Returns the form of the rule's lists. */
enum bl_frame_form bl_frame_rule_form(enum bl_frame_rule rule);

#endif
