"""What the public modules of bload are made of. Programs import none of it: names and places may change in any version."""
