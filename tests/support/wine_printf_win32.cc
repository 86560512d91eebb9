// Debian's wine for arm64 reads the arguments of printf's like Linux, not like
// Windows, and crashes. Tests that run there take mingw's own instead;
// GoogleTest and the C++ library call these two. The program itself calls
// neither.
#include <cstdarg>
#include <cstdio>

extern "C" {

int __mingw_vsnprintf(char*, size_t, const char*, va_list);
int __mingw_vfprintf(FILE*, const char*, va_list);

int __cdecl __stdio_common_vsprintf(unsigned long long options, char* buffer,
                                    size_t size, const char* format, _locale_t,
                                    va_list args) {
  const int length = __mingw_vsnprintf(buffer, size, format, args);
  const bool standard = (options & 2) != 0;
  if (standard || length < 0 || static_cast<size_t>(length) < size) {
    return length;
  }
  return -1;
}

int __cdecl __stdio_common_vfprintf(unsigned long long, FILE* file,
                                    const char* format, _locale_t,
                                    va_list args) {
  return __mingw_vfprintf(file, format, args);
}

}  // extern "C"
