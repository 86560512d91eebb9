// The files that a command reads. None of them may become one of its outputs.
//
//   Inputs inputs;
//   inputs.Add(file, "the model");
//   inputs.Add("rules.json", "--rules");
//   OutputFile out = OutputFile::Create("out.onnx", inputs, {});
//
// A file counts as the same under every name: links, hard links, "./x" for "x".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "file/io/file_status.h"
#include "file/io/mapped_file.h"

namespace onnx_tag {

class Inputs {
 public:
  // `what` tells the user what the file is for: "the model", "--rules". A name
  // without a file adds nothing.
  void Add(const std::string& path, std::string_view what);
  // Standard input, too, where it is a file.
  void Add(const MappedFile& file, std::string_view what);
  void Add(const Inputs& others);

  // What the file is for; empty if the command does not read it.
  std::string_view Find(const std::string& path) const;
  std::string_view FindDescriptor(int fd) const;

  // Throws Error(kOutput) if the command reads the file at `path`.
  void Refuse(const std::string& path) const;

 private:
  std::map<io::FileId, std::string> files_;
};

namespace io {

// Throws Error(kOutput) if standard output is this file: `1<>model` would print
// the result into the model. An empty file has nothing to lose.
void RefuseAsStandardOutput(const std::optional<FileStatus>& file,
                            const std::string& name);

}  // namespace io
}  // namespace onnx_tag
