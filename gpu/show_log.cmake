# nvcc failed: what it said, then the failure.
file(READ ${LOG} text)
message(FATAL_ERROR "nvcc:\n${text}")
