/* Folders of images: their list in natural order, the numbers in their names, and the digest of their content.
 *
 * A number in a name may count pictures, or be a time or a size, and only the folder as a whole shows which. Examples:
 * frame_0001.png, frame_0002.png, frame_0005.png count pictures, and two are missing; 00001_640x480.png has the number
 * 480 in every name. */
#include "kind/frames/image_folder.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/kind.h"

/* AVIF and HEIC files are not decoded. They are listed so that their header refuses them: without them, a sequence
 * would silently consist of the other images. Only a folder without other images is one of .flo files. */
#define FLOW "flo"
const char *const bl_image_extensions[] = {"jpg",  "jpeg", "jfif", "png",  "bmp", "webp", "tif",
                                           "tiff", "avif", "heic", "heif", FLOW,  NULL};
static const char *const flow_extensions[] = {FLOW, NULL};

/* Returns the last number before the extension, or -1: "img_00012.jpg" has 12, "001YG-3b.png" has 3, "cover.png" has
 * none. A number beyond 32 bits, such as a time in microseconds, counts as none. */
static int32_t name_parse_number(const char *name)
{
    /* Digits of the extension do not count. */
    const char *dot = strrchr(name, '.'), *end = dot ? dot : name + strlen(name);
    while (end > name && !(end[-1] >= '0' && end[-1] <= '9'))
        end--;
    const char *begin = end;
    while (begin > name && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    int64_t number;
    return bl_text_to_int(begin, (size_t)(end - begin), 0, INT32_MAX, &number) ? (int32_t)number : -1;
}

/* Finds out whether the numbers in the names count pictures. Sampled frames have rising numbers, with gaps or without;
 * sizes (00001_640x480.png) repeat or fall. Names that are a number of seconds (1305031102.175304.png) rise and count
 * no pictures. If most numbers follow each other, a few others do not matter. */
static void image_folder_judge_numbers(struct bl_image_folder *folder)
{
    /* bare: an image has no digits in its name, as "cover.png" beside numbered frames. */
    size_t follow = 0;
    bool rise = folder->count > 0 && folder->image[0].number >= 0, bare = false;
    for (size_t i = 0; i < folder->count; i++) {
        const struct bl_image *image = &folder->image[i];
        const char *name = image->name;
        int64_t before = i ? image[-1].number : -1, number = image->number;
        size_t seconds = strspn(name, "0123456789");
        size_t part = name[seconds] == '.' ? strspn(name + seconds + 1, "0123456789") : 0;
        bool is_time = seconds && part && name[seconds + 1 + part] == '.';
        follow += i && before >= 0 && number == before + 1;
        rise = rise && number > before && !is_time;
        bare = bare || (number < 0 && !name[strcspn(name, "0123456789")]);
    }
    folder->consecutive = folder->count > 1 && 2 * follow > folder->count - 1;
    folder->numbered = folder->consecutive || rise || bare;
    folder->rising = rise;
}

int32_t bl_image_folder_number(const struct bl_image_folder *folder, size_t i)
{
    return folder->numbered ? folder->image[i].number : -1;
}

/* Files that ffmpeg writes begin with number 1, which is the frame at position 0. */
int bl_image_folder_position(const struct bl_image_folder *folder, size_t i, double *position, struct bl_error *e)
{
    const struct bl_image *image = &folder->image[i];
    if (folder->numbered && image->number < 0)
        return bl_error_set(e, BL_EDATA, "%s has no number for its time", image->name);
    *position = folder->numbered ? image->number - 1 : (double)i;
    return BL_OK;
}

/* Adds an image. Its time in nanoseconds shows later whether the file was replaced by one of the same size. */
static int image_folder_add(struct bl_image_folder *folder, const char *name, const struct stat *status,
                            struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(folder->image, folder->capacity, folder->count + 1, e))
        return BL_EFAIL;
    char *copy = strdup(name);
    if (!copy)
        return bl_error_memory(e);
    folder->image[folder->count++] =
        (struct bl_image){.name = copy,
                          .number = name_parse_number(name),
                          .bytes = status->st_size,
                          .modified = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec};
    return BL_OK;
}

/* For qsort(3). */
static int image_compare_names(const void *a, const void *b)
{
    return bl_text_natural(((const struct bl_image *)a)->name, ((const struct bl_image *)b)->name);
}

/* Adds the images of the folder that match the pattern, in the order of the file system, and .flo files to `flow`
 * in the same way. The bytes of each are those of all such files. *has_images: there are other files than .flo. */
static int image_folder_read(struct bl_image_folder *images, struct bl_image_folder *flow, bool *has_images,
                             struct bl_input_folder *names, const char *path, const char *pattern, struct bl_error *e)
{
    int code = BL_OK;
    while (!code) {
        struct stat status;
        if (bl_input_folder_next(names) != 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
        if (!names->name)
            return BL_OK;
        /* Hidden files are no images of the user: macOS writes ._0001.jpg beside 0001.jpg. */
        if (names->name[0] == '.' || !bl_path_has_extension(names->name, bl_image_extensions))
            continue;
        if (bl_input_folder_stat(names, &status) != 0) {
            if (bl_errno_is_system(errno))
                return bl_error_errno(e, BL_EFAIL, "cannot stat %s/%s", path, names->name);
            status = (struct stat){.st_mode = S_IFREG}; /* a dangling link: reading reports it */
        }
        if (S_ISDIR(status.st_mode))
            continue;
        if (!S_ISREG(status.st_mode))
            status.st_size = 0; /* a pipe or a device: reading reports it */
        bool is_flow = bl_path_has_extension(names->name, flow_extensions);
        struct bl_image_folder *folder = is_flow ? flow : images;
        *has_images = *has_images || !is_flow;
        /* The size covers images that the pattern excludes, too, because the digest does. */
        folder->bytes += status.st_size;
        if (!pattern || fnmatch(pattern, names->name, 0) == 0)
            code = image_folder_add(folder, names->name, &status, e);
    }
    return code;
}

int bl_image_folder_list(struct bl_image_folder *folder, const char *path, const char *pattern, struct bl_error *e)
{
    *folder = (struct bl_image_folder){0};
    struct bl_input_folder names;
    if (bl_input_folder_open(&names, path) != 0)
        return bl_errno_is_system(errno) && bl_input_folder_is_far(path)
                   ? bl_input_file_fail(path, "cannot be listed", e)
                   : bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, "not a folder of images");
    struct bl_image_folder flow = {0};
    bool has_images = false;
    int code = image_folder_read(folder, &flow, &has_images, &names, path, pattern, e);
    bl_input_folder_close(&names);
    if (has_images) {
        bl_image_folder_free(&flow);
    } else {
        bl_image_folder_free(folder);
        *folder = flow;
    }
    /* qsort must not get a NULL pointer, which an empty list has. */
    if (folder->count)
        qsort(folder->image, folder->count, sizeof *folder->image, image_compare_names);
    image_folder_judge_numbers(folder);
    return code;
}

/* Computes the content of a folder: the hash of a text with a line for each image, in their order. A line is the
 * image's name, a NUL, and its content in hexadecimal digits. */
static int image_folder_digest(const struct bl_image_folder *folder, const char *path, uint64_t *content,
                               struct bl_error *e)
{
    struct bl_buffer all = {0}, file = {0};
    int code;
    for (size_t i = 0; i < folder->count; i++) {
        /* Both ends of each image are read, as for any other input. */
        uint64_t image;
        bl_buffer_clear(&file);
        bl_buffer_printf(&file, "%s/%s", path, folder->image[i].name);
        code = bl_buffer_check(&file, e);
        if (code)
            goto out;
        code = bl_content_hash_file(file.data, &image, e);
        if (code)
            goto out;
        bl_buffer_text(&all, folder->image[i].name);
        bl_buffer_byte(&all, '\0');
        bl_content_format(image, &all);
        bl_buffer_byte(&all, '\n');
    }
    code = bl_buffer_check(&all, e);
    if (!code)
        *content = bl_content_hash(all.data, all.size);
out:
    bl_buffer_free(&all);
    bl_buffer_free(&file);
    return code;
}

/* The pattern of --images does not matter here: another pattern gives another list of the same folder. */
int bl_image_folder_stat(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e)
{
    struct bl_image_folder folder;
    int code = bl_image_folder_list(&folder, path, NULL, e);
    *bytes = folder.bytes;
    *content = 0;
    if (!code)
        code = image_folder_digest(&folder, path, content, e);
    bl_image_folder_free(&folder);
    return code;
}

void bl_image_folder_free(struct bl_image_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->image[i].name);
    free(folder->image);
    /* The object is empty again, and may be listed into again. */
    *folder = (struct bl_image_folder){0};
}

/* Returns the first image of a rising folder whose number is at least this one, or the number of images. */
static size_t image_folder_lower(const struct bl_image_folder *folder, int64_t number)
{
    size_t low = 0, high = folder->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (folder->image[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int bl_image_folder_find_numbers(const struct bl_image_folder *folder, int64_t first, int64_t last, size_t *begin,
                                 size_t *end, struct bl_error *e)
{
    int64_t low = INT64_MAX, high = -1, before = -1;
    size_t found = 0;
    last = last < 0 ? INT32_MAX : last;
    first = first < 0 ? 0 : first;
    *begin = *end = 0;
    if (!folder->numbered)
        return bl_error_set(e, BL_EDATA,
                            "the numbers in the names of its images count no pictures: give start_frame "
                            "and end_frame, places from 0");
    if (folder->rising) {
        *begin = image_folder_lower(folder, first);
        *end = image_folder_lower(folder, last + 1);
        found = *end > *begin ? *end - *begin : 0;
        low = folder->image[0].number;
        high = folder->image[folder->count - 1].number;
    }
    /* Other folders have images without numbers, or several series of numbers. */
    for (size_t i = 0; i < folder->count && !folder->rising; i++) {
        int64_t number = folder->image[i].number;
        low = number >= 0 && number < low ? number : low;
        high = number > high ? number : high;
        if (number < first || number > last)
            continue;
        if (found && (number <= before || i > *end))
            return bl_error_set(e, BL_EDATA,
                                "the images from %" PRId64 " to %" PRId64 " do not follow each other, or "
                                "a number occurs twice: choose a series of them by --images",
                                first, last);
        *begin = found++ ? *begin : i;
        *end = i + 1;
        before = number;
    }
    if (found)
        return BL_OK;
    return bl_error_set(e, BL_EDATA,
                        "no image has a number from %" PRId64 " to %" PRId64 ": those of the folder are %" PRId64
                        " to %" PRId64,
                        first, last, low, high);
}

int64_t bl_image_folder_count_missing(const struct bl_image_folder *folder, size_t begin, size_t end)
{
    int64_t missing = 0;
    /* Between 3 and 6 two numbers are missing. Images without a number are skipped. */
    for (size_t i = begin + 1; i < end && folder->consecutive; i++) {
        int64_t before = folder->image[i - 1].number, number = folder->image[i].number;
        if (before >= 0 && number > before)
            missing += number - before - 1;
    }
    return missing;
}
