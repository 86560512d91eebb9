// Finds the modules of local functions.
//
// dynamo_export makes a function for each call of a module and gives it the
// name of the module. export_modules_as_functions makes one function for each
// class: the parameters that a call passes show the module.
#include <string>
#include <vector>

#include "base/text.h"
#include "clues/exporters/dynamo/mangled_names.h"
#include "clues/exporters/functions/local_functions.h"
#include "mapping/evidence/evidence.h"

namespace onnx_tag {
namespace {

class FunctionPlacer {
 public:
  FunctionPlacer(const Model& model, const ScopeFacts& scopes,
                 const ParameterFacts& parameters, ModuleTree& modules,
                 FunctionTable& table)
      : model_(model),
        scopes_(scopes),
        parameters_(parameters),
        table_(table),
        tree_(modules),
        names_(modules) {}

  void Run() {
    calls_of_.resize(table_.size());
    for (std::size_t i = 0; i < table_.calls().size(); ++i) {
      calls_of_[table_.calls()[i].function].push_back(i);
    }
    FindCalled();
    for (const FunctionId id : table_.CallersFirst()) {
      switch (table_[id].kind) {
        case FunctionKind::kHelper:
          break;
        case FunctionKind::kPackage:
          PlacePackage(id);
          break;
        case FunctionKind::kClass:
          PlaceClass(id);
          break;
      }
    }
  }

 private:
  // Finds the modules in names of functions.
  void FindCalled() {
    called_.assign(tree_.size(), false);
    for (const FunctionId id : AllIds<FunctionId>(table_.size())) {
      if (table_[id].kind != FunctionKind::kPackage) continue;
      const ModuleId module = ReadName(id).module;
      if (module != kNo<ModuleId>) called_[Index(module)] = true;
    }
  }

  struct Reading {
    std::string_view class_name;
    std::string_view path;
    ModuleId module = kNo<ModuleId>;  // if the path is known
  };

  // A class may have an underscore. The split that ends in a known module is
  // used, else the one with the shortest class.
  Reading ReadName(FunctionId id) const {
    const std::vector<hierarchy::PackageFunction> readings =
        hierarchy::SplitPackageFunction(model_.functions()[Index(id)].name);
    const auto reading = [&](std::size_t i, ModuleId module) {
      const char* const begin = readings[0].class_name.data();
      const std::string_view last = readings[i].class_name;
      const auto size =
          static_cast<std::size_t>(last.data() + last.size() - begin);
      return Reading{{begin, size}, readings[i].module, module};
    };
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const ModuleId module = names_.Find(readings[i].module);
      if (module != kNo<ModuleId>) return reading(i, module);
    }
    return readings.empty() ? Reading() : reading(0, kNo<ModuleId>);
  }

  // The module whose function contains the node; the root if unknown.
  ModuleId Around(NodeId node) const {
    FunctionId at = table_.OwnerOf(model_[node].graph);
    while (at != kNo<FunctionId> && table_[at].module == kNo<ModuleId>) {
      if (table_[at].first_call == kNo<NodeId>) break;
      at = table_.OwnerOf(model_[table_[at].first_call].graph);
    }
    return at == kNo<FunctionId> || table_[at].module == kNo<ModuleId>
               ? ModuleTree::kRoot
               : table_[at].module;
  }

  // The common ancestor of all parameters that the call passes.
  ModuleId OwnerOfParameters(NodeId call) const {
    ModuleId owner = kNo<ModuleId>;
    for (const Parameter& parameter : parameters_.Among(model_.Inputs(call))) {
      owner = tree_.Join(owner, parameter.module);
    }
    return owner;
  }

  void PlacePackage(FunctionId id) {
    LocalFunction& function = table_[id];
    const Reading reading = ReadName(id);
    if (reading.path.empty()) return;
    function.module = reading.module;
    function.sure = reading.module != kNo<ModuleId>;
    if (!function.sure) {
      function.module =
          names_.Resolve(reading.path, Around(function.first_call), called_)
              .module;
    }
    tree_.SetClass(function.module, reading.class_name);
    for (const std::size_t i : calls_of_[id]) {
      table_.calls()[i].module = function.module;
      table_.calls()[i].sure = function.sure;
    }
  }

  // The call has the name of the last operation inside. So its scope is the
  // module or below it. The module is the innermost enclosing scope that
  // contains the owner of the parameters.
  ModuleId Climb(NodeId call, ModuleId owner) const {
    for (ScopeId scope = scopes_.node_scope[call];
         scope != kNo<ScopeId> && scope != ScopeId{0};
         scope = scopes_.scopes[scope].parent) {
      const std::vector<std::string_view> atoms =
          Split(scopes_.scopes.Segment(scope), '.');
      for (ModuleId at = owner; at != ModuleTree::kRoot;
           at = tree_.Parent(at)) {
        if (tree_.Without(at, atoms) != kNo<ModuleId>) return at;
      }
    }
    return owner;
  }

  void PlaceClass(FunctionId id) {
    LocalFunction& function = table_[id];
    const std::string_view name =
        hierarchy::ClassOfFunction(model_.functions()[Index(id)].name);
    for (const std::size_t i : calls_of_[id]) {
      FunctionCall& call = table_.calls()[i];
      const ModuleId owner = OwnerOfParameters(call.node);
      if (owner == kNo<ModuleId> || owner == ModuleTree::kRoot) continue;
      call.module = Climb(call.node, owner);
      call.sure = true;
      tree_.SetClass(call.module, name);
      if (call.node == function.first_call) {
        function.module = call.module;
        function.sure = true;
      }
    }
  }

  const Model& model_;
  const ScopeFacts& scopes_;
  const ParameterFacts& parameters_;
  FunctionTable& table_;
  ModuleTree& tree_;
  MangledNames names_;
  IdVector<FunctionId, std::vector<std::size_t>> calls_of_;
  std::vector<bool> called_;  // by module
};

}  // namespace

void PlaceFunctions(const Model& model, const ScopeFacts& scopes,
                    const ParameterFacts& parameters, ModuleTree& modules,
                    FunctionTable& functions) {
  if (functions.empty()) return;
  FunctionPlacer(model, scopes, parameters, modules, functions).Run();
}

}  // namespace onnx_tag
