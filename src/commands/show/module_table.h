// The columns of numbers before the module tree, for `show`.
#ifndef ONNX_TAG_COMMANDS_SHOW_MODULE_TABLE_H_
#define ONNX_TAG_COMMANDS_SHOW_MODULE_TABLE_H_

#include <array>
#include <cstdint>
#include <string>

namespace onnx_tag {

// What a row counts.
struct RowNumbers {
  std::uint64_t nodes = 0;
  std::array<std::uint64_t, 4> by_confidence = {};
  std::uint64_t parameters = 0;
  std::uint64_t flops = 0;
};

class NumberColumns {
 public:
  // Shares are relative to `all`. A number that is 0 there has no column.
  NumberColumns(const RowNumbers& all, bool color);

  std::string Header() const;
  std::string Row(const RowNumbers& numbers) const;
  std::string Blank() const { return std::string(width_, ' '); }
  std::size_t width() const { return width_; }

  // "█ certain  ▓ high  ▒ medium  ░ low"
  std::string Legend() const;

 private:
  std::string Bar(const RowNumbers& numbers) const;

  RowNumbers all_;
  bool color_;
  std::size_t column_;  // of a count
  std::size_t width_;
};

// "12.5%", "-" of nothing.
std::string ShareText(std::uint64_t part, std::uint64_t whole);

}  // namespace onnx_tag

#endif  // ONNX_TAG_COMMANDS_SHOW_MODULE_TABLE_H_
