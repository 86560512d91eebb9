# cmake -P CheckIncludes.cmake RULE: stops where a file of a layer includes what
# the layer may not use, else makes RULE.checked. RULE.cmake, which
# OnnxTagLayer.cmake writes, has the layer, its files and what they may include.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_ARGV3}.cmake)
foreach(entry IN LISTS public)
  string(REGEX MATCH "^(.*)=(.*)$" entry "${entry}")
  set(layer_of_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()

foreach(file IN LISTS files)
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
      set(used ${layer_of_${CMAKE_MATCH_1}})
    elseif(line MATCHES "\"([a-z_]+)/([a-z_]+)/[^\"]+\"" AND CMAKE_MATCH_1 IN_LIST storeys)
      set(used ${CMAKE_MATCH_2})
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
    if(room AND line MATCHES "[\"/]${layer}/([a-z_]+)/")
      list(FIND rooms ${CMAKE_MATCH_1} at)
      if(at GREATER own)
        message(FATAL_ERROR "${name}: '${layer}/${room}' may not use '${layer}/${CMAKE_MATCH_1}'\n"
          "  it says: ${line}\n"
          "  move what both use to an earlier room; src/CMakeLists.txt has their order")
      endif()
    endif()
  endforeach()
endforeach()
file(TOUCH ${CMAKE_ARGV3}.checked)
