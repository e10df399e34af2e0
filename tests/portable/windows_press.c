/* Runs a program and, once a file is there, does to it what a user does; ends with the program's exit code.
 *   windows_press c|break|close|kill PATTERN PROGRAM ARGUMENT...   presses Ctrl-C or Ctrl-Break, closes its
 *       window, ends it as the task manager does
 *   windows_press hold FILE PROGRAM ARGUMENT...        holds the file open meanwhile, as a viewer does */
// SPDX-License-Identifier: Apache-2.0
#include <wchar.h>
#include <windows.h>

enum { PATIENCE = 60000, STEP = 5, WRONG = 90 };

static BOOL WINAPI ignore(DWORD event) /* the key is for the program, in the same console */
{
    (void)event;
    return TRUE;
}

static int has_file(const wchar_t *pattern)
{
    WIN32_FIND_DATAW found;
    const HANDLE search = FindFirstFileW(pattern, &found);
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
    return search != INVALID_HANDLE_VALUE;
}

/* Start what the console starts in the program, a thread that calls the handlers: wine's console sends no
 * Ctrl-Break, and closes no window. */
static int call_handlers(HANDLE process, DWORD_PTR event)
{
    const FARPROC routine = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    return routine && CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)(void *)routine,
                                         (void *)event, 0, NULL);
}

static int press(const wchar_t *what, HANDLE process)
{
    if (wcscmp(what, L"kill") == 0)
        return TerminateProcess(process, WRONG + 1);
    if (wcscmp(what, L"break") == 0)
        return call_handlers(process, CTRL_BREAK_EVENT);
    if (wcscmp(what, L"close") == 0)
        return call_handlers(process, CTRL_CLOSE_EVENT);
    return GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
}

int wmain(int argc, wchar_t **argv)
{
    wchar_t line[8192] = L"";
    STARTUPINFOW how = {.cb = sizeof how};
    PROCESS_INFORMATION p;
    HANDLE held = NULL;
    DWORD code = WRONG;
    for (int i = 3; i < argc; i++) {
        wcscat(line, i > 3 ? L" \"" : L"\"");
        wcscat(line, argv[i]);
        wcscat(line, L"\"");
    }
    const int holds = wcscmp(argv[1], L"hold") == 0;
    SetConsoleCtrlHandler(ignore, TRUE);
    if (holds)
        held = CreateFileW(argv[2], GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    if (held == INVALID_HANDLE_VALUE ||
        !CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &how, &p))
        return WRONG;
    for (int ms = 0; !holds && !has_file(argv[2]); ms += STEP)
        if (ms > PATIENCE || WaitForSingleObject(p.hProcess, STEP) != WAIT_TIMEOUT)
            return WRONG + 2;
    if (!holds && !press(argv[1], p.hProcess))
        return WRONG + 3;
    WaitForSingleObject(p.hProcess, INFINITE);
    GetExitCodeProcess(p.hProcess, &code);
    return (int)code;
}
