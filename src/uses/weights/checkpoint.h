// The tensors of a checkpoint: a .safetensors file, several of them with an
// index, or a state dict that torch.save() wrote. Nothing in it is executed,
// and no tensor is loaded: their bytes are views of the mapped files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/io/inputs.h"
#include "file/io/mapped_file.h"
#include "file/model/weight_files.h"
#include "onnx_tag/bytes.h"

namespace onnx_tag::weights {

// A tensor of a checkpoint or of a model.
struct Tensor {
  std::string name;
  std::int32_t type = 0;  // a DataType; kUndefined for one that ONNX lacks
  std::vector<std::int64_t> dims = {};
  std::uint64_t count = 0;  // of elements
  Bytes bytes = {};         // of its numbers; empty if they cannot be read
  const MappedFile* file = nullptr;  // that holds the bytes

  float At(std::uint64_t index) const;
  // Gives the memory of its pages back.
  void Release() const { ReleaseBytes(file, bytes); }
};
// At most 8 bytes.
std::uint64_t LittleEndian(Bytes bytes);

// "[4, 8]"
std::string DimsText(const std::vector<std::int64_t>& dims);

// The element at `index` of numbers of this type, as float.
float FloatAt(std::int32_t type, Bytes bytes, std::uint64_t index);
// Converts `count` elements of a tensor that has floats, from `begin` on.
void LoadFloats(const Tensor& tensor, std::uint64_t begin, std::uint64_t count,
                float* to);

// The tensors of a .safetensors file. Throws Error(kUsage) if it is none.
// `lacking`: tensors whose bytes are not in the file have none, and no type is
// looked at; else such a file is refused.
std::vector<Tensor> ReadSafetensorsTensors(Bytes file, bool lacking = false);

// The tensors of a file that torch.save() wrote: a zip with a pickle, of which
// only the few instructions of state dicts are understood. Throws
// Error(kUsage) for anything else.
std::vector<Tensor> ReadTorchTensors(Bytes file);

class Checkpoint {
 public:
  // Throws Error(kUsage) with the name of the file.
  static Checkpoint Open(const std::string& path);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Null if there is none.
  const Tensor* Find(std::string_view name) const;

  void AddTo(Inputs& inputs, std::string_view what) const;
  void CheckUnchanged() const;

 private:
  void AddFile(const std::string& path);

  std::vector<std::unique_ptr<const MappedFile>> files_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace onnx_tag::weights
