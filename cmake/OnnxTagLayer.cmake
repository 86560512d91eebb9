# onnx_tag_layer(NAME [FOLDER folder] [EXCEPT file...] [DEPENDS layer...] [ROOMS room...] [LINK library...])
#
# Builds src/NAME (or FOLDER/NAME) with all folders below it as a static library,
# links the layers it uses, and refuses to configure when one of its files
# includes a layer that DEPENDS leaves out. The rule and the build cannot
# disagree: they are the same line. A main.cc belongs to a program, not to the
# library; it keeps the layer's rule. ROOMS are the folders below it, in the order
# in which they build on each other: none may include a later one.

# Which layer each public header belongs to.
set(ONNX_TAG_HEADER_error base)
set(ONNX_TAG_HEADER_model model)
set(ONNX_TAG_HEADER_hierarchy hierarchy)
set(ONNX_TAG_HEADER_tagging tagging)
set(ONNX_TAG_HEADER_mapping ladder)
set(ONNX_TAG_HEADER_recording recording)
set(ONNX_TAG_HEADER_transfer transfer)

function(onnx_tag_check_includes layer file allowed rooms)
  get_filename_component(name ${file} NAME)
  set(room "")
  if(rooms AND file MATCHES "/${layer}/([a-z_]+)/[^/]+$")
    set(room ${CMAKE_MATCH_1})
    list(FIND rooms ${room} own)
    if(own EQUAL -1)
      message(FATAL_ERROR "${layer}/${room} is no room of '${layer}'\n"
        "  add it to the ROOMS of ${layer} in src/CMakeLists.txt, behind those it uses")
    endif()
  endif()
  file(STRINGS ${file} includes REGEX "^[ \t]*#[ \t]*include[ \t]+\"")
  foreach(line IN LISTS includes)
    if(line MATCHES "\"onnx_tag/([a-z_]+)\\.h\"")
      set(used ${ONNX_TAG_HEADER_${CMAKE_MATCH_1}})
    elseif(line MATCHES "\"([a-z_]+)/[^\"]+\"")
      set(used ${CMAKE_MATCH_1})
    else()
      continue()
    endif()
    if(NOT used IN_LIST allowed)
      message(FATAL_ERROR "${name}: '${layer}' may not use '${used}'\n"
        "  it says: ${line}\n"
        "  add ${used} to the DEPENDS of ${layer} in src/CMakeLists.txt, or move the code to a layer that may")
    endif()
    if(room AND line MATCHES "\"${layer}/([a-z_]+)/")
      list(FIND rooms ${CMAKE_MATCH_1} at)
      if(at GREATER own)
        message(FATAL_ERROR "${name}: '${layer}/${room}' may not use '${layer}/${CMAKE_MATCH_1}'\n"
          "  it says: ${line}\n"
          "  move what both use to an earlier room; src/CMakeLists.txt has their order")
      endif()
    endif()
  endforeach()
  # A changed include is checked by the next build.
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

function(onnx_tag_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "DEPENDS;EXCEPT;LINK;ROOMS")
  if(NOT arg_FOLDER)
    set(arg_FOLDER src)
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/${arg_FOLDER}/${layer})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  foreach(header error model hierarchy recording tagging mapping transfer)
    if(ONNX_TAG_HEADER_${header} STREQUAL layer)
      list(APPEND headers ${PROJECT_SOURCE_DIR}/include/onnx_tag/${header}.h)
    endif()
  endforeach()
  set(allowed ${layer} ${arg_DEPENDS} generated)
  foreach(file IN LISTS headers sources)
    onnx_tag_check_includes(${layer} ${file} "${allowed}" "${arg_ROOMS}")
  endforeach()

  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  foreach(file IN LISTS arg_EXCEPT)
    list(REMOVE_ITEM sources ${folder}/${file})
  endforeach()
  add_library(onnx_tag_${layer} STATIC ${sources})
  target_include_directories(onnx_tag_${layer} PUBLIC
    ${PROJECT_SOURCE_DIR}/${arg_FOLDER} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(onnx_tag_${layer} PRIVATE onnx_tag_warnings)
  foreach(used IN LISTS arg_DEPENDS)
    target_link_libraries(onnx_tag_${layer} PUBLIC onnx_tag_${used})
  endforeach()
  target_link_libraries(onnx_tag_${layer} PRIVATE ${arg_LINK})
  # Parsing the standard library was 70 % of the time to compile.
  if(layer STREQUAL base)
    target_precompile_headers(onnx_tag_base PRIVATE <algorithm> <array> <cstdint> <functional>
      <map> <memory> <optional> <span> <string> <string_view> <unordered_map> <utility> <vector>
      <fmt/core.h>)
  else()
    target_precompile_headers(onnx_tag_${layer} REUSE_FROM onnx_tag_base)
  endif()
endfunction()
