#include "profile/ort_profile.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::profile {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kKernelTime = "_kernel_time";

// Takes events apart while they are parsed. They are the objects of the
// outermost list, or of "traceEvents" in an outermost object.
class Reader {
 public:
  explicit Reader(OrtProfile& profile) : profile_(profile) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t value) { return Number(value); }
  bool number_unsigned(std::uint64_t value) {
    return Number(static_cast<std::int64_t>(value & 0x7fffffffffffffff));
  }
  bool number_float(double value, const std::string&) {
    return Number(
        value > -9e18 && value < 9e18 ? static_cast<std::int64_t>(value) : 0);
  }
  bool string(std::string& text) {
    if (depth_ == event_depth_) {
      if (key_ == "name") name_ = text;
      if (key_ == "cat") category_ = text;
    } else if (in_arguments_ && depth_ == event_depth_ + 1) {
      if (key_ == "op_name") op_ = text;
      if (key_ == "provider") provider_ = text;
    }
    return true;
  }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(std::size_t) {
    ++depth_;
    if (list_depth_ != 0 && depth_ == list_depth_ + 1) BeginEvent();
    if (event_depth_ != 0 && depth_ == event_depth_ + 1) {
      in_arguments_ = key_ == "args";
    }
    return true;
  }
  bool key(std::string& text) {
    key_ = text;
    return true;
  }
  bool end_object() {
    if (depth_ == event_depth_) EndEvent();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    ++depth_;
    if (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents")) {
      list_depth_ = depth_;
    }
    return true;
  }
  bool end_array() {
    if (depth_ == list_depth_) list_depth_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& error) {
    error_at_ = position;
    error_ = error.what();
    return false;
  }

  std::size_t error_at() const { return error_at_; }
  const std::string& error() const { return error_; }
  std::uint64_t events() const { return events_; }

 private:
  bool Number(std::int64_t value) {
    if (depth_ != event_depth_) return true;
    if (key_ == "dur") duration_ = value;
    if (key_ == "ts") begin_ = value;
    if (key_ == "tid") thread_ = value;
    return true;
  }

  void BeginEvent() {
    event_depth_ = depth_;
    name_.clear();
    category_.clear();
    op_.clear();
    provider_.clear();
    begin_ = duration_ = thread_ = 0;
    in_arguments_ = false;
  }

  void EndEvent() {
    event_depth_ = 0;
    ++events_;
    if (category_ == "Session" && name_ == "model_run") ++profile_.model_runs;
    // Fences take no time of a kernel; GPU kernels are told apart ("Kernel")
    // from the nodes that started them.
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

  OrtProfile& profile_;
  std::unordered_map<std::string, KernelId> kernels_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  std::size_t depth_ = 0;
  std::size_t list_depth_ = 0;   // of the list of events; 0: not in it
  std::size_t event_depth_ = 0;  // 0: not in an event
  bool in_arguments_ = false;
  std::string key_;
  std::string name_;
  std::string category_;
  std::string op_;
  std::string provider_;
  std::int64_t begin_ = 0;
  std::int64_t duration_ = 0;
  std::int64_t thread_ = 0;
  std::uint64_t events_ = 0;
  std::size_t error_at_ = 0;
  std::string error_;
};

}  // namespace

OrtProfile ReadOrtProfile(Bytes json) {
  OrtProfile profile;
  Reader reader(profile);
  const bool good = Json::sax_parse(json.begin(), json.end(), &reader);
  if (!good && reader.error_at() + 1 < json.size()) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = reader.error();
    if (what.starts_with('[')) what.remove_prefix(what.find(']') + 2);
    Fail(ErrorKind::kInput, "not an ONNX Runtime profile: {}",
         Printable(what, 200));
  }
  if (reader.events() == 0) {
    Fail(ErrorKind::kInput,
         "not an ONNX Runtime profile: the file has no events\n  give the file "
         "that "
         "SessionOptions.enable_profiling writes");
  }
  profile.cut_off = !good;
  return profile;
}

}  // namespace onnx_tag::profile
