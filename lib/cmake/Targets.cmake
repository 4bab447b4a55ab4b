# The rules for targets. A folder is a target is a namespace: lib/netlink -> rail_netlink -> rail::netlink.
#
#   rail_library(netlink HDRS netlink.h kernel.h SRCS kernel.cc DEPS base netns PRIVATE_DEPS PkgConfig::NL)
#   rail_plugin(ovs-provider SRCS main.cc DEPS cni engine ...)    static-pie binary in bin/
#   rail_program(raild SRCS main.cc DEPS ...)                     dynamic binary in bin/
#   rail_test(netlink_test LABEL unit SRCS decode_test.cc DEPS netlink)
# In DEPS and PRIVATE_DEPS a bare word is one of our folders; anything with '::' or '_' is taken as it is.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

option(RAIL_SANITIZED "a sanitizer or clang build: plugins are linked dynamically, release-only tests are left out" OFF)
option(RAIL_FUZZ "build the libFuzzer targets" OFF)

add_library(rail_flags INTERFACE)
target_compile_options(rail_flags INTERFACE
  -Wall -Wextra
  -Wno-missing-field-initializers  # a designated initializer leaves out what has a default
  $<$<COMPILE_LANGUAGE:CXX>:-Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-cond -Wlogical-op>
  # GCC 12 sees an overlap in `"text" + std::string` when it optimizes, and there is none (GCC bug 105651).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_include_directories(rail_flags INTERFACE ${CMAKE_SOURCE_DIR})

function(_rail_resolve out)
  set(resolved)
  foreach(dep IN LISTS ARGN)
    if(dep MATCHES "::|_")
      list(APPEND resolved ${dep})
    else()
      list(APPEND resolved rail_${dep})
    endif()
  endforeach()
  set(${out} ${resolved} PARENT_SCOPE)
endfunction()

# What is installed, and nothing else.
add_custom_target(product)

# Test code runs once: it is compiled fast. What it tests is compiled as it is shipped.
set(_test_options $<$<CONFIG:Release>:-O1>)

function(rail_library name)
  cmake_parse_arguments(ARG "" "" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  _rail_resolve(deps ${ARG_DEPS})
  _rail_resolve(private_deps ${ARG_PRIVATE_DEPS})
  add_library(rail_${name} STATIC ${ARG_SRCS})
  # A header whose source file includes it first is known to compile by itself (lint `headers`). The others are compiled alone.
  set(alone ${ARG_HDRS})
  foreach(header IN LISTS ARG_HDRS)
    string(REGEX REPLACE "\\.h$" "" stem ${header})
    if("${stem}.cc" IN_LIST ARG_SRCS OR "${stem}.c" IN_LIST ARG_SRCS)
      list(REMOVE_ITEM alone ${header})
    endif()
  endforeach()
  target_sources(rail_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HDRS}
    FILE_SET alone TYPE HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${alone})
  set_target_properties(rail_${name} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY alone)
  if(name MATCHES "_testing$")
    target_compile_options(rail_${name} PRIVATE ${_test_options})
  endif()
  set_target_properties(rail_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(rail_${name} PUBLIC ${deps} PRIVATE $<BUILD_INTERFACE:rail_flags> ${private_deps})
endfunction()

function(rail_plugin name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  _rail_resolve(deps ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:rail_flags> ${deps})
  if(NOT RAIL_SANITIZED)
    target_link_options(${name} PRIVATE -static-pie -Wl,--gc-sections $<$<CONFIG:Release>:-s>)
  endif()
  add_dependencies(product ${name})
  install(TARGETS ${name} RUNTIME DESTINATION libexec/cni COMPONENT plugins)
endfunction()

function(rail_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  _rail_resolve(deps ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:rail_flags> ${deps})
  add_dependencies(product ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT daemon)
endfunction()

# LABEL: unit (nothing but the code), contract (a fake and the real thing; root), lint.
function(rail_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SRCS;DEPS" ${ARGN})
  _rail_resolve(deps ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE ${_test_options})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:rail_flags> ${deps} GTest::gmock GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 120)
endfunction()
