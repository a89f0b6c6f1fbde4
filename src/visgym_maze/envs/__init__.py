"""Gymnasium environments; the only part of the package that imports gymnasium."""
