// The file can have hundreds of megabytes. It is read in one pass and not
// stored; a kernel run needs 32 bytes.
#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/lists.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "file/json/reader.h"
#include "onnx_tag/error.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {
namespace {

using json::Kind;

constexpr std::string_view kKernelTime = "_kernel_time";
constexpr std::string_view kOpenVino = "OV::";
// 12 days, or a terabyte: a hostile file must not make sums overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 40;

// Events are the objects of the outermost list, or of "traceEvents" in an
// outermost object.
class Reader {
 public:
  Reader(Bytes text, Profile& profile)
      : json_(text, ErrorKind::kInput, json::Ending::kMayBeCutOff),
        measure_(profile.measure),
        profile_(profile) {}

  void Read() {
    if (json_.Peek() == Kind::kObject) {
      json_.ForEachMember([&](std::string_view key) {
        if (key == "traceEvents") ReadEvents();
      });
    } else {
      ReadEvents();
    }
    profile_.cut_off = json_.cut_off();
    if (events_ == 0) {
      Fail(ErrorKind::kInput,
           "it has no events\n  it is the file that "
           "SessionOptions.enable_profiling writes");
    }
    SubtractChildren();
    SortBy(profile_.run_times, &ModelRun::begin);
  }

 private:
  // The event that is read. Texts stay valid as long as the reader.
  struct Event {
    json::Place place = {};  // of its duration, or else of the event
    std::string_view name, category, op, provider, parent, status;
    std::optional<std::int64_t> measured, duration;
    std::int64_t begin = 0;
    std::int64_t thread = 0;
  };
  // A kernel of OpenVINO that ran in a node of the runtime.
  struct Child {
    std::string_view parent;
    std::int64_t begin;
    std::int64_t duration;
  };

  void ReadEvents() {
    if (json_.Peek() != Kind::kArray) {
      json_.Skip();
      return;
    }
    json_.ForEachItem([&] {
      if (json_.Peek() == Kind::kObject) ReadEvent();
    });
  }

  void ReadEvent() {
    event_ = Event();
    event_.place = json_.Here();
    json_.ForEachMember([&](std::string_view key) {
      const Kind kind = json_.Peek();
      if (kind == Kind::kString) {
        if (key == "name") event_.name = json_.StringView();
        if (key == "cat") event_.category = json_.StringView();
      } else if (kind == Kind::kNumber) {
        if (key == "dur") {
          event_.place = json_.Here();
          event_.duration = Duration();
        }
        if (key == "ts") event_.begin = Number();
        if (key == "tid") event_.thread = Number();
      } else if (kind == Kind::kObject) {
        if (key == "args") ReadArguments();
      }
    });
    if (!json_.cut_off()) Keep();
  }

  void ReadArguments() {
    json_.ForEachMember([&](std::string_view key) {
      const bool text = json_.Peek() == Kind::kString;
      if ((key == "op_name" || key == "ov_node_type") && text) {
        event_.op = json_.StringView();
      } else if ((key == "provider" || key == "ep") && text) {
        event_.provider = json_.StringView();
      } else if (key == "parent_ort_event_name" && text) {
        event_.parent = json_.StringView();
      } else if (key == "ov_status" && text) {
        event_.status = json_.StringView();
      } else if (key == measure_.name && text) {
        const json::Place place = json_.Here();
        // The runtime writes numbers as strings: "32768".
        const auto number = ParseWhole<std::int64_t>(json_.StringView());
        if (!number) {
          json_.FailAt(place, "its {} is not a number", measure_.name);
        }
        event_.measured = std::clamp(*number, -kMost, kMost);
      } else if (key == measure_.name && json_.Peek() == Kind::kNumber) {
        event_.measured = std::clamp(Number(), -kMost, kMost);
      }
    });
  }

  std::int64_t Number() {
    const double value = json_.Number();
    return value > -1e18 && value < 1e18 ? static_cast<std::int64_t>(value) : 0;
  }

  void Keep() {
    ++events_;
    if (event_.category == "Session" && event_.name == "model_run") {
      ++profile_.model_runs;
      profile_.run_times.push_back({event_.begin, KnownDuration()});
    }
    if (event_.name.starts_with(kOpenVino) && !event_.parent.empty()) {
      if (!measure_.IsTime() || !event_.status.ends_with("EXECUTED")) return;
      event_.name.remove_prefix(kOpenVino.size());
      if (event_.parent.ends_with(kKernelTime)) {
        event_.parent.remove_suffix(kKernelTime.size());
      }
      children_.push_back({event_.parent, event_.begin, KnownDuration()});
      AddRun(KnownDuration());
      return;
    }
    // Fences are not kernel time. GPU kernels have their own category
    // ("Kernel"), apart from the nodes that started them.
    if (event_.category != "Node" || !event_.name.ends_with(kKernelTime))
      return;
    event_.name.remove_suffix(kKernelTime.size());
    if (!measure_.IsTime() && !event_.measured) return;
    AddRun(measure_.IsTime() ? KnownDuration() : *event_.measured);
  }

  void AddRun(std::int64_t number) {
    profile_.runs.push_back({.kernel = Intern(),
                             .thread = ThreadIndex(),
                             .begin = event_.begin,
                             .duration = number,
                             .self = number});
  }

  // A child's time is not its parent's: it is taken from the run of the parent
  // that began last before the child.
  void SubtractChildren() {
    std::unordered_map<std::string_view, std::vector<KernelRun*>> parents;
    for (const Child& child : children_) parents[child.parent];
    for (KernelRun& run : profile_.runs) {
      const auto at = parents.find(profile_.kernels[run.kernel].name);
      if (at != parents.end()) at->second.push_back(&run);
    }
    const auto begins_before = [](const KernelRun* a, const KernelRun* b) {
      return a->begin < b->begin;
    };
    for (auto& [name, runs] : parents) {
      std::sort(runs.begin(), runs.end(), begins_before);
    }
    for (const Child& child : children_) {
      const std::vector<KernelRun*>& runs = parents[child.parent];
      if (runs.empty()) continue;
      KernelRun start{};
      start.begin = child.begin;
      auto at =
          std::upper_bound(runs.begin(), runs.end(), &start, begins_before);
      KernelRun& parent = **(at == runs.begin() ? at : std::prev(at));
      parent.duration -= std::min(parent.duration, child.duration);
      parent.self = parent.duration;
    }
  }

  // None if it is no time that a kernel can take.
  std::optional<std::int64_t> Duration() {
    const double value = json_.Number();
    if (!(value >= 0 && value <= static_cast<double>(kMost)))
      return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

  // A wrong time would make all sums and shares wrong.
  std::int64_t KnownDuration() const {
    if (event_.duration) return *event_.duration;
    json_.FailAt(event_.place,
                 "the duration of '{}' is not a number of microseconds from 0 "
                 "to {}",
                 event_.name, kMost);
  }

  KernelId Intern() {
    std::string key;
    for (const std::string_view text :
         {event_.name, event_.op, event_.provider}) {
      key.append(text) += '\0';
    }
    const auto [at, added] = kernels_.try_emplace(std::move(key), KernelId{0});
    if (added) {
      at->second = profile_.kernels.Add({std::string(event_.name),
                                         std::string(event_.op),
                                         std::string(event_.provider)});
    }
    return at->second;
  }

  std::uint32_t ThreadIndex() {
    return threads_
        .try_emplace(event_.thread, static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  json::Reader json_;
  const Measure& measure_;
  Profile& profile_;
  std::unordered_map<std::string, KernelId> kernels_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  Event event_;
  std::vector<Child> children_;
  std::uint64_t events_ = 0;
};

}  // namespace

Profile ReadOrtProfile(Bytes json, std::string_view measure) {
  Profile profile;
  profile.measure.name = measure;
  profile.measure.level =
      measure.starts_with("mem_") && !measure.ends_with("_delta");
  try {
    Reader(json, profile).Read();
  } catch (const Error& error) {
    throw error.In("not an ONNX Runtime profile");
  }
  if (profile.runs.empty() && !profile.measure.IsTime()) {
    Fail(ErrorKind::kUsage,
         "no kernel has the number '{}'\n  ONNX Runtime writes output_size, "
         "activation_size, parameter_size and, since\n  1.31, "
         "mem_in_use_delta, mem_in_use_peak and others",
         measure);
  }
  return profile;
}

}  // namespace onnx_tag::profile
