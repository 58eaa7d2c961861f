"""Loads on the pages: forms that configure a load, and panels that show and control it."""
