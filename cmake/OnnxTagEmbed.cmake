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
  # A target of its own: as a source of the layer it would wait for the layers
  # below to be linked.
  add_custom_target(onnx_tag_${stem}_text DEPENDS ${header})
  add_dependencies(onnx_tag_${layer} onnx_tag_${stem}_text)
endfunction()

# onnx_tag_operators(LAYER): makes generated/op.h and
# generated/operator_rows.inc for LAYER: see EmbedOperators.cmake.
function(onnx_tag_operators layer)
  set(source ${PROJECT_SOURCE_DIR}/data/operators.txt)
  set(folder ${PROJECT_BINARY_DIR}/generated/generated)
  set(maker ${PROJECT_SOURCE_DIR}/cmake/EmbedOperators.cmake)
  add_custom_command(OUTPUT ${folder}/op.h ${folder}/operator_rows.inc
    COMMAND ${CMAKE_COMMAND} -P ${maker} ${source} ${folder}
    DEPENDS ${source} ${maker}
    VERBATIM)
  target_sources(onnx_tag_${layer} PRIVATE ${folder}/op.h ${folder}/operator_rows.inc)
endfunction()
