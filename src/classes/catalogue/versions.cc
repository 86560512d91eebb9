#include "classes/catalogue/versions.h"

#include <array>
#include <charconv>
#include <cstdlib>

namespace onnx_tag::catalogue {
namespace {

struct Release {
  int major = 0;
  int minor = 0;
};

// Parses "2.6.0+cu124"; zeros if it is not a version.
Release ReadRelease(std::string_view text) {
  Release release;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, release.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  std::from_chars(dot + 1, end, release.minor);
  return release;
}

// Releases of transformers on one scale: 4.57 was followed by 5.0.
int Ordinal(Release transformers) {
  return transformers.major >= 5 ? 58 + transformers.minor : transformers.minor;
}

// The release of transformers when torch 2.5 to 2.9 were released. Before and
// after that, most attention classes had only one form.
constexpr int kFirstMinor = 5;
constexpr std::array<int, 5> kWithTorch2 = {46, 49, 52, 55, 57};

}  // namespace

bool IsToday(std::string_view torch_version) {
  const Release torch = ReadRelease(torch_version);
  return torch.major > 2 ||
         (torch.major == 2 &&
          torch.minor >= kFirstMinor + static_cast<int>(kWithTorch2.size()));
}

VersionMask LikelyVersions(const Table& table, std::string_view torch_version) {
  const Release torch = ReadRelease(torch_version);
  int current = 1000;
  const int index = torch.minor - kFirstMinor;
  if (torch.major == 2 && index >= 0 &&
      index < static_cast<int>(kWithTorch2.size())) {
    current = kWithTorch2[static_cast<std::size_t>(index)];
  }
  VersionMask nearest = 0;
  int distance = 0;
  for (std::size_t bit = 0; bit < table.Versions().size(); ++bit) {
    const std::string_view text = table.Text(table.Versions()[bit]);
    const Release release = ReadRelease(text.substr(text.rfind(' ') + 1));
    const int away = std::abs(Ordinal(release) - current);
    if (nearest == 0 || away < distance) {
      nearest = static_cast<VersionMask>(1U << bit);
      distance = away;
    }
  }
  return nearest;
}

}  // namespace onnx_tag::catalogue
