"""What the manifests that differ by the number of rails are made of."""
