#include "clues/recording/module_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "clues/recording/rows.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

using json::Kind;
using json::Place;

class MapReader : Rows {
 public:
  explicit MapReader(std::string_view json) : Rows(json) {}

  ModuleMap Read() {
    if (!IsNext(Kind::kObject)) {
      json_.FailAt(json_.Here(), "{} where the object with \"modules\" {}",
                   json::KindName(json_.Peek()), "should be");
    }
    bool found = false;
    ForEachMember([&](std::string_view key) {
      if (key == "format") {
        ReadFormat();
      } else if (key == "modules" || key == "hierarchy") {
        if (found) {
          json_.FailAt(
              json_.KeyPlace(),
              "the file has both \"modules\" and \"hierarchy\"; keep only one");
        }
        found = true;
        ReadModules();
      } else if (key == "calls" && IsNext(Kind::kArray)) {
        ForEachItem([&] { ReadCall(); });
      } else {
        json_.Skip();
      }
    });
    if (!found || map_.modules.empty()) {
      json_.FailAt(Place{0},
                   "the file has no modules\n  it should be {{\"modules\": "
                   "{{\"\": \"RootClass\", \"a.b\": \"Class\"}}}}, as the "
                   "companion records it");
    }
    map_.modules.resize(map_.tree.size());
    if (calls_.empty()) {
      CallInOrder();
    } else {
      CallAsRecorded();
    }
    return std::move(map_);
  }

 private:
  void ReadFormat() {
    const Place place = json_.Here();
    if (!IsNext(Kind::kString)) {
      json_.Skip();
      return;
    }
    const std::string format = json_.String();
    if (format == "onnx-tag/1") {
      json_.FailAt(place,
                   "this file is a sidecar with tags, not a hierarchy\n  give "
                   "a file that the companion recorded from the PyTorch model");
    }
    if (format.starts_with("onnx-tag-recording/") &&
        format != "onnx-tag-recording/1") {
      json_.FailAt(place,
                   "the format \"{}\" is newer than this program; it reads "
                   "onnx-tag-recording/1\n  use a newer onnx-tag",
                   format);
    }
  }

  // A row of `calls`.
  struct Call {
    std::string module;
    std::optional<std::uint32_t> parent;
  };

  void ReadCall() {
    Call call;
    ForEachMember([&](std::string_view key) {
      if (key == "module" && IsNext(Kind::kString)) {
        call.module = json_.String();
      } else if (key == "parent" && IsNext(Kind::kNumber)) {
        call.parent = json_.Count();
      } else {
        json_.Skip();
      }
    });
    calls_.push_back(std::move(call));
  }

  void CallAsRecorded() {
    for (const Call& call : calls_) {
      const ModuleId module = map_.tree.Find(call.module);
      const bool called = call.parent && *call.parent < map_.calls.size();
      map_.calls.push_back(
          {module, called ? map_.calls[*call.parent].module : kNo<ModuleId>});
    }
    std::erase_if(map_.calls, [](const ModuleCall& call) {
      return call.module == kNo<ModuleId>;
    });
  }

  // The first call of each module, from its nearest called ancestor.
  void CallInOrder() {
    std::sort(order_.begin(), order_.end());
    std::vector<bool> called(map_.tree.size(), false);
    for (const auto& [order, id] : order_) {
      called[Index(id)] = true;
      ModuleId caller = map_.tree.Parent(id);
      while (caller != kNo<ModuleId> && !called[Index(caller)]) {
        caller = map_.tree.Parent(caller);
      }
      map_.calls.push_back({id, caller});
    }
  }

  // Either an object by path, or one module with nested `children`.
  void ReadModules() {
    if (!IsNext(Kind::kObject)) {
      json_.FailAt(json_.Here(),
                   "expected an object with the modules by path, but found {}",
                   json::KindName(json_.Peek()));
    }
    const bool nested = IsNested(json_);
    Found root;
    ForEachMember([&](std::string_view key) {
      if (nested) {
        ReadField(key, root, "");
      } else {
        Found found;
        ReadValue(key, found);
        Keep(key, found, json_.KeyPlace());
      }
    });
    if (nested) Keep(root.scope.value_or(""), root, Place{0});
  }

  // A flat map has modules by path, and no module is called `class_name`.
  // Works on a copy of the reader.
  static bool IsNested(json::Reader reader) {
    reader.BeginObject();
    std::string_view key;
    while (reader.NextMember(key)) {
      if (key == "class_name") return reader.Peek() == Kind::kString;
      reader.Skip();
    }
    return false;
  }

  struct Found {
    std::string class_name;
    std::optional<std::string> scope;
    RecordedModule module;
    std::optional<std::uint32_t> order;
    std::optional<bool> container;
  };

  void ReadValue(std::string_view path, Found& found) {
    if (IsNext(Kind::kString)) {
      found.class_name = json_.String();
      return;
    }
    if (!IsNext(Kind::kObject)) {
      json_.FailAt(json_.Here(),
                   "module \"{}\": {} where its class or an object should be",
                   path, json::KindName(json_.Peek()));
    }
    ForEachMember([&](std::string_view key) { ReadField(key, found, path); });
  }

  void ReadField(std::string_view key, Found& found, std::string_view path) {
    if (key == "class" || key == "class_name") {
      map_.complete &= key == "class";
      found.class_name = StringOf(key, path);
    } else if (key == "qualified") {
      found.module.foreign = !StringOf(key, path).starts_with("torch.nn.");
    } else if (key == "scope") {
      found.scope = AsPath(StringOf(key, path));
    } else if (key == "parameters") {
      ReadParameters(found, path);
      map_.has_parameters |= !found.module.parameters.empty();
    } else if (key == "order" && IsNext(Kind::kNumber)) {
      found.order = json_.Count();
    } else if (key == "buffers" && IsNext(Kind::kObject)) {
      ForEachMember([&](std::string_view) {
        found.module.has_table |= !WithoutOnes(ReadShape()).empty();
      });
    } else if (key == "shared_with") {
      found.module.shared_with = StringOf(key, path);
    } else if (key == "container") {
      found.container = json_.Bool();
    } else if (key == "children") {
      ReadChildren(path);
    } else {
      json_.Skip();  // execution_order, traced_tag, ...
    }
  }

  std::string StringOf(std::string_view key, std::string_view path) {
    if (IsNext(Kind::kString)) return json_.String();
    json_.FailAt(json_.Here(), "module \"{}\": \"{}\" is {}, not a string",
                 path, key, json::KindName(json_.Peek()));
  }

  // A count, a list of names, or names with their shapes.
  void ReadParameters(Found& found, std::string_view path) {
    if (IsNext(Kind::kNumber)) {
      json_.Skip();
    } else if (IsNext(Kind::kObject)) {
      ForEachMember([&](std::string_view name) {
        found.module.parameters.emplace_back(name);
        found.module.shapes.push_back(ReadShape());
      });
    } else {
      ForEachItem([&] {
        found.module.parameters.push_back(StringOf("parameters", path));
      });
    }
  }

  // Empty if it is not a list of numbers.
  WeightShape ReadShape() {
    WeightShape shape;
    bool numbers = IsNext(Kind::kArray);
    if (!numbers) {
      json_.Skip();
      return shape;
    }
    ForEachItem([&] {
      numbers = numbers && IsNext(Kind::kNumber);
      if (numbers) {
        shape.push_back(Size());
      } else {
        json_.Skip();
      }
    });
    if (!numbers) shape.clear();
    return shape;
  }

  // The keys are class and index; only `scope` has the path of a child.
  void ReadChildren(std::string_view around) {
    ForEachMember([&](std::string_view key) {
      const Place place = json_.KeyPlace();
      Found child;
      ReadValue(key, child);
      if (!child.scope) {
        json_.FailAt(place,
                     "module \"{}\" below \"{}\" has no \"scope\" and "
                     "therefore no path\n  add \"scope\": \"its.path\", or "
                     "give the modules as one object by path",
                     key, around);
      }
      Keep(*child.scope, child, place);
    });
  }

  // "/encoder/layer.0" and "encoder.layer.0" are one path.
  static std::string AsPath(std::string scope) {
    std::replace(scope.begin(), scope.end(), '/', '.');
    const std::size_t start = scope.find_first_not_of('.');
    return start == std::string::npos ? "" : scope.substr(start);
  }

  void Keep(std::string_view path, Found& found, Place place) {
    // Names in files have the same limits.
    if (!hierarchy::IsCrediblePath(path)) {
      json_.FailAt(place,
                   "the path that begins with \"{}\" is too long: at most {} "
                   "bytes and {} modules inside each other",
                   Short{path, kShownOfPath}, hierarchy::kMaxPathBytes,
                   hierarchy::kMaxPathAtoms);
    }
    for (const std::string_view atom : Split(path, '.')) {
      if (!atom.empty() || path.empty()) continue;
      json_.FailAt(place, "\"{}\" is not a module path", path);
    }
    const ModuleId id = map_.tree.Add(path);
    map_.modules.resize(std::max(map_.modules.size(), map_.tree.size()));
    if (map_.modules[id].listed) {
      json_.FailAt(place, "duplicate module \"{}\"", path);
    }
    // "torch.nn.modules.linear.Linear" is Linear.
    const std::string_view name = hierarchy::LastPart(found.class_name, '.');
    map_.tree.SetClass(id, name);
    if (found.order) order_.emplace_back(*found.order, id);
    map_.modules[id] = std::move(found.module);
    map_.modules[id].listed = true;
    map_.modules[id].container = found.container.value_or(
        IsOneOf(name, {"ModuleList", "ModuleDict", "ParameterList"}));
  }

  static constexpr std::size_t kShownOfPath = 40;

  ModuleMap map_;
  std::vector<Call> calls_;
  std::vector<std::pair<std::uint32_t, ModuleId>> order_;
};

}  // namespace

WeightShape Sorted(std::span<const std::int64_t> dims) {
  WeightShape shape(dims.begin(), dims.end());
  std::sort(shape.begin(), shape.end());
  return shape;
}

WeightShape WithoutOnes(WeightShape shape) {
  std::erase(shape, 1);
  return shape;
}

bool ModuleMap::OnlyHolds(ModuleId id) const {
  return !modules[id].listed || modules[id].container ||
         (tree.Class(id) == "Sequential" && !modules[id].foreign);
}

bool ModuleMap::MayOwnTensors(ModuleId id) const {
  const std::string& name = modules[id].shared_with;
  const ModuleId first = name.empty() ? id : tree.Find(name);
  if (!complete || !has_parameters || first == kNo<ModuleId>) return true;
  return !modules[first].listed || !modules[first].parameters.empty() ||
         modules[first].has_table;
}

ModuleMap ReadModuleMap(std::string_view json) {
  return MapReader(json).Read();
}

}  // namespace onnx_tag
