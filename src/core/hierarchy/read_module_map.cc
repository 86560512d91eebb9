#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "core/hierarchy/module_map.h"
#include "file/json/reader.h"

namespace onnx_tag {
namespace {

using json::Kind;
using json::Place;

constexpr std::array<std::string_view, 3> kHolders = {
    "ModuleList", "ModuleDict", "ParameterList"};

class MapReader {
 public:
  explicit MapReader(std::string_view json) : reader_(json) {}

  ModuleMap Read() {
    if (reader_.Peek() != Kind::kObject) {
      reader_.FailAt(reader_.Here(), "{} where the object with \"modules\" {}",
                     json::KindName(reader_.Peek()), "should be");
    }
    reader_.BeginObject();
    std::string_view key;
    bool found = false;
    while (reader_.NextMember(key)) {
      if (key == "format") {
        ReadFormat();
      } else if (key == "modules" || key == "hierarchy") {
        if (found) {
          reader_.FailAt(
              reader_.KeyPlace(),
              "the file has both \"modules\" and \"hierarchy\"; keep only one");
        }
        found = true;
        ReadModules();
      } else if (key == "calls" && reader_.Peek() == Kind::kArray) {
        ReadCalls();
      } else {
        reader_.Skip();
      }
    }
    if (!found || map_.modules.empty()) {
      reader_.FailAt(Place{0},
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
    const Place place = reader_.Here();
    if (reader_.Peek() != Kind::kString) {
      reader_.Skip();
      return;
    }
    const std::string format = reader_.String();
    if (format == "onnx-tag/1") {
      reader_.FailAt(
          place,
          "this file is a sidecar with tags, not a hierarchy\n  give "
          "a file that the companion recorded from the PyTorch model");
    }
    if (format.starts_with("onnx-tag-recording/") &&
        format != "onnx-tag-recording/1") {
      reader_.FailAt(place,
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

  void ReadCalls() {
    reader_.BeginArray();
    while (reader_.NextItem()) {
      Call call;
      std::string_view key;
      reader_.BeginObject();
      while (reader_.NextMember(key)) {
        if (key == "module" && reader_.Peek() == Kind::kString) {
          call.module = reader_.String();
        } else if (key == "parent" && reader_.Peek() == Kind::kNumber) {
          call.parent = reader_.Count();
        } else {
          reader_.Skip();
        }
      }
      calls_.push_back(std::move(call));
    }
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
    if (reader_.Peek() != Kind::kObject) {
      reader_.FailAt(
          reader_.Here(),
          "expected an object with the modules by path, but found {}",
          json::KindName(reader_.Peek()));
    }
    const bool nested = IsNested(reader_);
    reader_.BeginObject();
    std::string_view key;
    Found root;
    while (reader_.NextMember(key)) {
      if (nested) {
        ReadField(key, root, "");
      } else {
        Found found;
        ReadValue(key, found);
        Keep(key, found, reader_.KeyPlace());
      }
    }
    if (nested) Keep(root.has_scope ? root.scope : "", root, Place{0});
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
    std::string scope;
    RecordedModule module;
    std::optional<std::uint32_t> order;
    bool has_scope = false;
    bool container_known = false;
  };

  void ReadValue(std::string_view path, Found& found) {
    switch (reader_.Peek()) {
      case Kind::kString:
        found.class_name = reader_.String();
        return;
      case Kind::kObject:
        break;
      default:
        reader_.FailAt(reader_.Here(),
                       "module \"{}\": {} where its class or an object should "
                       "be",
                       path, json::KindName(reader_.Peek()));
    }
    reader_.BeginObject();
    std::string_view key;
    while (reader_.NextMember(key)) ReadField(key, found, path);
  }

  void ReadField(std::string_view key, Found& found, std::string_view path) {
    if (key == "class" || key == "class_name") {
      map_.complete &= key == "class";
      found.class_name = StringOf(key, path);
    } else if (key == "scope") {
      found.scope = AsPath(StringOf(key, path));
      found.has_scope = true;
    } else if (key == "qualified") {
      found.module.qualified = StringOf(key, path);
    } else if (key == "parameters") {
      ReadParameters(found, path);
    } else if (key == "calls") {
      found.module.calls = reader_.Count();
      found.module.calls_known = true;
    } else if (key == "order" && reader_.Peek() == Kind::kNumber) {
      found.order = reader_.Count();
    } else if (key == "shared_with") {
      found.module.shared_with = StringOf(key, path);
    } else if (key == "container") {
      found.module.container = reader_.Bool();
      found.container_known = true;
    } else if (key == "children") {
      ReadChildren(path);
    } else {
      reader_.Skip();  // execution_order, traced_tag, ...
    }
  }

  std::string StringOf(std::string_view key, std::string_view path) {
    if (reader_.Peek() == Kind::kString) return reader_.String();
    reader_.FailAt(reader_.Here(), "module \"{}\": \"{}\" is {}, not a string",
                   path, key, json::KindName(reader_.Peek()));
  }

  void ReadParameters(Found& found, std::string_view path) {
    if (reader_.Peek() == Kind::kNumber) {  // a count
      reader_.Skip();
      return;
    }
    if (reader_.Peek() == Kind::kObject) {  // with shapes
      std::string_view name;
      reader_.BeginObject();
      while (reader_.NextMember(name)) {
        found.module.parameters.emplace_back(name);
        found.module.shapes.push_back(ReadShape());
      }
      return;
    }
    reader_.BeginArray();
    while (reader_.NextItem()) {
      found.module.parameters.push_back(StringOf("parameters", path));
    }
  }

  // Empty if it is not a list of numbers.
  std::vector<std::int64_t> ReadShape() {
    std::vector<std::int64_t> shape;
    if (reader_.Peek() != Kind::kArray) {
      reader_.Skip();
      return shape;
    }
    bool numbers = true;
    reader_.BeginArray();
    while (reader_.NextItem()) {
      if (reader_.Peek() == Kind::kNumber) {
        const double dim = reader_.Number();
        shape.push_back(dim >= 0 && dim < 1e15 ? static_cast<std::int64_t>(dim)
                                               : -1);
      } else {
        numbers = false;
        reader_.Skip();
      }
    }
    if (!numbers) shape.clear();
    return shape;
  }

  // The keys are class and index; only `scope` has the path of a child.
  void ReadChildren(std::string_view around) {
    reader_.BeginObject();
    std::string_view key;
    while (reader_.NextMember(key)) {
      const Place place = reader_.KeyPlace();
      Found child;
      ReadValue(key, child);
      if (!child.has_scope) {
        reader_.FailAt(
            place,
            "module \"{}\" below \"{}\" has no \"scope\" and therefore no "
            "path\n  add \"scope\": \"its.path\", or give the "
            "modules as one object by path",
            key, around);
      }
      Keep(child.scope, child, place);
    }
  }

  // "/encoder/layer.0" and "encoder.layer.0" are one path.
  static std::string AsPath(std::string scope) {
    std::replace(scope.begin(), scope.end(), '/', '.');
    const std::size_t start = scope.find_first_not_of('.');
    return start == std::string::npos ? "" : scope.substr(start);
  }

  void Keep(std::string_view path, Found& found, Place place) {
    for (const std::string_view atom : Split(path, '.')) {
      if (!atom.empty() || path.empty()) continue;
      reader_.FailAt(place, "\"{}\" is not a module path", path);
    }
    const ModuleId id = map_.tree.Add(path);
    map_.modules.resize(std::max(map_.modules.size(), map_.tree.size()));
    if (map_.modules[id].listed) {
      reader_.FailAt(place, "duplicate module \"{}\"", path);
    }
    // "torch.nn.modules.linear.Linear" is Linear.
    const std::size_t dot = found.class_name.rfind('.');
    if (dot != std::string::npos) {
      if (found.module.qualified.empty()) {
        found.module.qualified = found.class_name;
      }
      found.class_name.erase(0, dot + 1);
    }
    map_.tree.SetClass(id, found.class_name);
    if (found.order) order_.emplace_back(*found.order, id);
    RecordedModule& module = map_.modules[id];
    module = std::move(found.module);
    module.listed = true;
    if (!found.container_known) {
      module.container = std::find(kHolders.begin(), kHolders.end(),
                                   found.class_name) != kHolders.end();
    }
  }

  json::Reader reader_;
  ModuleMap map_;
  std::vector<Call> calls_;
  std::vector<std::pair<std::uint32_t, ModuleId>> order_;
};

}  // namespace

bool ModuleMap::OnlyHolds(ModuleId id) const {
  return !modules[id].listed || modules[id].container ||
         tree.Class(id) == "Sequential";
}

ModuleMap ReadModuleMap(std::string_view json) {
  return MapReader(json).Read();
}

}  // namespace onnx_tag
