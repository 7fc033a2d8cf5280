# Finds NCCL and the CUDA runtime as Python wheels or a toolkit lay them out. Headers and libraries suffice: no driver, no GPU and
# no compiler of CUDA is needed to build and link. Hints: -DNccl_ROOT, -DCUDAToolkit_ROOT, the wheels beside LibTorch's and
# those of .venv. Defines the targets Nccl::Nccl and Nccl::CudaRuntime, Nccl_VERSION.
set(_hints ${Nccl_ROOT} ${CUDAToolkit_ROOT} $ENV{CUDA_HOME})
if(LibTorch_INCLUDE_DIR)
  get_filename_component(_packages "${LibTorch_INCLUDE_DIR}/../.." ABSOLUTE)
  file(GLOB _wheels "${_packages}/nvidia/nccl" "${_packages}/nvidia/cu1*")
  list(APPEND _hints ${_wheels})
endif()
file(GLOB _wheels "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/nccl"
                  "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu1*")
list(APPEND _hints ${_wheels})

find_path(Nccl_INCLUDE_DIR NAMES nccl.h HINTS ${_hints} PATH_SUFFIXES include)
find_path(CudaRuntime_INCLUDE_DIR NAMES cuda_runtime_api.h HINTS ${_hints} PATH_SUFFIXES include)
# The wheels carry no links without a number.
find_library(Nccl_LIBRARY NAMES nccl libnccl.so.2 HINTS ${_hints} PATH_SUFFIXES lib lib64)
find_library(CudaRuntime_LIBRARY NAMES cudart libcudart.so.13 libcudart.so.12 HINTS ${_hints} PATH_SUFFIXES lib lib64)
if(Nccl_INCLUDE_DIR)
  file(STRINGS "${Nccl_INCLUDE_DIR}/nccl.h" _version REGEX "#define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
  string(REPLACE ";" "." Nccl_VERSION "${_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl
  REQUIRED_VARS Nccl_LIBRARY Nccl_INCLUDE_DIR CudaRuntime_LIBRARY CudaRuntime_INCLUDE_DIR
  VERSION_VAR Nccl_VERSION
  REASON_FAILURE_MESSAGE "run `bash jobs/setup.sh`, or configure with -DLOCKSTEP_NCCL=OFF")
if(Nccl_FOUND AND NOT TARGET Nccl::Nccl)
  add_library(Nccl::CudaRuntime INTERFACE IMPORTED)
  target_include_directories(Nccl::CudaRuntime SYSTEM INTERFACE ${CudaRuntime_INCLUDE_DIR})
  target_link_libraries(Nccl::CudaRuntime INTERFACE ${CudaRuntime_LIBRARY})
  get_filename_component(_libdir ${CudaRuntime_LIBRARY} DIRECTORY)
  target_link_options(Nccl::CudaRuntime INTERFACE "-Wl,-rpath,${_libdir}")
  add_library(Nccl::Nccl INTERFACE IMPORTED)
  target_include_directories(Nccl::Nccl SYSTEM INTERFACE ${Nccl_INCLUDE_DIR})
  # Only what calls it loads it: NCCL's library holds kernels for every kind of GPU.
  target_link_libraries(Nccl::Nccl INTERFACE -Wl,--push-state,--as-needed ${Nccl_LIBRARY} -Wl,--pop-state Nccl::CudaRuntime)
  get_filename_component(_libdir ${Nccl_LIBRARY} DIRECTORY)
  target_link_options(Nccl::Nccl INTERFACE "-Wl,-rpath,${_libdir}")
endif()
mark_as_advanced(Nccl_INCLUDE_DIR CudaRuntime_INCLUDE_DIR Nccl_LIBRARY CudaRuntime_LIBRARY)
