# find_package(onnx_tag) gives the target onnx_tag::onnx_tag.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(Protobuf)
include(${CMAKE_CURRENT_LIST_DIR}/onnx_tagTargets.cmake)
