// Tested by tests/app/commands/data_names_test.cc.
#include "app/commands/output/data_names.h"

#include <fmt/core.h>

#include <algorithm>

#include "file/io/folder.h"
#include "file/io/mapped_file.h"
#include "file/io/paths.h"
#include "file/model/model_file.h"
#include "onnx_tag/error.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

std::set<std::string> LocationsOf(const std::string& model) {
  std::set<std::string> names;
  try {
    const MappedFile file = MappedFile::Open(model);
    const Model read = ReadModel(file);
    for (const std::string_view name : read.external_files()) {
      names.emplace(name);
    }
  } catch (const Error&) {
    names.clear();
  }
  return names;
}

DataNames::DataNames(const std::string& output, const WriteOptions& options)
    : folder_(ParentFolder(output)),
      name_(FileName(output)),
      force_(options.force && output != "-") {
  if (force_ && IsRegularFile(output)) present_ = LocationsOf(output);
}

bool DataNames::IsOurs(std::string_view name) const {
  const std::string head = name_ + ".";
  constexpr std::string_view kEnd = "data";
  if (!name.starts_with(head) || !name.ends_with(kEnd)) return false;
  // "" or a number and a dot stands between both.
  name = name.substr(head.size(), name.size() - head.size() - kEnd.size());
  return name.empty() ||
         (name.ends_with('.') &&
          name.find_first_not_of("0123456789") == name.size() - 1);
}

std::string DataNames::Take(const std::string& preferred, std::uint64_t size,
                            const Produce& produce) {
  preferred_.insert(preferred);
  const auto same =
      std::find_if(present_.begin(), present_.end(), [&](const auto& name) {
        return (name == preferred || IsOurs(name)) && !taken_.contains(name) &&
               HasBytes(JoinPath(folder_, name), size, produce);
      });
  std::string name = same == present_.end() ? preferred : *same;
  for (int number = 1; same == present_.end() &&
                       (taken_.contains(name) || present_.contains(name));
       ++number) {
    name = fmt::format("{}.{}.data", name_, number);
  }
  taken_.insert(name);
  return name;
}

std::vector<std::string> DataNames::Left() const {
  std::vector<std::string> left;
  if (!force_ || !IsFolder(folder_)) return left;
  for (const FolderEntry& entry : ReadFolder(folder_)) {
    const bool replaced =
        preferred_.contains(entry.name) && present_.contains(entry.name);
    if (entry.kind == EntryKind::kFile && !taken_.contains(entry.name) &&
        (replaced || IsOurs(entry.name))) {
      left.push_back(JoinPath(folder_, entry.name));
    }
  }
  return left;
}

}  // namespace onnx_tag
