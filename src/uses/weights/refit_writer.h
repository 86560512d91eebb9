// Writes a model, and the files of weights beside it, as a plan says. All other
// bytes stay; new numbers are made while they are written.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "file/wire/rewrite.h"
#include "uses/weights/refit.h"

namespace onnx_tag::weights {

class RefitWriter {
 public:
  // `locations`: new names of files of weights, by their old ones. All must
  // outlive this.
  RefitWriter(const ModelFile& file, const Store& store, const RefitPlan& plan,
              const std::map<std::string, std::string>& locations);

  std::uint64_t new_size() const { return rewrite_->new_size(); }
  void Write(wire::Rewrite::Sink& sink) const;
  // The file that the model now calls `location`, from its begin to its end.
  void WriteData(const std::string& location, wire::Rewrite::Sink& sink) const;

 private:
  // Bytes that are replaced by as many others.
  struct Patch {
    std::uint64_t begin;
    std::uint64_t size;
    const RefitRow* row;
  };
  class Patcher;
  friend struct TreeBuilder;

  void Emit(const RefitRow& row, const Made::Use& use) const;
  std::string MadeOf(const RefitRow& row) const;

  const ModelFile& file_;
  const Store& store_;
  const RefitPlan& plan_;
  const std::map<std::string, std::string>& locations_;
  std::map<std::string, std::vector<Patch>> patches_;  // by location; "": model
  std::vector<wire::Message> tree_;
  std::vector<std::string> appended_;  // encoded fields, by token
  std::optional<wire::Rewrite> rewrite_;
};

}  // namespace onnx_tag::weights
