#include "file/io/leftovers.h"
#include "file/io/win32.h"

// Of advapi32; the documented way to random bytes without a provider.
extern "C" BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG size);

namespace onnx_tag::io {

// Its writer shares it with nobody who wants it alone, so that opening it says
// whether the writer is gone.
void RemoveIfLeftOver(const std::string& path) {
  const Handle file(CreateFileW(
      WidePath(path).c_str(), DELETE, 0, nullptr, OPEN_EXISTING,
      FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
}

bool FillRandom(void* bytes, std::size_t size) {
  return SystemFunction036(bytes, static_cast<ULONG>(size)) != 0;
}

}  // namespace onnx_tag::io
