# onnx_tag_layer([STOREY/]NAME [FOLDER folder] [DEPENDS layer...] [ROOMS room...] [LINK library...])
#
# Builds src/STOREY/NAME (or FOLDER/NAME) with all folders below it as a static
# library and links the layers it uses. CMake stops when DEPENDS has a layer of a
# later storey; the build stops when one of its files includes a layer that
# DEPENDS leaves out. The rule and the build cannot disagree: they are the same
# line. Files of another system (x_win32.cc, x_posix.cc, x_linux.cc,
# x_macos.cc) are left out. A main.cc belongs to a program, not to the library; it keeps the
# layer's rule. ROOMS are the folders below it, in the order in which they build
# on each other: none may include a later one.

# The storeys of src/, bottom up: each uses itself and those before it.
set(ONNX_TAG_STOREYS base file core clues mapping uses app)

# Which layer each public header belongs to.
set(ONNX_TAG_HEADER_LAYERS bytes=base error=base ids=base interner=base message=base model=model
  hierarchy=hierarchy source_lines=tagging tagging=tagging mapping=ladder query=query recording=recording
  transfer=transfer tagger=library)

if(WIN32)
  set(ONNX_TAG_OTHER_SYSTEMS "posix|linux|macos")
elseif(APPLE)
  set(ONNX_TAG_OTHER_SYSTEMS "win32|linux")
else()
  set(ONNX_TAG_OTHER_SYSTEMS "win32|macos")
endif()

function(onnx_tag_layer path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "DEPENDS;LINK;ROOMS")
  get_filename_component(layer ${path} NAME)
  if(NOT arg_FOLDER)
    set(arg_FOLDER src)
    string(REGEX MATCH "^[a-z]+" storey ${path})
    list(FIND ONNX_TAG_STOREYS ${storey} own)
    foreach(used IN LISTS arg_DEPENDS)
      get_property(storey_of_used GLOBAL PROPERTY onnx_tag_storey_${used})
      list(FIND ONNX_TAG_STOREYS "${storey_of_used}" at)
      if(own EQUAL -1 OR at EQUAL -1 OR at GREATER own)
        message(FATAL_ERROR "'${path}' may not use '${used}', which is not of its storey or an earlier one\n"
          "  move the code that needs it to a later storey; cmake/OnnxTagLayer.cmake has their order")
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY onnx_tag_storey_${layer} ${storey})
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/${arg_FOLDER}/${path})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  foreach(entry IN LISTS ONNX_TAG_HEADER_LAYERS)
    if(entry MATCHES "^(.*)=${layer}$")
      list(APPEND headers ${PROJECT_SOURCE_DIR}/include/onnx_tag/${CMAKE_MATCH_1}.h)
    endif()
  endforeach()

  # A step of the build, not of CMake: a step of CMake would run again for the
  # whole project after each edit, which took 3.2 s; this takes 0.02 s.
  set(rule ${PROJECT_BINARY_DIR}/layers/${layer})
  set(files ${headers} ${sources})
  file(CONFIGURE OUTPUT ${rule}.cmake @ONLY CONTENT
"set(layer @layer@)
set(storeys @ONNX_TAG_STOREYS@)
set(allowed @layer@ @arg_DEPENDS@ generated)
set(rooms @arg_ROOMS@)
set(public @ONNX_TAG_HEADER_LAYERS@)
set(files @files@)
")
  set(check ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake)
  add_custom_command(OUTPUT ${rule}.checked
    COMMAND ${CMAKE_COMMAND} -P ${check} ${rule}
    DEPENDS ${files} ${rule}.cmake ${check}
    COMMENT "Checking what ${layer} includes"
    VERBATIM)
  add_custom_target(onnx_tag_${layer}_rule DEPENDS ${rule}.checked)

  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(${ONNX_TAG_OTHER_SYSTEMS})\\.cc$")
  add_library(onnx_tag_${layer} STATIC ${sources})
  add_dependencies(onnx_tag_${layer} onnx_tag_${layer}_rule)
  target_include_directories(onnx_tag_${layer} PUBLIC
    ${PROJECT_SOURCE_DIR}/${arg_FOLDER} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(onnx_tag_${layer} PRIVATE onnx_tag_warnings)
  foreach(used IN LISTS arg_DEPENDS)
    target_link_libraries(onnx_tag_${layer} PUBLIC onnx_tag_${used})
  endforeach()
  target_link_libraries(onnx_tag_${layer} PRIVATE ${arg_LINK})
  # The first layer that is compiled like this has the headers for the others.
  set(precompiled base)
  if(storey IN_LIST ONNX_TAG_UNOPTIMIZED)
    target_compile_options(onnx_tag_${layer} PRIVATE -O0)
    get_property(precompiled GLOBAL PROPERTY onnx_tag_unoptimized_headers)
    if(NOT precompiled)
      set(precompiled ${layer})
      set_property(GLOBAL PROPERTY onnx_tag_unoptimized_headers ${layer})
    endif()
  endif()
  # Parsing the standard library was 70 % of the time to compile.
  if(layer STREQUAL precompiled)
    target_precompile_headers(onnx_tag_${layer} PRIVATE <algorithm> <array> <cstdint> <functional>
      <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
      <fmt/core.h>)
  else()
    target_precompile_headers(onnx_tag_${layer} REUSE_FROM onnx_tag_${precompiled})
  endif()
endfunction()

# onnx_tag_around(TARGET...): no part of the program, so compiled quickly. What
# is measured and tested is optimized as it is shipped.
function(onnx_tag_around)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(${target} REUSE_FROM onnx_tag_base)
  endforeach()
endfunction()
