# cmake -P EmbedOperators.cmake FILE FOLDER: reads src/data/operators.txt and makes
#   op.h                an enumerator for each row
#   operator_rows.inc   the rows as C++, sorted by name, for src/core/graph
#   size_rules.h        the functions that shape=, type= and cost= name
#   size_rule_rows.inc  those of each row, and what combine= and convert= name,
#                       for src/uses/sizes
# The compiler refuses an unknown word, and an operator that `like` does not
# find; the linker refuses a rule without a function.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${CMAKE_ARGV3} lines REGEX "^[^#]")
list(SORT lines)
set(shape_type "Facts")
set(type_type "std::int32_t")
set(cost_type "Dim")

# The words of a list with a capital: "dataScale" is DataScale.
function(capitalize words result)
  set(capital)
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    list(APPEND capital ${first}${rest})
  endforeach()
  set(${result} ${capital} PARENT_SCOPE)
endfunction()

set(names)
set(rows)
set(rule_rows)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([A-Za-z0-9_]+)(@([a-z.]+))? +([^ =]+)(( +[a-z_]+=[^ =]+)*)$")
    message(FATAL_ERROR "src/data/operators.txt: cannot read '${line}'\n  expected: NAME KINDS COLUMN=VALUE...")
  endif()
  set(row "{.name = \"${CMAKE_MATCH_1}\", .domain = \"${CMAKE_MATCH_3}\"")
  set(name ${CMAKE_MATCH_1})
  if(CMAKE_MATCH_3)
    string(APPEND name Contrib)
  endif()
  separate_arguments(columns UNIX_COMMAND "kinds=${CMAKE_MATCH_4}${CMAKE_MATCH_5}")
  list(APPEND names ${name})
  set(like "Op::k${name}")
  set(rules)
  foreach(column IN LISTS columns)
    string(REGEX MATCH "^([a-z_]+)=(.*)$" all "${column}")
    set(key ${CMAKE_MATCH_1})
    string(REPLACE "," ";" value "${CMAKE_MATCH_2}")
    if(key STREQUAL "like")
      set(like "Op::k${value}")
    elseif(key STREQUAL "combine" OR key STREQUAL "convert")
      capitalize("${value}" function)
      list(APPEND rules ".${key} = &Arithmetic::${function}")
    elseif(DEFINED ${key}_type)
      # shape=gather(0,1): the rule gets the shapes of inputs 0 and 1.
      string(REGEX MATCH "^([^(]*)(\\((.*)\\))?$" all "${value}")
      set(inputs "${CMAKE_MATCH_3}")
      capitalize("${CMAKE_MATCH_1}" rule)
      # A digit at the end is an argument: cost=perOutput5 is PerOutput<5>.
      if(rule MATCHES "^(.*[a-z])([0-9])$")
        set(rule "${CMAKE_MATCH_1}<${CMAKE_MATCH_2}>")
        list(APPEND ${key}_templates ${CMAKE_MATCH_1})
      else()
        set(parameters "const NodeView& node")
        foreach(input IN LISTS inputs)
          string(APPEND parameters ", const Shape&")
        endforeach()
        list(APPEND ${key}_functions "${rule}(${parameters})")
      endif()
      if(NOT inputs STREQUAL "")
        list(JOIN inputs ", " inputs)
        list(APPEND rules ".${key} = Known<${key}::${rule}, ${inputs}>")
      else()
        list(APPEND rules ".${key} = ${key}::${rule}")
      endif()
    else()
      capitalize("${value}" words)
      list(TRANSFORM words PREPEND "k")
      list(JOIN words ", " words)
      string(APPEND row ", .${key} = {${words}}")
    endif()
  endforeach()
  string(APPEND rows "    ${row}, .like = ${like}},\n")
  list(JOIN rules ", " rules)
  string(APPEND rule_rows "    {${rules}},  // ${name}\n")
endforeach()
list(TRANSFORM names PREPEND "  k")
list(JOIN names ",\n" names)
foreach(key shape type cost)
  list(REMOVE_DUPLICATES ${key}_functions)
  foreach(template IN LISTS ${key}_templates)
    list(REMOVE_ITEM ${key}_functions "${template}(const NodeView& node)")
  endforeach()
  list(SORT ${key}_functions)
  string(APPEND declarations "namespace ${key} {\n")
  foreach(function IN LISTS ${key}_functions)
    string(APPEND declarations "${${key}_type} ${function};\n")
  endforeach()
  string(APPEND declarations "}  // namespace ${key}\n")
endforeach()
set(made "// Made by cmake/EmbedOperators.cmake from src/data/operators.txt.\n")
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/op.h @ONLY CONTENT
"${made}#pragma once
#include <cstdint>
namespace onnx_tag {
enum class Op : std::uint16_t {
  kNone,
${names}
};
}  // namespace onnx_tag
")
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/operator_rows.inc @ONLY CONTENT "${rows}")
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/size_rules.h @ONLY CONTENT
"${made}#pragma once
#include \"uses/sizes/rules/node_view.h\"
namespace onnx_tag::sizes {
${declarations}}  // namespace onnx_tag::sizes
")
file(CONFIGURE OUTPUT ${CMAKE_ARGV4}/size_rule_rows.inc @ONLY CONTENT "${rule_rows}")
