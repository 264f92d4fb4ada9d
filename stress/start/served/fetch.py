"""A script that makes one request: `python fetch.py URL`."""

from __future__ import annotations

import sys

import requests

requests.get(sys.argv[1], timeout=10)
