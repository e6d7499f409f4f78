/*
 * Counts the instructions of each thread, for `bench/ledger`. Debian's qemu-user loads plugins, but has no header for
 * them, so the declarations that this file needs are copied from QEMU 7.2's qemu-plugin.h (plugin API version 1).
 *
 * The argument `counters=PATH` names a file of 512 counters of 64 bits, which other processes read while the program runs.
 * Counter 0 is the main thread's. Threads beyond the last counter share it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
typedef void (*tb_trans_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*tb_exec_t)(unsigned int thread, void *userdata);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_t callback);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, tb_exec_t callback, int flags, void *userdata);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

int qemu_plugin_version = 1;

#define COUNTERS 512
/* A cache line each, because threads write them at the same time. */
static struct { uint64_t count; uint64_t unused[7]; } *counters;

static void count(unsigned int thread, void *instructions)
{
    counters[thread < COUNTERS ? thread : COUNTERS - 1].count += (uint64_t)instructions;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, count, 0, (void *)qemu_plugin_tb_n_insns(tb));
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    if (argc != 1 || strncmp(argv[0], "counters=", 9) != 0) return 1;
    int file = open(argv[0] + 9, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, COUNTERS * sizeof *counters) != 0) return 1;
    counters = mmap(NULL, COUNTERS * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counters == MAP_FAILED) return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
