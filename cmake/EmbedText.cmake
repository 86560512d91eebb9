# cmake -P EmbedText.cmake FILE CONSTANT HEADER: see OnnxTagEmbed.cmake.
cmake_minimum_required(VERSION 3.25)
file(READ ${CMAKE_ARGV3} text)
get_filename_component(name ${CMAKE_ARGV3} NAME)
string(REGEX REPLACE "(^|\n)#[^\n]*" "" text "${text}")
string(STRIP "${text}" text)
file(WRITE ${CMAKE_ARGV5} "// Made by cmake/EmbedText.cmake from src/data/${name}.
#pragma once
#include <string_view>
namespace onnx_tag {
inline constexpr std::string_view ${CMAKE_ARGV4} = R\"~~(${text})~~\";
}  // namespace onnx_tag
")
