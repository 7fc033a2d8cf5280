# Finds Kokkos with a host backend: a working package configuration where there is one, else the headers and library
# that Debian's Trilinos packages ship (their CMake files do not load). Defines KokkosHost::Kokkos.
if(NOT TARGET KokkosHost::Kokkos)
  find_path(KokkosHost_INCLUDE_DIR NAMES Kokkos_Core.hpp HINTS ${Kokkos_ROOT} $ENV{Kokkos_ROOT}
            PATH_SUFFIXES include include/trilinos trilinos kokkos)
  find_library(KokkosHost_LIBRARY NAMES trilinos_kokkoscore kokkoscore HINTS ${Kokkos_ROOT} $ENV{Kokkos_ROOT} PATH_SUFFIXES lib lib64)
  if(KokkosHost_INCLUDE_DIR AND EXISTS "${KokkosHost_INCLUDE_DIR}/KokkosCore_config.h")
    file(STRINGS "${KokkosHost_INCLUDE_DIR}/KokkosCore_config.h" _line REGEX "define KOKKOS_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+$" _number "${_line}")
    if(_number)
      math(EXPR _major "${_number} / 10000")
      math(EXPR _minor "${_number} / 100 % 100")
      math(EXPR _patch "${_number} % 100")
      set(KokkosHost_VERSION "${_major}.${_minor}.${_patch}")
    endif()
  endif()
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(KokkosHost REQUIRED_VARS KokkosHost_LIBRARY KokkosHost_INCLUDE_DIR
    VERSION_VAR KokkosHost_VERSION
    REASON_FAILURE_MESSAGE "install libtrilinos-kokkos-dev, or give -DKokkos_ROOT=<prefix>")
  if(KokkosHost_FOUND)
    add_library(KokkosHost::Kokkos INTERFACE IMPORTED)
    target_include_directories(KokkosHost::Kokkos SYSTEM INTERFACE ${KokkosHost_INCLUDE_DIR})
    target_link_libraries(KokkosHost::Kokkos INTERFACE ${KokkosHost_LIBRARY} ${CMAKE_DL_LIBS})
  endif()
endif()
mark_as_advanced(KokkosHost_INCLUDE_DIR KokkosHost_LIBRARY)
