/* The examination of a directory for datasets: its file system, and what a run does there with its files, tried once
 * with an empty file.
 *
 * File systems differ where datasets need them most: NFS may give a lock twice, FUSE may have no hard links, overlayfs
 * loses the files with the container. So each call is tried in the directory itself, and nothing follows from the name
 * of the file system alone. The file loses its names before anything is written to it, and its bytes vanish with the
 * descriptor; while it has a name, signals are blocked. A run may end at any moment and leaves nothing behind. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"
#include "doctor/machine.h"
#include "run/bottleneck.h"
#include "run/machine.h"

/* A type of file system, by the number that statfs(2) returns. */
struct file_system_type {
    int64_t magic; /* f_type of statfs */
    const char *name;
    const char *note;   /* a peculiarity that matters for datasets, or NULL */
    bool may_be_memory; /* its files may lie in memory */
};

/* --- types of file systems ---------------------------------------------------------------------------------------- */

#define IN_MEMORY "files are in memory, are lost with the machine, and count as memory of the container"
#define LAYER "the layer of a container: files are lost with it; mount a volume for datasets"
#define NETWORK "on a server: locks and syncs depend on the server and the mount options"

/* The numbers are those of linux/magic.h and statfs(2), and those of file systems outside the kernel. */
static const struct file_system_type types[] = {
    {0xef53, "ext4", NULL, false},
    {0x58465342, "XFS", NULL, false},
    {0x9123683e, "Btrfs", NULL, false},
    {0x2fc12fc1, "ZFS", NULL, false},
    {0xf2f52010, "F2FS", NULL, false},
    {0xca451a4e, "bcachefs", NULL, false},
    {0x01021994, "tmpfs", IN_MEMORY, true},
    {0x858458f6, "ramfs", IN_MEMORY, true},
    {0x794c7630, "overlayfs", LAYER, true},
    {0x6969, "NFS", NETWORK, false},
    {0xff534d42, "CIFS", NETWORK, false},
    {0xfe534d42, "SMB", NETWORK, false},
    {0x517b, "SMB", NETWORK, false},
    {0x01021997, "9p", NETWORK, false},
    {0x00c36400, "Ceph", NETWORK, false},
    {0x0bd00bd0, "Lustre", NETWORK, false},
    {0x47504653, "GPFS", NETWORK, false},
    {0x19830326, "BeeGFS", NETWORK, false},
    {0x20030528, "OrangeFS", NETWORK, false},
    {0xaad7aaea, "PanFS", NETWORK, false},
    {0x65735546, "FUSE", "a program serves it: locks and syncs depend on that program", false},
    {0x4d44, "FAT", "files are smaller than 4 GiB, and there are no links", false},
    {0x2011bab0, "exFAT", "there are no links", false},
    {0x73717368, "SquashFS", "it cannot be written", false},
    {0xe0f5e1e2, "EROFS", "it cannot be written", false},
    {0x9660, "ISO 9660", "it cannot be written", false},
};

/* --- state -------------------------------------------------------------------------------------------------------- */

#define MIB ((int64_t)1 << 20)
#define ROOM_MAX (4096 * MIB)   /* bytes that are written at most */
#define SPACE_USUAL (256 * MIB) /* bytes: a shard of the default size */
#define RATE_SLOW (10 * MIB)    /* bytes per second: a single hard disk writes ten times as much */

/* The state of an examination. */
struct disk {
    struct bl_findings *f;
    const char *dir;
    struct bl_buffer name, other; /* the names of the file, which it has one after the other */
    int fd, direct;               /* the file, and the file for direct writes; -1: none */
    int64_t free;                 /* bytes; INT64_MAX: not known */
    bool may_be_memory;           /* the files of the directory may lie in memory */
};

/* --- what the system says ----------------------------------------------------------------------------------------- */

/* Adds the type of the file system and its note, and sets d->may_be_memory: an unknown type may be anything. */
static void disk_add_type(struct disk *d)
{
    struct statfs status;
    if (statfs(d->dir, &status) != 0) {
        struct bl_error e = {0};
        bl_error_errno(&e, BL_EFAIL, "cannot be read");
        bl_findings_add(d->f, BL_VERDICT_WARNING, "file system", "%s", e.text);
        return;
    }
    const struct file_system_type *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].magic == ((int64_t)status.f_type & 0xffffffff)) /* some systems extend the sign of 32 bits */
            type = &types[i];
    }
    /* A file in memory counts as memory of the run. */
    d->may_be_memory = !type || type->may_be_memory;
    if (type)
        bl_findings_add(d->f, type->note ? BL_VERDICT_NOTE : BL_VERDICT_OK, "file system", "%s%s%s", type->name,
                        type->note ? ": " : "", type->note ? type->note : "");
    else
        bl_findings_add(d->f, BL_VERDICT_NOTE, "file system", "of a type that is not known here (%#" PRIx64 ")",
                        (int64_t)status.f_type);
}

/* Adds the free space for users without privileges, in bytes and files, and sets d->free. */
static void disk_add_space(struct disk *d)
{
    char size[32], files[32];
    struct statvfs disk;
    d->free = INT64_MAX;
    if (statvfs(d->dir, &disk) != 0 || disk.f_blocks == 0) {
        bl_findings_add(d->f, BL_VERDICT_NOTE, "free space", "not reported by the file system: runs cannot check it");
        /* Some file systems, such as Btrfs, have no fixed number of files and report 0. */
        return;
    }
    /* f_bavail excludes the blocks that are reserved for root. */
    d->free = (int64_t)(disk.f_bavail * disk.f_frsize);
    bl_text_size(size, d->free);
    bl_text_count(files, (int64_t)disk.f_favail);
    if (disk.f_files > 0 && disk.f_favail == 0)
        bl_findings_add(d->f, BL_VERDICT_FAULT, "free space", "%s, but no more files (inodes): remove some", size);
    else if (d->free == 0)
        bl_findings_add(d->f, BL_VERDICT_FAULT, "free space", "none: free some");
    else if (d->free < SPACE_USUAL)
        bl_findings_add(d->f, BL_VERDICT_WARNING, "free space", "%s: a shard of the default size does not fit", size);
    else if (disk.f_files > 0)
        bl_findings_add(d->f, BL_VERDICT_OK, "free space", "%s, %s files", size, files);
    else
        bl_findings_add(d->f, BL_VERDICT_OK, "free space", "%s", size);
    bl_findings_value(d->f, "bytes", d->free);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Chooses two temporary names and creates the file with the first one. After BL_EFAIL the finding is added already. */
static int disk_create(struct disk *d)
{
    struct bl_error e = {0};
    bl_buffer_printf(&d->name, "%s/bload-doctor", d->dir);
    bl_buffer_printf(&d->other, "%s/bload-doctor-other", d->dir);
    /* The buffers now hold the paths, and the names are built from them. */
    struct bl_buffer base = d->name, other = d->other;
    d->name = d->other = (struct bl_buffer){0};
    int code = bl_buffer_check(&base, &e);
    if (!code)
        code = bl_temporary_name(base.data, &d->name, &e);
    if (!code)
        code = bl_buffer_check(&other, &e);
    if (!code)
        code = bl_temporary_name(other.data, &d->other, &e);
    if (!code) {
        d->fd = bl_fs_create(d->name.data, O_RDWR, &e);
        code = d->fd < 0 ? BL_EFAIL : BL_OK;
    }
    bl_buffer_free(&base);
    bl_buffer_free(&other);
    if (code)
        bl_findings_add(d->f, BL_VERDICT_FAULT, "files",
                        "%s; give bload a directory in which you can make files; the other points were not checked",
                        e.text);
    else
        bl_findings_add(d->f, BL_VERDICT_OK, "files", "can be made");
    return code;
}

/* Tries locks: a second descriptor of the file must not get the lock that the first one holds. */
static void disk_try_lock(struct disk *d)
{
    /* lock-alone is the file by which runs exclude each other where flock does nothing. */
    static const char advice[] = "runs exclude each other by a file (lock-alone), tasks do not";
    struct bl_error e = {0};
    if (flock(d->fd, LOCK_EX | LOCK_NB) != 0) {
        bl_error_errno(&e, BL_EFAIL, "none (flock)");
        bl_findings_add(d->f, BL_VERDICT_WARNING, "locks", "%s; %s", e.text, advice);
        return;
    }
    int fd = bl_fs_open_lock(d->name.data, &e);
    /* Opening by name may fail where opening by descriptor did not. */
    if (fd < 0)
        bl_findings_add(d->f, BL_VERDICT_WARNING, "locks", "%s", e.text);
    else if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        bl_findings_add(d->f, BL_VERDICT_WARNING, "locks", "not exclusive (flock grants the same lock twice); %s",
                        advice);
    else
        bl_findings_add(d->f, BL_VERDICT_OK, "locks", "flock");
    if (fd >= 0)
        close(fd);
}

/* Tries renames and links: gives the file its other name, then the first name again, as a published file gets its
 * name. */
static void disk_try_rename(struct disk *d)
{
    struct bl_error e = {0};
    struct stat status;
    if (bl_fs_rename_durable(d->name.data, d->other.data, &e)) {
        bl_findings_add(d->f, BL_VERDICT_FAULT, "rename", "%s: files get their names by it", e.text);
        return;
    }
    bl_findings_add(d->f, BL_VERDICT_OK, "rename", "atomic, and the directory can be synced");
    /* Publishing makes a hard link, or a rename where there are none; the number of links shows which. */
    if (bl_publish_file(d->other.data, d->name.data, &e))
        bl_findings_add(d->f, BL_VERDICT_FAULT, "links", "%s: tasks share files by it", e.text);
    else if (fstat(d->fd, &status) == 0 && status.st_nlink > 1)
        bl_findings_add(d->f, BL_VERDICT_OK, "links", "hard links");
    else
        bl_findings_add(d->f, BL_VERDICT_NOTE, "links", "no hard links: tasks share files by renaming them");
}

/* Removes a file that is open. Some file systems (FUSE, NFS) then keep it under another name until it is closed, and
 * its folder cannot be removed before. A server may need a moment after the close, so that the removal is tried for one
 * second. */
static void disk_try_open_files(struct disk *d)
{
    struct stat status;
    struct bl_error e = {0};
    char *folder = NULL;
    bool made, kept = false;
    if (asprintf(&folder, "%s.folder", d->other.data) < 0)
        return;
    if (bl_fs_mkdir(folder, &made, &e)) {
        free(folder);
        return;
    }
    char *name = NULL;
    int fd = asprintf(&name, "%s/file", folder) < 0 ? -1 : bl_fs_create(name, O_RDWR, &e);
    if (fd >= 0) {
        (void)bl_fs_unlink(name);
        kept = rmdir(folder) != 0;
        close(fd);
    }
    for (int i = 0; i < 100 && stat(folder, &status) == 0 && rmdir(folder) != 0; i++)
        usleep(10000);
    if (stat(folder, &status) == 0)
        bl_findings_add(d->f, BL_VERDICT_FAULT, "open files", "%s cannot be removed: files in it are kept", folder);
    else if (kept)
        bl_findings_add(d->f, BL_VERDICT_NOTE, "open files",
                        "are kept when they are removed (.fuse_hidden, .nfs), until they are closed: runs wait for it");
    else
        bl_findings_add(d->f, BL_VERDICT_OK, "open files", "can be removed");
    free(folder);
    free(name);
}

/* Tries what a run does with names of files. Signals are blocked meanwhile, so that no file is left behind. SIGQUIT
 * still ends the process, since a file server may never answer. Returns 0 if the file was made and has no name any
 * more; otherwise nothing may be written. */
static int disk_try_names(struct disk *d)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGQUIT);
    sigprocmask(SIG_BLOCK, &all, &before);
    int code = disk_create(d);
    if (!code) {
        d->direct = bl_direct_open(d->name.data);
        if (d->direct >= 0)
            bl_findings_add(d->f, BL_VERDICT_OK, "direct writes", "O_DIRECT");
        else
            bl_findings_add(d->f, BL_VERDICT_NOTE, "direct writes",
                            "none (O_DIRECT): shards go through the page cache");
        disk_try_lock(d);
        disk_try_rename(d);
        disk_try_open_files(d);
        /* Both names are removed, since each step may have failed. */
        struct bl_error e = {0};
        int first = bl_fs_remove(d->name.data, &e), second = bl_fs_remove(d->other.data, &e);
        if (first || second)
            bl_findings_add(d->f, BL_VERDICT_FAULT, "files", "%s: remove it", e.text);
        code = first ? first : second;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* Measures the rate of writing. The test writes at most an eighth of the free space, a sixteenth of the memory where
 * files may lie in memory, and no more than the limit of a file's size. */
static void disk_try_bytes(struct disk *d, const struct bl_cancel *cancel)
{
    char rate[32], written[32];
    struct bl_error e = {0};
    struct bl_write_rate measured;
    struct rlimit limit;
    /* A test must not fill the disk of others. */
    int64_t room = d->free / 8 < ROOM_MAX ? d->free / 8 : ROOM_MAX, memory = bl_machine_memory() / 16;
    room = d->may_be_memory && memory < room ? memory : room;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)room)
        room = (int64_t)limit.rlim_cur;
    /* Some file systems report that they are full only when something is written or synced. */
    if (write(d->fd, "", 1) != 1 || fsync(d->fd) != 0) {
        bl_error_errno(&e, BL_EFAIL, "cannot be written and synced");
        bl_findings_add(d->f, BL_VERDICT_FAULT, "write rate", "%s", e.text);
        return;
    }
    if (room < MIB) {
        bl_findings_add(d->f, BL_VERDICT_NOTE, "write rate", "not measured: too little may be written");
        return;
    }
    /* A cancelled examination has no finding. */
    int code = bl_write_rate_measure(&measured, d->fd, d->direct, room, d->dir, cancel, &e);
    if (code == BL_ECANCEL)
        return;
    if (code) {
        bl_findings_add(d->f, BL_VERDICT_FAULT, "write rate", "%s", e.text);
        return;
    }
    int64_t bytes = (int64_t)((double)measured.bytes / (measured.seconds > 0 ? measured.seconds : 1));
    bl_findings_add(d->f, bytes < RATE_SLOW ? BL_VERDICT_WARNING : BL_VERDICT_OK, "write rate",
                    "%s/s%s (%s in %.1f s, with syncs)", bl_text_size(rate, bytes),
                    bytes < RATE_SLOW ? ", which is slow" : "", bl_text_size(written, measured.bytes),
                    measured.seconds);
    bl_findings_value(d->f, "bytes/s", bytes);
}

/* d.direct and d.fd may be open after a failure, too. */
void bl_doctor_disk(struct bl_findings *f, const char *dir, const struct bl_cancel *cancel)
{
    struct disk d = {.f = f, .dir = dir, .fd = -1, .direct = -1, .may_be_memory = true};
    f->group = "directory";
    disk_add_type(&d);
    disk_add_space(&d);
    if (!disk_try_names(&d))
        disk_try_bytes(&d, cancel);
    if (d.direct >= 0)
        close(d.direct);
    if (d.fd >= 0)
        close(d.fd); /* what was written to it is to be lost */
    bl_buffer_free(&d.name);
    bl_buffer_free(&d.other);
}
