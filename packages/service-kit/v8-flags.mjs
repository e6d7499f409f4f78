/**
 * V8's flags for every process of the hub. The launcher, the benches and the tests take them from here.
 *
 * - The semi-space grows to 16 MiB: minor GCs then take 2 % of the CPU under load (1 % at 32 MiB, for 30 MiB more
 *   memory; 4 to 5 % at 8 MiB).
 * - The initial old space is a threshold, not an allocation. Below it V8 does no full GC. Without it, an idle process
 *   shrinks its threshold, and a large answer then triggers a full GC for each 12 MiB of buffers: half of its CPU.
 * - A full GC runs when the old space has doubled. By default it may grow fourfold. Annotating a million rows then takes
 *   105 to 155 MiB, instead of 35, and as much CPU.
 * - Few objects survive a minor GC, so one thread copies them: parallel scavenging took 7 % of the CPU of small
 *   executions.
 * - A request runs through hundreds of small functions. Four times the default inlining budget, also for functions that
 *   are called rarely, saves 5 % of the CPU of small executions, for 3 MiB of code.
 * - After 8 s with few allocations V8 runs two full GCs to save memory. They would drop the hidden classes of objects that
 *   no request uses just then, and with them the compiled code of nearly every function on the way of a request: the next
 *   2,500 requests cost two to four times as much. `npm run bench -- rest` shows it. With this flag those GCs keep hidden
 *   classes, like all others, and an idle process keeps its semi-spaces (about 30 MiB after a load).
 */
export const v8Flags = [
  '--min-semi-space-size=4',
  '--max-semi-space-size=16',
  '--initial-old-space-size=64',
  '--heap-growing-percent=100',
  '--no-parallel-scavenge',
  '--max-inlined-bytecode-size-cumulative=4000',
  '--min-inlining-frequency=0.01',
  '--no-memory-reducer-favors-memory',
];
