"""Configurations of leaves, made of one description of a site."""
