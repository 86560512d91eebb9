// How a tagging is scored against a model whose answers are known.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"
#include "support/truth.h"

namespace onnx_tag::bench {

using test::FindTruth;
using test::ReadTruth;
using test::TruthFile;
using test::TruthRow;

std::string ReadAll(const std::filesystem::path& path);

enum class Verdict { kExact, kAbove, kWrong, kWrongLayer };
Verdict Judge(const std::string& module, const TruthRow& row);

// Whether `module`, which is the row's, and all around it have the right
// class. Lists are not asked for: tags do not show them.
bool ClassesRight(const Tagging& tagging, ModuleId module, const TruthRow& row);

struct Score {
  std::uint64_t files = 0;
  std::uint64_t rows = 0;
  std::uint64_t untagged = 0;
  std::uint64_t exact = 0;
  std::uint64_t above = 0;  // a proper ancestor: less precise, not false
  std::uint64_t wrong = 0;
  std::uint64_t layer = 0;       // of the wrong: another layer's index
  std::uint64_t class_rows = 0;  // exact ones whose classes are known
  std::uint64_t class_right = 0;
  std::uint64_t role_modules = 0;  // of models that the catalogue knows
  std::uint64_t role_right = 0;    // with the true role path
  std::array<std::uint64_t, 4> level_rows = {};
  std::array<std::uint64_t, 4> level_exact = {};

  void Add(Verdict verdict, Confidence confidence);
  void Add(const Score& other);
};

// "98.76", or "-" where there is nothing to divide.
std::string Percent(std::uint64_t part, std::uint64_t whole);

// "encoder.layer.*.output": the same for all layers.
std::string Generic(std::string_view path);

}  // namespace onnx_tag::bench
