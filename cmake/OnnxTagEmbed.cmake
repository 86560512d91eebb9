# onnx_tag_embed(FILE CONSTANT): makes generated/<stem>.h with
# `inline constexpr std::string_view CONSTANT`, the text of data/FILE without
# its comment lines, so that the program reads no file at start.
function(onnx_tag_embed file constant)
  set(source ${PROJECT_SOURCE_DIR}/data/${file})
  get_filename_component(stem ${file} NAME_WE)
  file(READ ${source} text)
  string(REGEX REPLACE "(^|\n)#[^\n]*" "" text "${text}")
  string(STRIP "${text}" text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/generated/${stem}.h @ONLY CONTENT
"// Made by cmake/OnnxTagEmbed.cmake from data/${file}.
#pragma once
#include <string_view>
namespace onnx_tag {
inline constexpr std::string_view ${constant} = R\"~~(${text})~~\";
}  // namespace onnx_tag
")
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()
