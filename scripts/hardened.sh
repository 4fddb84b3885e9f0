#!/bin/bash
# Prints what a program or shared library lacks of what makes a fault harder to exploit: hardened.sh FILE...
set -u
for file in "$@"; do
    symbols=$(readelf -sW "$file")
    grep -q __stack_chk_fail <<<"$symbols" || echo "$file: no stack protector"
    # A small library may call nothing that has a checked form; printf and its kin always have one.
    ! grep -qE ' UND v?(f|sn?)?printf\b' <<<"$symbols" || grep -qE '__[a-z]+_chk\b' <<<"$symbols" || echo "$file: no _FORTIFY_SOURCE"
    readelf -lW "$file" | grep -q GNU_RELRO || echo "$file: no RELRO"
    readelf -dW "$file" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || echo "$file: no BIND_NOW"
    readelf -lW "$file" | grep -E 'GNU_STACK.* E|RWE' | sed "s|^|$file: memory that is written and run: |"
done
