"""The page in a browser. A package, so that pytest ends the browser with the last test of this folder."""
