#include "profile/ort_profile.h"

#include <string_view>
#include <unordered_map>

#include "json/reader.h"
#include "onnx_tag/error.h"

namespace onnx_tag::profile {
namespace {

using json::Kind;

constexpr std::string_view kKernelTime = "_kernel_time";

// Events are the objects of the outermost list, or of "traceEvents" in an
// outermost object.
class Reader {
 public:
  Reader(Bytes text, OrtProfile& profile)
      : json_(text, ErrorKind::kInput, json::Ending::kMayBeCutOff),
        profile_(profile) {}

  void Read() {
    if (json_.Peek() == Kind::kObject) {
      std::string key;
      json_.BeginObject();
      while (json_.NextMember(key)) {
        if (key == "traceEvents") {
          ReadEvents();
        } else {
          json_.Skip();
        }
      }
    } else {
      ReadEvents();
    }
    profile_.cut_off = json_.cut_off();
    if (events_ > 0) return;
    Fail(ErrorKind::kInput,
         "it has no events\n  it is the file that "
         "SessionOptions.enable_profiling writes");
  }

 private:
  void ReadEvents() {
    if (json_.Peek() != Kind::kArray) {
      json_.Skip();
      return;
    }
    json_.BeginArray();
    while (json_.NextItem()) {
      if (json_.Peek() == Kind::kObject) {
        ReadEvent();
      } else {
        json_.Skip();
      }
    }
  }

  void ReadEvent() {
    name_.clear();
    category_.clear();
    op_.clear();
    provider_.clear();
    begin_ = duration_ = thread_ = 0;
    json_.BeginObject();
    while (json_.NextMember(key_)) {
      const Kind kind = json_.Peek();
      if (key_ == "name" && kind == Kind::kString) {
        name_ = json_.String();
      } else if (key_ == "cat" && kind == Kind::kString) {
        category_ = json_.String();
      } else if (key_ == "dur" && kind == Kind::kNumber) {
        duration_ = Number();
      } else if (key_ == "ts" && kind == Kind::kNumber) {
        begin_ = Number();
      } else if (key_ == "tid" && kind == Kind::kNumber) {
        thread_ = Number();
      } else if (key_ == "args" && kind == Kind::kObject) {
        ReadArguments();
      } else {
        json_.Skip();
      }
    }
    if (!json_.cut_off()) Keep();
  }

  void ReadArguments() {
    json_.BeginObject();
    while (json_.NextMember(key_)) {
      const bool text = json_.Peek() == Kind::kString;
      if (key_ == "op_name" && text) {
        op_ = json_.String();
      } else if (key_ == "provider" && text) {
        provider_ = json_.String();
      } else {
        json_.Skip();
      }
    }
  }

  std::int64_t Number() {
    const double value = json_.Number();
    return value > -9e18 && value < 9e18 ? static_cast<std::int64_t>(value) : 0;
  }

  void Keep() {
    ++events_;
    if (category_ == "Session" && name_ == "model_run") ++profile_.model_runs;
    // Fences are not kernel time. GPU kernels have their own category
    // ("Kernel"), apart from the nodes that started them.
    if (category_ != "Node" || !name_.ends_with(kKernelTime)) return;
    name_.resize(name_.size() - kKernelTime.size());
    profile_.runs.push_back({.kernel = Intern(),
                             .thread = ThreadIndex(),
                             .begin = begin_,
                             .duration = duration_,
                             .self = duration_});
  }

  KernelId Intern() {
    std::string key = name_;
    key += '\0';
    key += op_;
    const auto [at, added] = kernels_.try_emplace(std::move(key), KernelId{0});
    if (added) at->second = profile_.kernels.Add({name_, op_, provider_});
    return at->second;
  }

  std::uint32_t ThreadIndex() {
    return threads_
        .try_emplace(thread_, static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  json::Reader json_;
  OrtProfile& profile_;
  std::unordered_map<std::string, KernelId> kernels_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  std::string key_;
  std::string name_;
  std::string category_;
  std::string op_;
  std::string provider_;
  std::int64_t begin_ = 0;
  std::int64_t duration_ = 0;
  std::int64_t thread_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace

OrtProfile ReadOrtProfile(Bytes json) {
  OrtProfile profile;
  try {
    Reader(json, profile).Read();
  } catch (const Error& error) {
    throw error.In("not an ONNX Runtime profile");
  }
  return profile;
}

}  // namespace onnx_tag::profile
