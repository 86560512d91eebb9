// Names for new files of weights beside a model that may exist already.
//
// A model and its weights are several files, and one rename commits them all:
// a file that the present model reads is never replaced by --force. The new
// weights get another name, the new model reads that one, and then the old
// weights are removed. A kill in between leaves the old model or the new one,
// whole; the next run removes what nothing reads.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/output/pending_outputs.h"

namespace onnx_tag {

class DataNames {
 public:
  // Of the model that is written to `output`; "-" has none.
  DataNames(const std::string& output, const WriteOptions& options);

  // A name under which the present model reads these bytes already; else
  // `preferred`, or if the present model reads that, the first of
  // out.onnx.1.data, out.onnx.2.data and so on that it does not read.
  std::string Take(const std::string& preferred, std::uint64_t size,
                   const Produce& produce);

  // Paths of files with such names that no Take() gave: what the present model
  // reads, and what a killed run left. None without --force.
  std::vector<std::string> Left() const;

 private:
  // "out.onnx.data", "out.onnx.12.data"
  bool IsOurs(std::string_view name) const;

  std::string folder_;
  std::string name_;  // of the model
  bool force_;
  std::set<std::string> present_;  // what the present model reads
  std::set<std::string> taken_;
  std::set<std::string> preferred_;
};

// The names that a model has for its files of weights; none if there is no
// readable model.
std::set<std::string> LocationsOf(const std::string& model);

}  // namespace onnx_tag
