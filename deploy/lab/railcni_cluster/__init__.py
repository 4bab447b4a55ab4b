"""Kubernetes on the nodes of a lab."""
