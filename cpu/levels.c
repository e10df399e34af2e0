#include "kernels.h"
typedef int sdm_levels_placeholder;
