#include "file/model/model_file.h"

#include "base/text.h"
#include "file/io/inputs.h"
#include "file/io/paths.h"
#include "onnx_tag/error.h"

namespace onnx_tag {

Model ReadModel(const MappedFile& file) {
  file.ReadAhead(false);
  Model model = ReadModel(
      file.bytes(),
      [&](std::uint64_t begin, std::uint64_t end) { file.Release(begin, end); },
      [&](std::uint64_t begin, std::uint64_t end) { file.Fetch(begin, end); });
  file.ReadAhead(true);
  return model;
}

ModelFile ModelFile::Open(const std::string& path) {
  MappedFile file =
      path == "-" ? MappedFile::FromStdin() : MappedFile::Open(path);
  try {
    Model model = ReadModel(file);
    file.CheckUnchanged();
    for (const std::string_view name : model.external_files()) {
      const std::string weights = JoinPath(ParentFolder(path), name);
      io::RefuseAsStandardOutput(io::StatusOf(weights), weights);
    }
    return ModelFile(path, std::move(file), std::move(model));
  } catch (const Error& error) {
    file.CheckUnchanged();  // if the file shrank, missing pages read as zeros
    throw error.In(file.path());
  }
}

void ModelFile::FailChanged(const Error& error) const {
  file_.CheckUnchanged();
  throw error.In(file_.path());
}

}  // namespace onnx_tag
