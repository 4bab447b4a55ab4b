# The Debian package: `cmake --build build --target deb` makes build/railcni_<version>_<architecture>.deb (deploy/debian).
# It has install rules of its own: they are for one package, while those of Targets.cmake are for the image.
set(_doc usr/share/doc/railcni)
set(_plugins ovs-provider tenant-isolation frr-provider)
set(_rule COMPONENT debian EXCLUDE_FROM_ALL)

install(TARGETS raild railctl railfabric RUNTIME DESTINATION usr/bin ${_rule})
install(TARGETS ${_plugins} RUNTIME DESTINATION usr/lib/railcni/cni ${_rule})
install(PROGRAMS deploy/install-plugins.sh DESTINATION usr/lib/railcni ${_rule})
install(FILES deploy/systemd/raild.service deploy/systemd/railfabric.service DESTINATION lib/systemd/system ${_rule})
install(FILES deploy/debian/node.json deploy/debian/railfabric.json DESTINATION ${_doc}/examples ${_rule})
install(FILES deploy/debian/README.md DESTINATION ${_doc} RENAME README.Debian ${_rule})
install(FILES deploy/debian/copyright DESTINATION ${_doc} ${_rule})
install(FILES deploy/debian/lintian-overrides DESTINATION usr/share/lintian/overrides RENAME railcni ${_rule})
install(DIRECTORY DESTINATION etc/railcni ${_rule})

# Made when the package is: the links from the folder that Debian's runtimes search, and a changelog of one entry.
string(TIMESTAMP _today "%a, %d %b %Y 00:00:00 +0000" UTC)
set(_maintainer "RailCNI maintainers <railcni@packages.railcni.io>")
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${root}/usr/lib/cni\")
  foreach(plugin ${_plugins})
    file(CREATE_LINK ../railcni/cni/\${plugin} \"\${root}/usr/lib/cni/\${plugin}\" SYMBOLIC)
  endforeach()
  file(WRITE \"\${root}/${_doc}/changelog\"
    \"railcni (${PROJECT_VERSION}) bookworm; urgency=medium\\n\\n  * RailCNI ${PROJECT_VERSION}.\\n\\n -- ${_maintainer}  ${_today}\\n\")
  execute_process(COMMAND gzip -9nf \"\${root}/${_doc}/changelog\" COMMAND_ERROR_IS_FATAL ANY)
" ${_rule})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME railcni)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_NAME railcni)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${_maintainer})
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openvswitch-switch (>= 3.1), frr (>= 8.4)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "containernetworking-plugins")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/debian/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/prerm ${CMAKE_SOURCE_DIR}/deploy/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "RoCE NICs for Kubernetes pods on a rail-optimised network
CNI plugins, node daemon, fabric daemon and command line tool that give pods
SR-IOV virtual functions behind Open vSwitch, keep tenants apart by rules that
a NIC's eSwitch runs, and announce every pod address by BGP unnumbered with
FRRouting.
.
This package is for hosts that do not get RailCNI by its DaemonSet.")
include(CPack)

add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} -G DEB WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
add_dependencies(deb product)
