"""The benchmarks of RailCNI; see README.md of the folder above."""
