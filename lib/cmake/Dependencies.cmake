# Third-party libraries, all from Debian packages (deploy/deps.sh build). The plugins are static, so the libraries that
# they use are taken as archives; gRPC and protobuf, used by the daemon and the CLI alone, are shared.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)

# Set before the look-ups: with the default suffixes IMPORTED_TARGET would name the .so files.
set(_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
pkg_check_modules(NL REQUIRED IMPORTED_TARGET libnl-route-3.0 libnl-genl-3.0 libnl-3.0)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
set(CMAKE_FIND_LIBRARY_SUFFIXES ${_suffixes})

find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_package(Protobuf REQUIRED)
endif()
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)  # the daemon alone
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)  # likewise
find_package(gRPC CONFIG REQUIRED)
