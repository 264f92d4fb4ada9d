#!/bin/sh
# what a container starts: a step in another Python, one in none, and the application
set -e
echo "settings"
/usr/bin/python3 -c 'import sys; print("a step in the Python of the system")'
python -I -c 'print("an isolated step")'
python -S -c 'print("a step without site")'
exec python script.py
