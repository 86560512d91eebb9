// A model and the file it was read from.
#ifndef ONNX_TAG_MODEL_MODEL_FILE_H_
#define ONNX_TAG_MODEL_MODEL_FILE_H_

#include <string>

#include "io/mapped_file.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

class ModelFile {
 public:
  // `path` may be "-": standard input. Throws Error(kInput) that names the
  // file.
  static ModelFile Open(const std::string& path);

  const Model& model() const { return model_; }
  const MappedFile& file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  ModelFile(std::string path, MappedFile file, Model model)
      : path_(std::move(path)),
        file_(std::move(file)),
        model_(std::move(model)) {}

  std::string path_;
  MappedFile file_;
  Model model_;  // views file_
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_MODEL_MODEL_FILE_H_
