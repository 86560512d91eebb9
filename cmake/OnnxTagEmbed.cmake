# onnx_tag_embed(LAYER FILE CONSTANT): makes generated/<stem>.h for LAYER, with
# `inline constexpr std::string_view CONSTANT`, the text of src/data/FILE without
# its comment lines, so that the program reads no file at start.
function(onnx_tag_embed layer file constant)
  get_filename_component(stem ${file} NAME_WE)
  set(source ${PROJECT_SOURCE_DIR}/src/data/${file})
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

# onnx_tag_operators(LAYER): makes what src/data/operators.txt says for LAYER and
# those above it: see EmbedOperators.cmake.
function(onnx_tag_operators layer)
  onnx_tag_rows(${layer} operators.txt EmbedOperators.cmake op.h operator_rows.inc size_rules.h size_rule_rows.inc)
endfunction()

# onnx_tag_commands(LAYER): makes the command line from src/data/commands.txt: see
# EmbedCommands.cmake.
function(onnx_tag_commands layer)
  onnx_tag_rows(${layer} commands.txt EmbedCommands.cmake command_rows.inc)
endfunction()

# Makes C++ of the rows in src/data/FILE, with cmake/MAKER, as generated/MADE.
function(onnx_tag_rows layer file maker)
  set(source ${PROJECT_SOURCE_DIR}/src/data/${file})
  set(folder ${PROJECT_BINARY_DIR}/generated/generated)
  set(maker ${PROJECT_SOURCE_DIR}/cmake/${maker})
  list(TRANSFORM ARGN PREPEND ${folder}/ OUTPUT_VARIABLE made)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -P ${maker} ${source} ${folder}
    DEPENDS ${source} ${maker}
    VERBATIM)
  target_sources(onnx_tag_${layer} PRIVATE ${made})
  get_filename_component(stem ${file} NAME_WE)
  add_custom_target(onnx_tag_${stem}_rows DEPENDS ${made})
  add_dependencies(onnx_tag_${layer} onnx_tag_${stem}_rows)
endfunction()
