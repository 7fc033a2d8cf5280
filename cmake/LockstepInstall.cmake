# `cmake --install build/release --prefix DIR`: the program, the public headers, the modules' libraries and what
# find_package(lockstep) needs. The libraries are static, so whoever links them needs their dependencies too; the
# package looks for them, LibTorch first where this build found it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
set(exported lockstep_flags xxhash hdf5_c)
foreach(library ${LOCKSTEP_MODULES} state_view device_work)
  if(TARGET lockstep_${library} AND NOT library STREQUAL app)
    set_target_properties(lockstep_${library} PROPERTIES EXPORT_NAME ${library})
    list(APPEND exported lockstep_${library})
  endif()
endforeach()
# All of them together: what a program of one's own links.
add_library(lockstep_library INTERFACE)
set_target_properties(lockstep_library PROPERTIES EXPORT_NAME lockstep)
target_link_libraries(lockstep_library INTERFACE lockstep_algorithms lockstep_checkpoint)

install(TARGETS lockstep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${exported} lockstep_library EXPORT lockstep ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT lockstep NAMESPACE lockstep:: FILE lockstepTargets.cmake DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lockstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

get_filename_component(torch_root "${LibTorch_INCLUDE_DIR}" DIRECTORY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lockstepConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lockstepConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
  cmake/FindLibTorch.cmake cmake/FindKokkosHost.cmake cmake/FindNccl.cmake DESTINATION ${package_dir})
