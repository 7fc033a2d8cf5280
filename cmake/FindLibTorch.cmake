# Finds LibTorch by its headers and libraries, not by the wheel's TorchConfig, which stops on a CUDA wheel where no CUDA
# toolkit is installed. Hints: -DLibTorch_ROOT, Torch_DIR (the folder of TorchConfig.cmake) or the torch package of .venv.
# Defines the target LibTorch::LibTorch, LibTorch_VERSION, LibTorch_HAS_CUDA.
set(_hints ${LibTorch_ROOT})
foreach(_dir "${Torch_DIR}" "$ENV{Torch_DIR}")
  if(_dir)
    list(APPEND _hints "${_dir}/../../..")
  endif()
endforeach()
file(GLOB _wheels "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
list(APPEND _hints ${_wheels})

find_path(LibTorch_INCLUDE_DIR NAMES ATen/core/Tensor.h HINTS ${_hints} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_path(LibTorch_API_INCLUDE_DIR NAMES torch/nn/module.h HINTS ${_hints}
          PATH_SUFFIXES include/torch/csrc/api/include NO_DEFAULT_PATH)
foreach(_lib c10 torch_cpu torch_cuda c10_cuda)
  find_library(LibTorch_${_lib}_LIBRARY NAMES ${_lib} HINTS ${_hints} PATH_SUFFIXES lib NO_DEFAULT_PATH)
endforeach()
if(LibTorch_INCLUDE_DIR AND EXISTS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  file(STRINGS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h" _version REGEX "TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
elseif(LibTorch_API_INCLUDE_DIR)
  file(STRINGS "${LibTorch_API_INCLUDE_DIR}/torch/version.h" _version REGEX "TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
endif()
string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
string(REPLACE ";" "." LibTorch_VERSION "${_version}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_torch_cpu_LIBRARY LibTorch_c10_LIBRARY LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run `bash jobs/setup.sh`, or give -DTorch_DIR=<torch>/share/cmake/Torch")
if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  # Searched last: the wheel ships an fmt of its own beside its headers, which must not shadow the one that spdlog is built with.
  target_compile_options(LibTorch::LibTorch INTERFACE
    "SHELL:-idirafter \"${LibTorch_INCLUDE_DIR}\"" "SHELL:-idirafter \"${LibTorch_API_INCLUDE_DIR}\"")
  target_link_libraries(LibTorch::LibTorch INTERFACE ${LibTorch_torch_cpu_LIBRARY} ${LibTorch_c10_LIBRARY})
  set(LibTorch_HAS_CUDA OFF)
  if(LibTorch_torch_cuda_LIBRARY AND LibTorch_c10_cuda_LIBRARY)
    set(LibTorch_HAS_CUDA ON)
    # --no-as-needed: the CUDA libraries register their kernels when loaded, no symbol of theirs is named.
    target_link_libraries(LibTorch::LibTorch INTERFACE
      -Wl,--no-as-needed ${LibTorch_torch_cuda_LIBRARY} ${LibTorch_c10_cuda_LIBRARY} -Wl,--as-needed)
  endif()
  get_filename_component(_libdir ${LibTorch_torch_cpu_LIBRARY} DIRECTORY)
  target_link_options(LibTorch::LibTorch INTERFACE "-Wl,-rpath,${_libdir}")
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_API_INCLUDE_DIR)
