# cmake -P EmbedOperators.cmake FILE FOLDER: reads data/operators.txt and makes
# op.h, an enumerator for each row, and operator_rows.inc, the rows as C++,
# sorted by name. The compiler refuses an unknown word, column or operator. A
# new column is a new member of `Operator` (src/core/graph/operators.h), before
# `like`, in the order in which rows write the columns.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${CMAKE_ARGV3} lines REGEX "^[^#]")
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
    if(scope)
      string(APPEND row ", .${key} = ${words}")  # one word
    else()
      string(APPEND row ", .${key} = {${words}}")
    endif()
  endforeach()
  string(APPEND rows "    ${row}, .like = ${like}},\n")
endforeach()
list(TRANSFORM names PREPEND "  k")
list(JOIN names ",\n" names)
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/op.h @ONLY CONTENT
"// Made by cmake/EmbedOperators.cmake from data/operators.txt.
#pragma once
#include <cstdint>
namespace onnx_tag {
enum class Op : std::uint16_t {
  kNone,
${names}
};
}  // namespace onnx_tag
")
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/operator_rows.inc @ONLY CONTENT "${rows}")
