# lockstep_module(NAME [TORCH] SOURCES a.cpp ... [PLAIN b.cpp ...] [APART c.cpp ...] [USES module ...] [LINK target ...])
# A static library lockstep_NAME from src/NAME. TORCH: sources include LibTorch and take the shared precompiled header.
# Loading that costs each compilation seconds, so the SOURCES of such a module are compiled several at a time (not with
# LOCKSTEP_UNITY=OFF, as tools that read one source at a time want it). APART: not together with others, whose local
# names they share. PLAIN: without the header, since they include no LibTorch. USES: modules above it in the design's
# table. LINK: outside libraries, private to the module.
function(lockstep_module name)
  cmake_parse_arguments(M "TORCH" "" "SOURCES;PLAIN;APART;USES;LINK" ${ARGN})
  add_library(lockstep_${name} STATIC ${M_SOURCES} ${M_PLAIN} ${M_APART})
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags)
  foreach(used ${M_USES})
    target_link_libraries(lockstep_${name} PUBLIC lockstep_${used})
  endforeach()
  target_link_libraries(lockstep_${name} PRIVATE ${M_LINK})
  if(M_TORCH)
    target_link_libraries(lockstep_${name} PUBLIC LibTorch::LibTorch)
    lockstep_use_torch_header(lockstep_${name})
    set_target_properties(lockstep_${name} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY} UNITY_BUILD_BATCH_SIZE 5)
    set_source_files_properties(${M_PLAIN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    set_source_files_properties(${M_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

function(lockstep_use_torch_header target)
  if(LOCKSTEP_PRECOMPILED_HEADER)
    target_precompile_headers(${target} REUSE_FROM lockstep_torch_header)
  endif()
endfunction()
