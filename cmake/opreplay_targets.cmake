# How every target of this project is compiled. Usage requirements only, no global flags.

find_program(CCACHE ccache)
find_program(MOLD mold)

# opreplay_compile_options(target [UNINSTRUMENTED]): C++20, position independent, warnings in
# developer mode. UNINSTRUMENTED keeps the sanitizers out of the target's own code.
function(opreplay_compile_options target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "UNINSTRUMENTED" "" "")
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  if(CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
  if(OPREPLAY_DEVELOPER)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Werror
                                             # designated initialisers leave the rest at its default
                                             -Wno-missing-field-initializers)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # False alarms in std::string concatenation, GCC bug 105651.
      target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
  endif()
  if(OPREPLAY_SANITIZE AND NOT ARG_UNINSTRUMENTED)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-omit-frame-pointer
                                             -fno-sanitize-recover=undefined)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(MOLD)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
endfunction()

# opreplay_torch_options(target): for what includes torch headers. NDEBUG always: without it
# RecordFunction's inputs() asserts inside the callback and captures are silently empty.
function(opreplay_torch_options target)
  opreplay_compile_options(${target})
  target_compile_definitions(${target} PRIVATE NDEBUG)
  target_link_libraries(${target} PRIVATE Libtorch::torch_cpu)
endfunction()
