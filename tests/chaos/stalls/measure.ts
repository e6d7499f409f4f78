/** Measures what a call takes of the hub's main thread once its code is compiled. */

import type { Call, ToCall } from './calls.ts';
import { exceptions } from './exceptions.ts';
import { payloads } from './payloads.ts';
import type { Prepared } from './prepared.ts';

/** The CPU time between two turns of the main thread, and the memory that a call takes. */
const msMax = 50;
const mebibytesMax = 64;
/** On a slow or busy machine, the CPU time of parsing a megabyte this often counts instead. */
const parsesMax = 2;
const warmCalls = 2;
/** A collection of all garbage can fall into a call, so the least of these counts. */
const tries = 4;
/**
 * What takes so long alone is also called so often at once, by many clients. Together they may take twice as long in one
 * turn as one call may: each of them waits for a turn of its own.
 */
const togetherFromMs = 5;
const calledTogether = 16;
const togetherFactor = 2;

export interface Measured {
  name: string;
  status: number;
  ms: number;
  mebibytes: number;
  isWithin: boolean;
}

type Options = Pick<Prepared, 'hub' | 'look'> & { found: Measured[] };

/** Returns a function that measures a call of the route and adds the figures to `found`. */
export function createMeasure(route: string, { hub, look, found }: Options) {
  const [method = 'GET'] = route.split(' ');
  const send = async ({ path, body, headers = {} }: Call): Promise<number> => {
    const response = await fetch(hub.url + path, {
      method,
      headers: { 'x-service-api-key': hub.key, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const measureOnce = async (calls: readonly Call[]) => {
    await look();
    const { mostBytes: before } = await look();
    const [status = 0] = await Promise.all(calls.map(send));
    const { longestMs, mostBytes } = await look();
    return { status, ms: Math.round(longestMs), mebibytes: Math.round((mostBytes - before) / 1_048_576) };
  };
  const measure = async (which: string, toCall: ToCall, count = 1): Promise<Measured> => {
    const next = async () => (typeof toCall === 'function' ? toCall() : toCall);
    const name = `${route}: ${which}`;
    const [, allowed] = Object.entries(exceptions).find(([start]) => name.startsWith(start)) ?? [];
    const bounds = { ms: msMax, mebibytes: mebibytesMax, ...allowed };
    if (count > 1) Object.assign(bounds, { ms: bounds.ms * togetherFactor, mebibytes: Infinity });
    for (let i = 0; i < warmCalls; i++) await send(await next());
    let measured: Measured = { name, status: 0, ms: Infinity, mebibytes: Infinity, isWithin: false };
    for (let i = 0; i < tries && !measured.isWithin; i++) {
      const calls = [];
      for (let j = 0; j < count; j++) calls.push(await next());
      const found = await measureOnce(calls);
      const ms = Math.min(measured.ms, found.ms);
      const mebibytes = Math.min(measured.mebibytes, found.mebibytes);
      const isShort = ms <= bounds.ms || ms <= (bounds.ms / msMax) * parsesMax * parseMs();
      measured = {
        name,
        status: found.status,
        ms,
        mebibytes,
        isWithin: isShort && mebibytes <= bounds.mebibytes,
      };
    }
    found.push(measured);
    return measured;
  };
  return {
    alone: measure,
    /** Also many at once, if one takes long enough. Returns the figures of one alone. */
    together: async (which: string, toCall: ToCall): Promise<Measured> => {
      const alone = await measure(which, toCall);
      if (alone.ms >= togetherFromMs)
        await measure(`${which}, ${calledTogether} at once`, toCall, calledTogether);
      return alone;
    },
  };
}

/** The CPU time of parsing a megabyte. */
export function parseMs(): number {
  const text = payloads.members();
  const before = process.threadCpuUsage();
  JSON.parse(text);
  return process.threadCpuUsage(before).user / 1_000;
}
