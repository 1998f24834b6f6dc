# Finds libtorch (a PyTorch wheel or an unpacked libtorch) and makes one target:
#   Libtorch::torch_cpu   torch_cpu and c10, headers, rpath
# Works with a CPU or a CUDA wheel and needs no toolkit; torch's own TorchConfig.cmake does not.
# Looked for in -DTORCH_ROOT=DIR (the folder that holds include/ and lib/), then build/venv, then
# python3's torch if its version is the wanted one.
# Sets Libtorch_FOUND, Libtorch_VERSION, Libtorch_ROOT_DIR.

set(_libtorch_python_version 2.13)

function(_libtorch_probe root)
  if(NOT Libtorch_ROOT_DIR AND EXISTS "${root}/include/ATen/core/Tensor.h"
     AND EXISTS "${root}/lib/libtorch_cpu.so")
    set(Libtorch_ROOT_DIR "${root}" PARENT_SCOPE)
  endif()
endfunction()

set(Libtorch_ROOT_DIR "")
if(TORCH_ROOT)
  _libtorch_probe("${TORCH_ROOT}")
  if(NOT Libtorch_ROOT_DIR)
    message(FATAL_ERROR "TORCH_ROOT=${TORCH_ROOT} holds no libtorch: "
                        "expected include/ATen/core/Tensor.h and lib/libtorch_cpu.so in it")
  endif()
else()
  file(GLOB _libtorch_venvs "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/torch")
  foreach(_root IN LISTS _libtorch_venvs)
    _libtorch_probe("${_root}")
  endforeach()
  if(NOT Libtorch_ROOT_DIR)
    find_program(_libtorch_python python3)
    if(_libtorch_python)
      # The version is read without importing torch, which would take seconds.
      execute_process(
        COMMAND ${_libtorch_python} -c "import importlib.metadata as m, importlib.util as u; v = m.version('torch'); assert v.startswith('${_libtorch_python_version}.'); print(u.find_spec('torch').submodule_search_locations[0])"
        OUTPUT_VARIABLE _root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(_root)
        _libtorch_probe("${_root}")
      endif()
    endif()
  endif()
endif()

if(Libtorch_ROOT_DIR)
  foreach(_part MAJOR MINOR PATCH)
    file(STRINGS "${Libtorch_ROOT_DIR}/include/torch/headeronly/version.h" _line
         REGEX "#define TORCH_VERSION_${_part} ")
    string(REGEX MATCH "[0-9]+" _libtorch_${_part} "${_line}")
  endforeach()
  set(Libtorch_VERSION "${_libtorch_MAJOR}.${_libtorch_MINOR}.${_libtorch_PATCH}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libtorch
  REQUIRED_VARS Libtorch_ROOT_DIR VERSION_VAR Libtorch_VERSION
  REASON_FAILURE_MESSAGE "run cmake/deps.sh, or pass -DTORCH_ROOT=<folder with include/ and lib/>")

if(Libtorch_FOUND AND NOT TARGET Libtorch::torch_cpu)
  add_library(Libtorch::c10 SHARED IMPORTED)
  set_target_properties(Libtorch::c10 PROPERTIES
    IMPORTED_LOCATION "${Libtorch_ROOT_DIR}/lib/libc10.so")
  add_library(Libtorch::torch_cpu SHARED IMPORTED)
  set_target_properties(Libtorch::torch_cpu PROPERTIES
    IMPORTED_LOCATION "${Libtorch_ROOT_DIR}/lib/libtorch_cpu.so"
    INTERFACE_INCLUDE_DIRECTORIES
      "${Libtorch_ROOT_DIR}/include;${Libtorch_ROOT_DIR}/include/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES Libtorch::c10)
endif()
