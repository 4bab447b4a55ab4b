"""The names of the images in the cluster."""

PAUSE = "docker.io/library/railcni-lab-pause:1"
WORKLOAD = "docker.io/library/railcni-lab-busybox:1"
PRODUCT = "docker.io/library/railcni:0.1.0"
DEBIAN = "docker.io/library/debian:bookworm-slim"
