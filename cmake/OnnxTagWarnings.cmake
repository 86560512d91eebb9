# Warnings are a target; every layer links it. They are errors only on request:
# a newer compiler warns about more, and a user's build must not stop there.
add_library(onnx_tag_warnings INTERFACE)
target_compile_options(onnx_tag_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-qual -Wconversion
  -Wsign-conversion -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
  -Wformat=2)
if(ONNX_TAG_WERROR)
  # g++ 12 at -O3 sees a moved std::string read beyond its end.
  target_compile_options(onnx_tag_warnings INTERFACE
    -Werror $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overread>)
endif()
# g++ 12 sees overlapping copies in std::string (https://gcc.gnu.org/PR105651),
# in xxhash.h and std::string accesses out of bounds, and in std::optional and
# std::vector values that nobody set, at -O3 where there are none.
target_compile_options(onnx_tag_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
    -Wno-maybe-uninitialized -Wno-alloc-size-larger-than>)
# In a unity build the names of one file are those of its neighbours, too.
if(CMAKE_UNITY_BUILD)
  target_compile_options(onnx_tag_warnings INTERFACE
    -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
