project = "shop"
extensions = ["sphinx.ext.autodoc"]
