# onnx_tag_embed(LAYER FILE CONSTANT): makes generated/<stem>.h for LAYER, with
# `inline constexpr std::string_view CONSTANT`, the text of data/FILE without
# its comment lines, so that the program reads no file at start.
function(onnx_tag_embed layer file constant)
  get_filename_component(stem ${file} NAME_WE)
  set(source ${PROJECT_SOURCE_DIR}/data/${file})
  set(header ${PROJECT_BINARY_DIR}/generated/generated/${stem}.h)
  set(maker ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -P ${maker} ${source} ${constant} ${header}
    DEPENDS ${source} ${maker}
    VERBATIM)
  target_sources(onnx_tag_${layer} PRIVATE ${header})
endfunction()

# onnx_tag_operators(): reads data/operators.txt and makes generated/op.h, an
# enumerator for each row, and generated/operator_rows.inc, the rows as C++,
# sorted by name. The compiler refuses an unknown word, column or operator. A
# new column is a new member of `Operator` (src/graph/operators.h), before
# `like`, in the order in which rows write the columns.
function(onnx_tag_operators)
  set(source ${PROJECT_SOURCE_DIR}/data/operators.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} lines REGEX "^[^#]")
  list(SORT lines)
  set(names)
  set(rows)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([A-Za-z0-9_]+)(@([a-z.]+))? +([^ =]+)(( +[a-z_]+=[^ =]+)*)$")
      message(FATAL_ERROR "data/operators.txt: cannot read '${line}'\n  expected: NAME KINDS COLUMN=VALUE...")
    endif()
    set(row "{.name = \"${CMAKE_MATCH_1}\", .domain = \"${CMAKE_MATCH_3}\"")
    set(name ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_3)
      string(APPEND name Contrib)
    endif()
    separate_arguments(columns UNIX_COMMAND "kinds=${CMAKE_MATCH_4}${CMAKE_MATCH_5}")
    list(APPEND names ${name})
    set(like "Op::k${name}")
    foreach(column IN LISTS columns)
      string(REGEX MATCH "^([a-z_]+)=(.*)$" all "${column}")
      set(key ${CMAKE_MATCH_1})
      set(value ${CMAKE_MATCH_2})
      if(key STREQUAL "like")
        set(like "Op::k${value}")
        continue()
      endif()
      # The words of `shape` are enumerators of ShapeRule, and so on.
      set(scope)
      if(NOT key MATCHES "^(kinds|inputs)$")
        string(SUBSTRING ${key} 0 1 first)
        string(SUBSTRING ${key} 1 -1 rest)
        string(TOUPPER ${first} first)
        set(scope "${first}${rest}Rule::")
      endif()
      string(REPLACE "," ";" value "${value}")
      set(words)
      foreach(word IN LISTS value)
        string(SUBSTRING ${word} 0 1 first)
        string(SUBSTRING ${word} 1 -1 rest)
        string(TOUPPER ${first} first)
        list(APPEND words "${scope}k${first}${rest}")
      endforeach()
      list(JOIN words ", " words)
      string(APPEND row ", .${key} = {${words}}")
    endforeach()
    string(APPEND rows "    ${row}, .like = ${like}},\n")
  endforeach()
  list(TRANSFORM names PREPEND "  k")
  list(JOIN names ",\n" names)
  set(folder ${PROJECT_BINARY_DIR}/generated/generated)
  file(CONFIGURE OUTPUT ${folder}/op.h @ONLY CONTENT
"// Made by cmake/OnnxTagEmbed.cmake from data/operators.txt.
#pragma once
#include <cstdint>
namespace onnx_tag {
enum class Op : std::uint16_t {
  kNone,
${names}
};
}  // namespace onnx_tag
")
  file(CONFIGURE OUTPUT ${folder}/operator_rows.inc @ONLY CONTENT "${rows}")
endfunction()
