# The image of a node: raild, railctl, and the plugins for the init container to install (manifests/base).
# Needs nothing from the build context but sources; test/packaging/test_image.py builds it for real.
#   docker build -t railcni .              buildah bud -t railcni .
#   docker build --target plugins -o out . the three static plugins alone
# .dockerignore lets through only what is needed. One COPY per stage: a simple store keeps a whole copy for each.

FROM debian:bookworm-slim AS deps
COPY deploy/deps.sh /
RUN /deps.sh build

FROM deps AS build
# Built where it lies in a clone, build/ below the sources: so this and test/run.sh can share a compiler cache.
COPY . /src
RUN cd /src && export CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 LANG=C.UTF-8 \
 && cmake --preset release -Wno-dev \
 && cmake --build --preset product \
 && cmake --install build --component plugins --prefix /out \
 && cmake --install build --component daemon --prefix /out --strip

FROM scratch AS plugins
COPY --from=build /out/libexec/cni/ /

FROM debian:bookworm-slim AS daemon
COPY deploy/deps.sh /
RUN /deps.sh image && rm -rf /deps.sh /var/lib/apt/lists /var/cache/apt/*.bin
COPY deploy/install-plugins.sh deploy/install-config.sh deploy/remove.sh LICENSE /opt/railcni/
COPY --from=build /out/libexec/cni/ /opt/railcni/cni/
COPY --from=build /out/bin/ /usr/bin/
ENTRYPOINT ["/usr/bin/raild"]
