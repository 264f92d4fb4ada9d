import logging
import unittest

import script


class ScriptTest(unittest.TestCase):
    def test_step(self):
        logging.warning("step done")
        self.assertEqual(script.step(4), 10)

    def test_no_step(self):
        self.assertEqual(script.step(0), 0)
