# onnx_tag_install_documents(FOLDER SHARE COMPONENT): what WriteDocuments.cmake wrote, where shells and man look for it.
function(onnx_tag_install_documents folder share component)
  install(DIRECTORY ${folder}/man/ DESTINATION ${share}/man/man1 COMPONENT ${component})
  install(DIRECTORY ${folder}/bash/ DESTINATION ${share}/bash-completion/completions COMPONENT ${component})
  install(DIRECTORY ${folder}/zsh/ DESTINATION ${share}/zsh/vendor-completions COMPONENT ${component})
  install(DIRECTORY ${folder}/fish/ DESTINATION ${share}/fish/vendor_completions.d COMPONENT ${component})
  install(DIRECTORY ${folder}/powershell/ DESTINATION ${share}/powershell COMPONENT ${component})
endfunction()
