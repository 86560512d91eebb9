// A model and the file it was read from.
#pragma once

#include <string>

#include "file/io/mapped_file.h"
#include "file/wire/field_reader.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

// As ReadModel() of bytes, and loads no page of the weights.
Model ReadModel(const MappedFile& file);

class ModelFile {
 public:
  // `path` may be "-" for standard input. Throws Error(kInput) with the name of
  // the file.
  static ModelFile Open(const std::string& path);

  const Model& model() const { return model_; }
  Model& model() { return model_; }
  const MappedFile& file() const { return file_; }
  const std::string& path() const { return path_; }

  // What `use` makes of the model. Open() has judged every byte that is parsed
  // again, so malformed bytes mean that the file has changed since: throws
  // Error(kInput) that says so and names the file.
  template <typename Use>
  auto Map(Use use) const {
    try {
      return use(model_);
    } catch (const wire::WireError& error) {
      FailChanged(error);
    }
  }

 private:
  [[noreturn]] void FailChanged(const Error& error) const;

  ModelFile(std::string path, MappedFile file, Model model)
      : path_(std::move(path)),
        file_(std::move(file)),
        model_(std::move(model)) {}

  std::string path_;
  MappedFile file_;
  Model model_;  // has views into file_
};

}  // namespace onnx_tag
