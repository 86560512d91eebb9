# onnx_tag_layer(NAME SOURCES file... [DEPENDS layer...] [LINK library...])
#
# Builds src/NAME as a static library, links the layers it uses, and refuses to
# configure when one of its files includes a layer that DEPENDS leaves out. The
# rule and the build cannot disagree: they are the same line. A main.cc is a
# program's, not the library's; it keeps the layer's rule.

# Which layer each public header belongs to.
set(ONNX_TAG_HEADER_error base)
set(ONNX_TAG_HEADER_model model)
set(ONNX_TAG_HEADER_hierarchy hierarchy)
set(ONNX_TAG_HEADER_tagging tagging)
set(ONNX_TAG_HEADER_mapping mapping)
set(ONNX_TAG_HEADER_recording recording)
set(ONNX_TAG_HEADER_transfer transfer)

function(onnx_tag_check_includes layer file allowed)
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
      get_filename_component(name ${file} NAME)
      message(FATAL_ERROR "${name}: '${layer}' may not use '${used}'\n"
        "  it says: ${line}\n"
        "  add ${used} to the DEPENDS of ${layer} in src/CMakeLists.txt, or move the code to a layer that may")
    endif()
  endforeach()
  # A changed include is checked by the next build.
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

function(onnx_tag_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINK")
  set(folder ${PROJECT_SOURCE_DIR}/src/${layer})
  list(TRANSFORM arg_SOURCES PREPEND ${folder}/)
  add_library(onnx_tag_${layer} STATIC ${arg_SOURCES})
  target_include_directories(onnx_tag_${layer} PUBLIC
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(onnx_tag_${layer} PRIVATE onnx_tag_warnings)
  foreach(used IN LISTS arg_DEPENDS)
    target_link_libraries(onnx_tag_${layer} PUBLIC onnx_tag_${used})
  endforeach()
  target_link_libraries(onnx_tag_${layer} PRIVATE ${arg_LINK})

  set(allowed ${layer} ${arg_DEPENDS} generated)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.h ${folder}/*.cc)
  foreach(header error model hierarchy recording tagging mapping transfer)
    if(ONNX_TAG_HEADER_${header} STREQUAL layer)
      list(APPEND files ${PROJECT_SOURCE_DIR}/include/onnx_tag/${header}.h)
    endif()
  endforeach()
  foreach(file IN LISTS files)
    onnx_tag_check_includes(${layer} ${file} "${allowed}")
    if(file MATCHES "\\.cc$" AND NOT file MATCHES "/main\\.cc$" AND NOT file IN_LIST arg_SOURCES)
      message(FATAL_ERROR "${file} is not in the SOURCES of '${layer}'")
    endif()
  endforeach()
endfunction()
