#include "mapping/evidence.h"
