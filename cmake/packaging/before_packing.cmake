# CPack runs this when the files of a package are in place and not yet packed.
#
# A .deb has what Debian's policy asks for: compressed man pages and changelog,
# a copyright file instead of licence texts that every Debian system has. All
# files get the time in SOURCE_DATE_EPOCH, so that two builds are equal.
file(GLOB_RECURSE programs ${CPACK_TEMPORARY_DIRECTORY}/onnx-tag)
list(FILTER programs INCLUDE REGEX "/bin/onnx-tag$")
list(GET programs 0 program)
get_filename_component(root ${program} DIRECTORY)
get_filename_component(root ${root} DIRECTORY)

if(CPACK_GENERATOR STREQUAL "DEB")
  set(doc ${root}/share/doc/onnx-tag)
  file(REMOVE_RECURSE ${doc}/licenses)
  file(REMOVE ${doc}/LICENSE)
  file(COPY ${CPACK_ONNX_TAG_PACKAGING}/debian/copyright DESTINATION ${doc})
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # that of SOURCE_DATE_EPOCH, if it is set
  configure_file(${CPACK_ONNX_TAG_PACKAGING}/debian/changelog.in ${doc}/changelog @ONLY)
  file(COPY ${CPACK_ONNX_TAG_PACKAGING}/debian/lintian-overrides DESTINATION ${root}/share/lintian/overrides)
  file(RENAME ${root}/share/lintian/overrides/lintian-overrides ${root}/share/lintian/overrides/onnx-tag)
  file(GLOB pages ${root}/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog ${doc}/CHANGELOG.md COMMAND_ERROR_IS_FATAL ANY)
endif()

execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -type d -exec chmod 755 {} +
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -type f -not -path */bin/* -exec chmod 644 {} +
  COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
