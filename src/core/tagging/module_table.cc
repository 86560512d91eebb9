#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/tagging/tag_format.h"
#include "core/tagging/words.h"
#include "file/json/reader.h"
#include "file/json/writer.h"
#include "onnx_tag/error.h"

namespace onnx_tag {
namespace {

// Class names, each once; 0 stands for none.
class ClassTable {
 public:
  std::size_t Add(std::string_view name) {
    if (name.empty()) return 0;
    const auto [at, added] = numbers_.try_emplace(name, names_.size() + 1);
    if (added) names_.push_back(name);
    return at->second;
  }
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

bool HasDefaultExceptions(const TagFormat& format) {
  return std::equal(format.exceptions.begin(), format.exceptions.end(),
                    kDefaultExceptions.begin(), kDefaultExceptions.end());
}

void WriteHead(const Tagging& tagging, JsonWriter& json) {
  json.Key("root").BeginArray().String(tagging.root.name);
  json.Number(static_cast<int>(tagging.root.confidence));
  json.Strings(tagging.root.alternatives).EndArray();
  if (tagging.format.torch_nn) json.Key("torch_nn").Bool(true);
  if (!HasDefaultExceptions(tagging.format)) {
    json.Key("exceptions").Strings(tagging.format.exceptions);
  }
  if (!tagging.family_words.empty()) {
    json.Key("family").Strings(tagging.family_words);
  }
  if (!tagging.dialect.empty()) json.Key("dialect").String(tagging.dialect);
  if (!tagging.options.empty()) json.Key("options").String(tagging.options);
}

// What few modules have.
void WriteRest(const Tagging& tagging, ModuleId id, ClassTable& classes,
               JsonWriter& json) {
  const ModuleFacts* const facts = tagging.FactsOf(id);
  const FoundBlock* const found = tagging.FindFound(id);
  if (facts != nullptr && !facts->candidates.empty()) {
    json.BeginArray();
    for (const std::string& candidate : facts->candidates) {
      json.Number(classes.Add(candidate));
    }
    json.EndArray();
  }
  const GivenPaths none;
  const auto& [tag, role_path] =
      Index(id) < tagging.given.size() ? tagging.given[id] : none;
  if (found == nullptr && role_path.empty() && tag.empty()) return;
  json.BeginObject();
  if (found != nullptr) json.Key("found").String(found->description);
  if (!tag.empty()) json.Key("tag").String(tag);
  if (!role_path.empty()) json.Key("role").String(role_path);
  json.EndObject();
}

Confidence ReadLevel(json::Reader& json) {
  return static_cast<Confidence>(json.Whole(kConfidenceNames.size() - 1));
}

// The next item of a list that must have one.
json::Reader& Next(json::Reader& json) {
  if (!json.NextItem()) json.FailAt(json.Here(), "the list is too short");
  return json;
}

class TableReader {
 public:
  TableReader(std::string_view entry, Tagging& tagging)
      : json_(entry, ErrorKind::kInput),
        tagging_(tagging),
        most_candidate_bytes_(kMostExpansion * (entry.size() + 1024)) {}

  void Read() {
    json_.ForEachMember([&](std::string_view key) {
      if (key == "root") ReadRoot();
      if (key == "torch_nn") tagging_.format.torch_nn = json_.Bool();
      if (key == "exceptions") tagging_.format.exceptions = json_.Strings();
      if (key == "family") tagging_.family_words = json_.Strings();
      if (key == "dialect") tagging_.dialect = json_.String();
      if (key == "options") tagging_.options = json_.String();
      if (key == "classes") classes_ = json_.Strings();
      if (key == "modules") json_.ForEachItem([&] { ReadModule(); });
    });
  }

 private:
  void ReadRoot() {
    json_.BeginArray();
    tagging_.root.name = Next(json_).String();
    tagging_.root.confidence = ReadLevel(Next(json_));
    tagging_.root.alternatives = Next(json_).Strings();
    while (json_.NextItem()) json_.Skip();
  }

  void ReadModule() {
    json_.BeginArray();
    if (count_++ > 0) AddModule();
    const auto id = MakeId<ModuleId>(count_ - 1);
    const std::uint64_t name = Next(json_).Whole(classes_.size());
    if (name > 0) tagging_.modules.SetClass(id, classes_[name - 1]);
    ModuleFacts facts;
    facts.class_confidence = ReadLevel(Next(json_));
    tagging_.facts.Add(std::move(facts));
    while (json_.NextItem()) ReadRest(id);
  }

  // The modules of the entry and of the tree have the same numbers.
  void AddModule() {
    const auto parent = MakeId<ModuleId>(Next(json_).Whole(count_ - 2));
    const json::Place place = Next(json_).Here();
    const std::string atom = json_.String();
    if (atom.empty() || atom.find('.') != std::string::npos) {
      json_.FailAt(place, "'{}' is no name of a module", Short{atom, 100});
    }
    tagging_.modules.Child(parent, atom);
    if (tagging_.modules.size() < count_) {
      json_.FailAt(place, "the module '{}' occurs twice", Short{atom, 100});
    }
  }

  void AddCandidate(ModuleId id) {
    const std::uint64_t number = json_.Whole(classes_.size());
    if (number == 0) return;
    const std::string& name = classes_[number - 1];
    candidate_bytes_ += name.size();
    if (candidate_bytes_ > most_candidate_bytes_) {
      json_.FailAt(json_.Here(), "the candidates are too long");
    }
    tagging_.facts[id].candidates.push_back(name);
  }

  void ReadRest(ModuleId id) {
    if (json_.Peek() == json::Kind::kArray) {
      json_.ForEachItem([&] { AddCandidate(id); });
      return;
    }
    json_.ForEachMember([&](std::string_view key) {
      if (key == "found") tagging_.found.push_back({id, json_.String()});
      if (key == "tag") tagging_.Give(id).hierarchy_tag = json_.String();
      if (key == "role") tagging_.Give(id).role_path = json_.String();
    });
  }

  json::Reader json_;
  Tagging& tagging_;
  std::vector<std::string> classes_;
  std::size_t count_ = 0;  // of modules
  // A candidate is a number for a name, which a hostile file may repeat until
  // memory is full. Those of real models are 2 to 4 times their numbers.
  static constexpr std::size_t kMostExpansion = 16;
  const std::size_t most_candidate_bytes_;
  std::size_t candidate_bytes_ = 0;
};

}  // namespace

IdVector<ModuleId, std::uint32_t> PlacesOf(const ModuleTree& tree) {
  IdVector<ModuleId, std::uint32_t> places(tree.size(), 0);
  std::uint32_t count = 0;
  for (const ModuleId id : tree.All()) places[id] = count++;
  return places;
}

std::string WriteModuleTable(const Tagging& tagging) {
  const ModuleTree& tree = tagging.modules;
  ClassTable classes;
  for (const ModuleId id : tree.All()) {
    classes.Add(tree.Class(id));
    const ModuleFacts* const facts = tagging.FactsOf(id);
    if (facts == nullptr) continue;
    for (const std::string& name : facts->candidates) classes.Add(name);
  }
  JsonWriter json(JsonWriter::Spaces::kNone);
  json.BeginObject();
  WriteHead(tagging, json);
  json.Key("classes").Strings(classes.names());
  // A module is listed after the one around it: its number, the name in it, the
  // number of the class, how sure the class is. The root has the last two.
  const IdVector<ModuleId, std::uint32_t> places = PlacesOf(tree);
  json.Key("modules").BeginArray();
  for (const ModuleId id : tree.All()) {
    json.BeginArray();
    if (id != ModuleTree::kRoot) {
      json.Number(places[tree.Parent(id)]).String(tree.Atom(id));
    }
    json.Number(classes.Add(tree.Class(id)));
    const ModuleFacts* const facts = tagging.FactsOf(id);
    json.Number(facts == nullptr ? 0
                                 : static_cast<int>(facts->class_confidence));
    WriteRest(tagging, id, classes, json);
    json.EndArray();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string ReadModuleTable(std::string_view entry, Tagging& tagging) {
  Tagging read;
  try {
    TableReader(entry, read).Read();
  } catch (const Error& error) {
    return error.what();
  }
  tagging = std::move(read);
  return "";
}

}  // namespace onnx_tag
