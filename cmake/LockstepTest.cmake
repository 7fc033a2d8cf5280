# lockstep_test(NAME [TORCH] SOURCES a.cpp ... [USES module ...] [LINK target ...] [RANKS 1 2 4]
#               [LABELS unit ...] [TIMEOUT seconds] [ENVIRONMENT A=b ...] [STARTS_MPI])
# Builds the program NAME. Without RANKS it is a plain GoogleTest program with one ctest entry NAME. With RANKS it takes the MPI main of
# tests/support and gets one entry NAME_np<R> a rank count, started by MPIEXEC_EXECUTABLE, label mpi added. STARTS_MPI: the plain
# program, or one that it starts, starts MPI.
function(lockstep_test name)
  cmake_parse_arguments(T "TORCH;STARTS_MPI" "TIMEOUT" "SOURCES;USES;LINK;RANKS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE lockstep_flags GTest::gtest GTest::gmock ${T_LINK})
  # The program under test is what users run; the tests' own code only has to compile fast. No bit depends on it.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  foreach(used ${T_USES})
    target_link_libraries(${name} PRIVATE lockstep_${used})
  endforeach()
  if(T_TORCH)
    target_link_libraries(${name} PRIVATE LibTorch::LibTorch)
    lockstep_use_torch_header(${name})
  endif()
  set(environment ${LOCKSTEP_TEST_ENVIRONMENT} ${T_ENVIRONMENT})
  if(T_RANKS)
    target_link_libraries(${name} PRIVATE lockstep_test_mpi_main)
    foreach(ranks ${T_RANKS})
      set(entry ${name}_np${ranks})
      add_test(NAME ${entry} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
               $<TARGET_FILE:${name}> ${MPIEXEC_POSTFLAGS})
      set_tests_properties(${entry} PROPERTIES LABELS "${T_LABELS};mpi" TIMEOUT ${T_TIMEOUT} PROCESSORS ${ranks}
                           ENVIRONMENT "${environment}" FIXTURES_REQUIRED mpi_works)
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${environment}")
    # Open MPI leaks from modules that it unloads, which no suppression can name: the preset looks for no leaks, only
    # programs without MPI do.
    if(LOCKSTEP_SANITIZE AND NOT T_STARTS_MPI)
      set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_leaks=1")
    endif()
  endif()
endfunction()
