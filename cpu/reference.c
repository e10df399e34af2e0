#include "kernels.h"
typedef int sdm_reference_placeholder;
