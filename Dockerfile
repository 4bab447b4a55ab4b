# The image of a node: raild, railctl, and the plugins for the init container to install (manifests/base).
# Needs nothing from the build context but sources; test/packaging/test_image.py builds it for real.
#   docker build -t railcni .              buildah bud -t railcni .
#   docker build --target plugins -o out . the three static plugins alone

FROM debian:bookworm-slim AS deps
COPY deploy/deps.sh /src/deploy/
RUN /src/deploy/deps.sh build

FROM deps AS build
WORKDIR /src
COPY CMakeLists.txt CMakePresets.json ./
COPY lib lib
COPY plugins plugins
COPY cmd cmd
COPY test test
# Same settings as test/run.sh: a mounted compiler cache serves both.
RUN export CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 \
 && cmake --preset release -Wno-dev \
 && cmake --build --preset release --target ovs-provider tenant-isolation frr-provider raild railctl \
 && cmake --install build --component plugins --prefix /out \
 && cmake --install build --component daemon --prefix /out --strip

FROM scratch AS plugins
COPY --from=build /out/libexec/cni/ /

FROM debian:bookworm-slim AS daemon
COPY deploy/deps.sh /src/deploy/
RUN /src/deploy/deps.sh image && rm -rf /src /var/lib/apt/lists /var/cache/apt/*.bin
COPY deploy/install-plugins.sh deploy/install-config.sh LICENSE /opt/railcni/
COPY --from=build /out/libexec/cni/ /opt/railcni/cni/
COPY --from=build /out/bin/ /usr/bin/
ENTRYPOINT ["/usr/bin/raild"]
