# onnx_tag_fields(SCHEMA HEADER)
#
# Writes the field numbers of a .proto file as constants, `onnx::NodeProto::kOpType`, with the kind of their encoding as
# their type. Done by CMake, not by protoc: a build without protobuf needs them, too.
# tests/file/protobuf/fields_test.cc compares them with protobuf's descriptors.
function(onnx_tag_fields schema header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schema})
  file(READ ${schema} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX MATCHALL "message [A-Za-z]+ {|oneof [a-z]+ {|}|[A-Za-z0-9]+ [a-z_0-9]+ = [0-9]+" tokens "${text}")
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
      string(REGEX MATCH "^([A-Za-z0-9]+) ([a-z_0-9]+) = ([0-9]+)$" matched "${token}")
      set(type ${CMAKE_MATCH_1})
      set(field ${CMAKE_MATCH_2})
      set(number ${CMAKE_MATCH_3})
      set(around ${open})
      list(REMOVE_ITEM around oneof)
      string(JOIN "" name ${around})
      string(JOIN "." path ${around})
      if(type MATCHES "^u?int(32|64)$")
        set(kind VarintField)
      elseif(type MATCHES "^(float|double)$")
        set(kind FixedField)
      else()
        set(kind BytesField)
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
      string(APPEND table "    {\"${path}\", \"${field}\", \"${kind}\", ${number}},\n")
    endif()
  endforeach()
  set(structs)
  foreach(name IN LISTS messages)
    string(APPEND structs "\nstruct ${name} {\n${constants_${name}}};\n")
  endforeach()
  get_filename_component(file ${schema} NAME)
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "// Field numbers of the ONNX specification. Made by CMake from ${file}.
#ifndef ONNX_TAG_MODEL_ONNX_FIELDS_H_
#define ONNX_TAG_MODEL_ONNX_FIELDS_H_

#include \"file/model/field_kinds.h\"

namespace onnx_tag::onnx {
${structs}
// All of them, for the test.
inline constexpr struct {
  const char* message;
  const char* field;
  const char* kind;
  int number;
} kAllFields[] = {
${table}};

}  // namespace onnx_tag::onnx

#endif  // ONNX_TAG_MODEL_ONNX_FIELDS_H_
")
endfunction()
