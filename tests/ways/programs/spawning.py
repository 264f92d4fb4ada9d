"""Processes of a pool and programs of its own."""

import logging
import multiprocessing
import subprocess
import sys

import script

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(script.step, range(5)))
        pool.close()
        pool.join()
    print(subprocess.run([sys.executable, "-c", "import sys; print(sys.flags.utf8_mode)"], capture_output=True).stdout)
    logging.warning("step done")
