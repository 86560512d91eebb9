# Libraries for a build for another system: tools/release/cross.sh unpacks them below ONNX_TAG_LIBRARIES, from Debian's
# packages. /usr/include itself would bring this machine's C library along.
#
#   include/        CLI, fmt, nlohmann, xxhash.h
#   protobuf/       the source of protobuf; protoc of this machine must have its version
#   googletest/     the source of GoogleTest

add_library(onnx_tag_headers INTERFACE)
target_include_directories(onnx_tag_headers SYSTEM INTERFACE ${ONNX_TAG_LIBRARIES}/include)
add_library(CLI11::CLI11 ALIAS onnx_tag_headers)
add_library(nlohmann_json::nlohmann_json ALIAS onnx_tag_headers)
add_library(fmt::fmt-header-only ALIAS onnx_tag_headers)

# Their files do not compile as one.
set(CMAKE_UNITY_BUILD OFF)
set(protobuf_BUILD_TESTS OFF CACHE BOOL "" FORCE)
set(protobuf_BUILD_PROTOC_BINARIES OFF CACHE BOOL "" FORCE)
set(protobuf_BUILD_SHARED_LIBS OFF CACHE BOOL "" FORCE)
set(protobuf_INSTALL OFF CACHE BOOL "" FORCE)
set(protobuf_WITH_ZLIB OFF CACHE BOOL "" FORCE)
add_subdirectory(${ONNX_TAG_LIBRARIES}/protobuf protobuf EXCLUDE_FROM_ALL SYSTEM)
find_program(ONNX_TAG_PROTOC protoc REQUIRED)
add_executable(protobuf::protoc IMPORTED GLOBAL)
set_target_properties(protobuf::protoc PROPERTIES IMPORTED_LOCATION ${ONNX_TAG_PROTOC})

if(BUILD_TESTING)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  add_subdirectory(${ONNX_TAG_LIBRARIES}/googletest googletest EXCLUDE_FROM_ALL SYSTEM)
endif()
unset(CMAKE_UNITY_BUILD)
