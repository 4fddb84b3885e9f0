#include "doctor/file_system_type.h"

#include <stddef.h>

#define IN_MEMORY "files are in memory, are lost with the machine, and count as memory of the container"
#define LAYER "the layer of a container: files are lost with it; mount a volume for datasets"
#define NETWORK "on a server: how locks and syncs work is the server's and the mount's matter"

/* The numbers are those of linux/magic.h and statfs(2), and of the file systems that the kernel lacks. */
static const struct bl_file_system_type types[] = {
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
    {0x65735546, "FUSE", "a program serves it: how locks and syncs work is that program's matter", false},
    {0x4d44, "FAT", "files are smaller than 4 GiB, and there are no links", false},
    {0x2011bab0, "exFAT", "there are no links", false},
    {0x73717368, "SquashFS", "it cannot be written", false},
    {0xe0f5e1e2, "EROFS", "it cannot be written", false},
    {0x9660, "ISO 9660", "it cannot be written", false},
};

const struct bl_file_system_type *bl_file_system_type(int64_t magic)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].magic == (magic & 0xffffffff))
            return &types[i];
    }
    return NULL;
}
