/** Watches, and what they told. */

import { setTimeout as wait } from 'node:timers/promises';
import { ProblemError } from '@datahub/client';
import { type Command, isSet, textOf } from '../command.ts';
import { writeExact } from '../exact-numbers.ts';
import { exitCodeOf, exitCodes } from '../failure.ts';
import { findHub, listAll } from '../hub.ts';
import { note, print, printJson, printRows } from '../output.ts';

const hubOption = { type: 'string', value: 'HUB', help: 'The id, path or label of a hub.' } as const;

export const listWatches: Command = {
  name: 'watches list',
  summary: 'Lists watches with their state and last run.',
  options: { hub: hubOption },
  run: async (input, context) => {
    const hub = await context.hub();
    const named = textOf(input, 'hub');
    const hubId = named === undefined ? undefined : (await findHub(hub, named)).hubId;
    const watches = await listAll(hub, 'GET /v1/watches', hubId === undefined ? {} : { hubId });
    if (context.json) return printJson(context, watches);
    printRows(
      context,
      watches.map(({ watchId, label, state, paused, nextAt, lastRun }) => ({
        ...{ watchId, label, state: paused ? 'paused' : state, nextAt },
        lastRun: lastRun === null ? null : `${lastRun.endedAt} ${lastRun.outcome}`,
      })),
    );
  },
};

export const runWatch: Command = {
  name: 'watches run',
  arguments: 'WATCH_ID',
  summary: 'Runs a watch now, and prints the id of the run.',
  run: async ({ positionals: [watchId = ''] }, context) => {
    const hub = await context.hub();
    printJson(context, await hub.call('POST /v1/watches/{watchId}/run', { path: { watchId }, body: {} }));
  },
};

/** Events of one request. */
const eventsMax = 500;
const followMs = 2_000;

const isPassing = (err: unknown): boolean =>
  err instanceof ProblemError && exitCodeOf(err.problem) === exitCodes.unavailable;

export const events: Command = {
  name: 'events',
  summary: 'Prints events, one in a line, oldest first.',
  options: {
    hub: hubOption,
    after: { type: 'string', value: 'EVENT_ID', help: 'Print only events after this one.' },
    follow: { type: 'boolean', help: 'Go on with new events until you press Ctrl+C.' },
  },
  run: async (input, context) => {
    const hub = await context.hub();
    const named = textOf(input, 'hub');
    const filter = named === undefined ? {} : { hubId: (await findHub(hub, named)).hubId };
    const follows = isSet(input, 'follow');
    let after = textOf(input, 'after');
    let isAway = false;
    for (let asked = 0; ; asked++) {
      const query = { ...filter, limit: eventsMax, ...(after === undefined ? {} : { after }) };
      const found = await hub.call('GET /v1/events', { query }).catch((err) => {
        // The hub may have been restarted.
        if (follows && asked > 0 && isPassing(err)) return err;
        throw err;
      });
      if (found instanceof ProblemError) {
        if (!isAway) note(context, `${found.message} The hub is asked again until it answers.`);
        isAway = true;
        await wait(followMs);
        continue;
      }
      isAway = false;
      for (const event of found.events) print(context, writeExact(event));
      after = found.after ?? undefined;
      if (found.events.length === eventsMax) continue;
      if (!follows) return;
      await wait(followMs);
    }
  },
};

/** The largest page. */
const deliveriesMax = 200;
const states = ['pending', 'delivered', 'failed'] as const;

export const listDeliveries: Command = {
  name: 'deliveries list',
  summary: 'Lists the newest 200 deliveries to destinations.',
  options: {
    destination: { type: 'string', value: 'DESTINATION_ID', help: 'Only those of one destination.' },
    state: {
      type: 'string',
      value: 'STATE',
      help: 'Only those in a state.',
      choices: states,
    },
  },
  run: async (input, context) => {
    const hub = await context.hub();
    const destinationId = textOf(input, 'destination');
    const state = states.find((one) => one === textOf(input, 'state'));
    const query = {
      ...(destinationId === undefined ? {} : { destinationId }),
      ...(state === undefined ? {} : { state }),
      limit: deliveriesMax,
    };
    let total = 0;
    const onResponse = ({ headers }: Response) => {
      total = Number(headers.get('x-total-count') ?? 0);
    };
    const found = await hub.call('GET /v1/deliveries', { query, onResponse });
    printRows(context, found);
    if (total > found.length) note(context, `These are the newest ${found.length} of ${total} deliveries.`);
  },
};

export const redeliver: Command = {
  name: 'deliveries redeliver',
  arguments: 'DELIVERY_ID',
  summary: 'Sends a delivery again, with the same id.',
  run: async ({ positionals: [deliveryId = ''] }, context) => {
    const hub = await context.hub();
    const path = { deliveryId };
    printJson(context, await hub.call('POST /v1/deliveries/{deliveryId}/redeliver', { path, body: {} }));
  },
};
