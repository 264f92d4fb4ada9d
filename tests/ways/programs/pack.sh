#!/bin/sh
# packs a program by PyInstaller, and runs it: its name, and options
set -e
pyinstaller --log-level ERROR --name program --distpath "$TMPDIR/dist" --workpath "$TMPDIR/made" --specpath "$TMPDIR" "$@"
PATH=/usr/bin:/bin "$TMPDIR/dist/program/program"
rm -rf "$TMPDIR/dist" "$TMPDIR/made" "$TMPDIR/program.spec"
