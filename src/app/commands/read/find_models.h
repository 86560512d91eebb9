// The models a run is about: named one by one, found in folders, or listed in
// a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "file/io/inputs.h"

namespace onnx_tag {

struct FoundModel {
  std::string path;
  std::string folder;  // where its outputs go below --out-dir; "": --out-dir
  std::string error;   // a folder that could not be read, and why
};

// In the order of the command line, then of the list; within a folder by
// name. A model that is named twice is found once. Throws Error(kUsage) for a
// list that cannot be read, Error(kInput) if folders hold no model.
std::vector<FoundModel> FindModels(const TagOptions& options);

// Adds the models and their weights. A model that cannot be read is left out.
void AddModelInputs(const std::vector<FoundModel>& models, Inputs& inputs);

// The names in a list: separated by NUL where it has one, else by line breaks.
std::vector<std::string> SplitFileList(std::string_view list);

}  // namespace onnx_tag
