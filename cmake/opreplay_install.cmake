# The installed tree: bin/opreplay, libexec/opreplay (launcher, worker, simulated device),
# share/opreplay (rules, schemas, profiles), headers and the CMake package of the library.
include(CMakePackageConfigHelpers)

install(TARGETS opreplay_base opreplay_core EXPORT opreplayTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(opreplay_core PROPERTIES EXPORT_NAME opreplay)
set_target_properties(opreplay_base PROPERTIES EXPORT_NAME base)
install(DIRECTORY include/opreplay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY harness/adapters/opreplay/adapters
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/opreplay)

install(TARGETS opreplay_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS opreplay_launcher RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/opreplay)
if(OPREPLAY_TORCH)
  install(TARGETS opreplay_worker opreplay_simdevice
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/opreplay)
endif()

install(DIRECTORY opspecs DESTINATION ${CMAKE_INSTALL_DATADIR}/opreplay)
install(DIRECTORY harness/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/opreplay)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/opreplay)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/opreplay)
install(EXPORT opreplayTargets NAMESPACE opreplay:: DESTINATION ${package_dir})
configure_package_config_file(cmake/opreplayConfig.cmake.in
  ${PROJECT_BINARY_DIR}/opreplayConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/opreplayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/opreplayConfig.cmake
  ${PROJECT_BINARY_DIR}/opreplayConfigVersion.cmake DESTINATION ${package_dir})
