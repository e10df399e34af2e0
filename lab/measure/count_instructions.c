/* A plugin of qemu (6 to 8): counts the instructions that a program executes from the n-th call of a function to
 * the next one, by function.
 *   qemu -plugin PLUGIN,function=NAME[,call=N]      lines "COUNT NAME" on standard error; the program ends there */
// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What qemu-plugin.h declares of its programming interface, version 1; Debian packs no header. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned vcpu, void *user),
                                          int flags, void *user);
extern int qemu_plugin_version;
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);
int qemu_plugin_version = 1;

enum { FUNCTIONS = 4096, ADD = 0 };
static struct {
    const char *name;
    uint64_t count;
} functions[FUNCTIONS];
static int found;
static const char *wanted = "";
static long calls_left = 1;

static uint64_t *counter_of(const char *name)
{
    int i = 0;
    while (i < found && strcmp(functions[i].name, name) != 0)
        i++;
    if (i == found && found < FUNCTIONS)
        functions[found++].name = strdup(name);
    return &functions[i < FUNCTIONS ? i : FUNCTIONS - 1].count;
}

static void called(unsigned vcpu, void *user)
{
    (void)vcpu, (void)user;
    calls_left--;
    if (calls_left == 0)
        for (int i = 0; i < found; i++)
            functions[i].count = 0;
    if (calls_left >= 0)
        return;
    for (int i = 0; i < found; i++)
        if (functions[i].count > 0)
            fprintf(stderr, "%llu %s\n", (unsigned long long)functions[i].count, functions[i].name);
    fflush(stderr);
    _exit(0);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    static uint64_t entry; /* the first block of a function that is translated is its first one */
    const char *const symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0)),
                     *const name = symbol ? symbol : "?";
    if (entry == 0 && strcmp(name, wanted) == 0)
        entry = qemu_plugin_tb_vaddr(tb);
    if (qemu_plugin_tb_vaddr(tb) == entry)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, called, 0, NULL);
    qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD, counter_of(name), qemu_plugin_tb_n_insns(tb));
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "function=", 9) == 0)
            wanted = strdup(argv[i] + 9);
        else if (strncmp(argv[i], "call=", 5) == 0)
            calls_left = strtol(argv[i] + 5, NULL, 10);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
