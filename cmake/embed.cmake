# Files as C arrays of bytes.
#   cmake -DOUT=x.c -DNAME=sdm_kernels_text -DLINES=ON -DFILES=a|b -P embed.cmake
# LINES: the files are text; before each a #line names it, #include is left out, and a zero ends all.
set(bytes "")
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
    if(LINES)
        get_filename_component(name ${file} NAME)
        file(READ ${file} text)
        string(REGEX REPLACE "#include \"[^\"]*\"" "" text "${text}") # all is there already
        string(HEX "\n#line 1 \"${name}\"\n${text}" hex)
    else()
        file(READ ${file} hex HEX)
    endif()
    string(APPEND bytes ${hex})
endforeach()
string(LENGTH "${bytes}" count)
math(EXPR count "${count} / 2")
if(LINES)
    string(APPEND bytes "00") # not counted
endif()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* made by cmake/embed.cmake */\n#include <stddef.h>\n"
    "extern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_bytes;\n"
    "_Alignas(64) const unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_bytes = ${count};\n")
