# OpenVSwitch::openvswitch: libopenvswitch.a, built from Debian's package openvswitch-source, which no Debian package
# ships ready-made. Built once at configure time with plain gcc, also for clang and sanitizer builds, and kept in
# $RAILCNI_CACHE, else ${XDG_CACHE_HOME:-~/.cache}/railcni, under a key of all that it depends on. Two configures at once
# wait for each other; a build that is killed leaves nothing behind that the next one would take for finished.

set(OVS_TARBALL /usr/src/openvswitch/openvswitch.tar.gz CACHE FILEPATH "the sources, as Debian packs them")
if(NOT EXISTS ${OVS_TARBALL})
  message(FATAL_ERROR "${OVS_TARBALL} is not there: install Debian's package openvswitch-source (deploy/deps.sh build)")
endif()

find_program(OVS_CC NAMES gcc REQUIRED)
find_program(OVS_MAKE NAMES make REQUIRED)
# Sections let the plugins drop what they do not call.
set(_ovs_cflags "-O2 -g0 -fPIC -ffunction-sections -fdata-sections")
# Libraries that configure would take when it finds them; the plugins are static and these are not.
set(_ovs_options --disable-ssl --disable-libcapng --disable-shared --enable-static --enable-afxdp=no
  ac_cv_lib_unbound_ub_ctx_create=no ac_cv_lib_unwind_unw_backtrace=no PYTHON3=/usr/bin/python3)

file(SHA256 ${OVS_TARBALL} _ovs_sources)
file(SHA256 ${CMAKE_CURRENT_LIST_FILE} _ovs_recipe)
execute_process(COMMAND ${OVS_CC} --version OUTPUT_VARIABLE _ovs_compiler COMMAND_ERROR_IS_FATAL ANY)
string(SHA256 _ovs_key "${_ovs_sources}${_ovs_recipe}${_ovs_compiler}")
string(SUBSTRING ${_ovs_key} 0 16 _ovs_key)

if(DEFINED ENV{RAILCNI_CACHE})
  set(_ovs_cache $ENV{RAILCNI_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(_ovs_cache $ENV{XDG_CACHE_HOME}/railcni)
elseif(DEFINED ENV{HOME})
  set(_ovs_cache $ENV{HOME}/.cache/railcni)
else()
  set(_ovs_cache ${CMAKE_BINARY_DIR}/cache)
endif()
set(_ovs_root ${_ovs_cache}/openvswitch-${_ovs_key})

function(_ovs_run what dir)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${dir} RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(LENGTH "${output}" length)
    math(EXPR from "${length} > 3000 ? ${length} - 3000 : 0")
    string(SUBSTRING "${output}" ${from} -1 output)
    message(FATAL_ERROR "libopenvswitch: ${what} failed (${status}); its last lines:\n${output}")
  endif()
endfunction()

function(_ovs_build)
  file(MAKE_DIRECTORY ${_ovs_cache})
  file(LOCK ${_ovs_cache}/openvswitch.lock GUARD FUNCTION TIMEOUT 1200)
  if(EXISTS ${_ovs_root})
    return()
  endif()
  message(STATUS "Building libopenvswitch.a, once; takes about a minute (kept in ${_ovs_root})")
  set(work ${_ovs_root}.work)
  file(REMOVE_RECURSE ${work} ${_ovs_root}.new)
  file(ARCHIVE_EXTRACT INPUT ${OVS_TARBALL} DESTINATION ${work})
  set(source ${work}/openvswitch)
  # The list of generated headers is computed by automake's Makefile; asking make is the one sure way to have it whole.
  file(WRITE ${source}/railcni.mk "include Makefile\n.PHONY: railcni-headers\nrailcni-headers: $(BUILT_SOURCES)\n")
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(clean ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MFLAGS --unset=LDFLAGS --unset=CPPFLAGS)
  _ovs_run(configure ${source} ${clean} ./configure --quiet ${_ovs_options} CC=${OVS_CC} "CFLAGS=${_ovs_cflags}")
  _ovs_run("making its headers" ${source} ${clean} ${OVS_MAKE} -s -j${cores} -f railcni.mk railcni-headers)
  _ovs_run("making the library" ${source} ${clean} ${OVS_MAKE} -s -j${cores} lib/libopenvswitch.la)
  # Only what a user of the library reads is kept.
  file(COPY ${source}/config.h ${source}/include ${source}/LICENSE DESTINATION ${_ovs_root}.new)
  file(COPY ${source}/lib DESTINATION ${_ovs_root}.new FILES_MATCHING PATTERN "*.h" PATTERN ".libs" EXCLUDE)
  file(COPY ${source}/lib/.libs/libopenvswitch.a DESTINATION ${_ovs_root}.new/lib)
  file(RENAME ${_ovs_root}.new ${_ovs_root})
  file(REMOVE_RECURSE ${work})
endfunction()

if(NOT EXISTS ${_ovs_root})
  _ovs_build()
endif()

add_library(OpenVSwitch::openvswitch STATIC IMPORTED GLOBAL)
set_target_properties(OpenVSwitch::openvswitch PROPERTIES
  IMPORTED_LOCATION ${_ovs_root}/lib/libopenvswitch.a
  INTERFACE_INCLUDE_DIRECTORIES "${_ovs_root};${_ovs_root}/include;${_ovs_root}/lib"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${_ovs_root};${_ovs_root}/include;${_ovs_root}/lib"
  INTERFACE_LINK_LIBRARIES "Threads::Threads;atomic;m")
