# Files as C arrays of bytes.
#   cmake -DOUT=x.c -DNAME=sdm_kernels_text -DLINES=ON -DFILES=a|b -P embed.cmake
# LINES: the files are text; before each a #line names it, the files of its own folder that it includes stand before it,
# each once.  A zero that is not counted ends all.
cmake_policy(SET CMP0057 NEW) # IN_LIST
set(bytes "")

function(append_text file)
    get_property(done GLOBAL PROPERTY embedded)
    if(file IN_LIST done)
        return()
    endif()
    set_property(GLOBAL APPEND PROPERTY embedded ${file})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(name ${file} NAME)
    file(STRINGS ${file} includes REGEX "^#include \"")
    foreach(line ${includes})
        string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
        append_text(${folder}/${included})
    endforeach()
    file(READ ${file} text)
    string(REGEX REPLACE "#include \"[^\"]*\"|#pragma once" "" text "${text}")
    string(HEX "\n#line 1 \"${name}\"\n${text}" hex)
    set_property(GLOBAL APPEND_STRING PROPERTY text ${hex})
endfunction()

string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
    if(LINES)
        append_text(${file})
    else()
        file(READ ${file} hex HEX)
        string(APPEND bytes ${hex})
    endif()
endforeach()
if(LINES)
    get_property(bytes GLOBAL PROPERTY text)
endif()
string(LENGTH "${bytes}" count)
math(EXPR count "${count} / 2")
string(APPEND bytes "00") # not counted
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* made by cmake/embed.cmake */\n#include <stddef.h>\n"
    "extern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_bytes;\n"
    "_Alignas(64) const unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_bytes = ${count};\n")
