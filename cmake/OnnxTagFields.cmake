# onnx_tag_fields(SCHEMA HEADER)
#
# Writes the field numbers of a .proto file as constants, `onnx::NodeProto::kOpType`, with the kind of their encoding as
# their type, and a table of all fields: what each holds, and for a message which one.
# tests/file/protobuf/fields_test.cc compares them with protobuf's descriptors.
function(onnx_tag_fields schema header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schema})
  file(READ ${schema} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX MATCHALL "message [A-Za-z]+ {|oneof [a-z]+ {|}|(repeated )?[A-Za-z0-9]+ [a-z_0-9]+ = [0-9]+" tokens "${text}")
  set(open)      # names of the messages around, "" for a oneof
  set(messages)  # in the order in which they end
  foreach(token IN LISTS tokens)
    if(token MATCHES "^message ([A-Za-z]+)")
      list(APPEND open ${CMAKE_MATCH_1})
    elseif(token MATCHES "^oneof")
      list(APPEND open oneof)
    elseif(token STREQUAL "}")
      list(POP_BACK open last)
      if(NOT last STREQUAL oneof)
        string(JOIN "" name ${open} ${last})
        list(APPEND messages ${name})
      endif()
    else()
      string(REGEX MATCH "^(repeated )?([A-Za-z0-9]+) ([a-z_0-9]+) = ([0-9]+)$" matched "${token}")
      set(repeated "${CMAKE_MATCH_1}")
      set(type ${CMAKE_MATCH_2})
      set(field ${CMAKE_MATCH_3})
      set(number ${CMAKE_MATCH_4})
      set(around ${open})
      list(REMOVE_ITEM around oneof)
      string(JOIN "" name ${around})
      string(JOIN "." path ${around})
      set(child kNone)
      set(holds kNumber)
      if(type MATCHES "^u?int(32|64)$")
        set(kind VarintField)
        set(list kIntegers)
      elseif(type STREQUAL float)
        set(kind FixedField)
        set(list kFloats)
      elseif(type STREQUAL double)
        set(kind FixedField)
        set(list kDoubles)
      else()
        set(kind BytesField)
        set(list)
        set(holds kText)
        if(NOT type MATCHES "^(string|bytes)$")
          set(holds kMessage)
          # A message inside another has both names.
          string(FIND "${text}" "\nmessage ${type} {" top)
          if(top EQUAL -1)
            set(child k${name}${type})
          else()
            set(child k${type})
          endif()
        endif()
      endif()
      if(repeated AND list)
        set(holds ${list})
      endif()
      set(constant k)
      string(REPLACE "_" ";" words ${field})
      foreach(word IN LISTS words)
        string(SUBSTRING ${word} 0 1 first)
        string(SUBSTRING ${word} 1 -1 rest)
        string(TOUPPER ${first} first)
        string(APPEND constant ${first}${rest})
      endforeach()
      string(APPEND constants_${name} "  static constexpr ${kind} ${constant}{${number}};\n")
      string(APPEND table "    {\"${path}\", \"${field}\", \"${kind}\", ${number}, MessageType::k${name}, Holds::${holds}, "
        "MessageType::${child}},\n")
    endif()
  endforeach()
  set(structs)
  set(enumerators "  kNone")
  foreach(name IN LISTS messages)
    string(APPEND structs "\nstruct ${name} {\n${constants_${name}}};\n")
    string(APPEND enumerators ",\n  k${name}")
  endforeach()
  list(LENGTH messages count)
  math(EXPR count "${count} + 1")
  get_filename_component(file ${schema} NAME)
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "// Field numbers of the ONNX specification. Made by CMake from ${file}.
#pragma once

#include <cstddef>
#include <cstdint>

#include \"file/model/field_kinds.h\"

namespace onnx_tag::onnx {
${structs}
enum class MessageType : std::uint8_t {
${enumerators}
};
inline constexpr std::size_t kMessages = ${count};

struct FieldInfo {
  const char* message;
  const char* field;
  const char* kind;
  std::uint32_t number;
  MessageType in;
  Holds holds;
  MessageType child;  // kNone: it holds no message
};
inline constexpr FieldInfo kAllFields[] = {
${table}};

}  // namespace onnx_tag::onnx
")
endfunction()
