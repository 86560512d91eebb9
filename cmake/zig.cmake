# A toolchain for any of zig's targets: clang, C++ library and system headers of macOS and Windows in one package of
# PyPI (ziglang). A file such as aarch64-windows.cmake sets ONNX_TAG_ZIG_TARGET and includes this one; the environment
# variable ONNX_TAG_ZIG names the zig program.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(zig $ENV{ONNX_TAG_ZIG})
if(NOT zig)
  find_program(zig zig REQUIRED)
endif()
set(CMAKE_C_COMPILER ${zig} cc -target ${ONNX_TAG_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${zig} c++ -target ${ONNX_TAG_ZIG_TARGET})
# zig's archiver is a word of zig, and CMAKE_AR is one file.
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "${zig} ar qcD <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "${zig} ar qD <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "${zig} ranlib -D <TARGET>")
endforeach()
if(CMAKE_SYSTEM_NAME STREQUAL Windows)
  set(CMAKE_RC_COMPILER ${zig})
endif()
# Only installing shared libraries would need it.
if(CMAKE_SYSTEM_NAME STREQUAL Darwin)
  set(CMAKE_INSTALL_NAME_TOOL /bin/false)
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# zig wraps clang's front end and has its own way with precompiled headers.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
