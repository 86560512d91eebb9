// The files beside a model that hold its weights. Files outside its folder are
// not read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "file/io/mapped_file.h"
#include "file/model/tensor_data.h"

namespace onnx_tag {

// Gives the memory of pages of the file back; null: they are in memory.
void ReleaseBytes(const MappedFile* file, Bytes bytes);

class WeightFiles {
 public:
  // By the name that the model has for it; null: it cannot be read.
  using Files =
      std::map<std::string, std::unique_ptr<const MappedFile>, std::less<>>;

  explicit WeightFiles(const MappedFile& model) : model_(model) {}

  struct Piece {
    Bytes bytes;                       // empty: they cannot be read
    const MappedFile* file = nullptr;  // that has them; null: `tensor` has
  };
  // The elements of a tensor of the model. Both must outlive the answer.
  Piece Read(const TensorData& tensor);

  const Files& files() const { return files_; }

  // Compares in steps, so that no file is in memory as a whole.
  static bool HaveSameBytes(const Piece& a, const Piece& b);

 private:
  const MappedFile* Find(std::string_view location);

  const MappedFile& model_;
  Files files_;
};

}  // namespace onnx_tag
