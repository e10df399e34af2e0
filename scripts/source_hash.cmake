# Sources -> a header with their hash.  cmake -DLIST=FILE -DROOT=FOLDER -DOUT=HEADER -P source_hash.cmake
# LIST names the sources, one a line.  The hash is of their names below ROOT and of what they hold, in the order of the
# names: the same on every machine and in every folder.  OUT stays as it is when the hash does.
# SPDX-License-Identifier: Apache-2.0
file(STRINGS ${LIST} sources)
list(SORT sources)
set(all)
foreach(source ${sources})
    file(SHA256 ${source} hash)
    file(RELATIVE_PATH name ${ROOT} ${source})
    string(APPEND all "${hash} ${name}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUT} CONTENT "/* Made by source_hash.cmake. */\n#define SDM_BUILD_HASH UINT64_C(0x${hash})\n")
