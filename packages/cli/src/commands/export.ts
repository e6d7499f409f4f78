import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProblemError } from '@datahub/client';
import { type Command, isSet, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { readBoards } from '../files/boards.ts';
import { writeDirectory } from '../files/directory.ts';
import { type HubFile, hubFileName, readHubFile, toFileSettings } from '../files/hub-file.ts';
import { type RemoteKeys, readKeys } from '../files/keys.ts';
import { folderKey, type HubModel } from '../files/model.ts';
import type { RemoteHub } from '../files/remote.ts';
import { readClassifiers, readRemote, toHubModel } from '../files/remote.ts';
import { readWatches } from '../files/watches.ts';
import { findHub, type Hub } from '../hub.ts';
import { countOf, note, print, printJson } from '../output.ts';

export const exportHub: Command = {
  name: 'export',
  arguments: 'DIR',
  summary:
    'Writes a hub into a directory: hub.yaml, and a file for each query, watch, board and key of files.',
  options: {
    hub: {
      type: 'string',
      value: 'HUB',
      help: 'The id, path or label of the hub; by default the one in DIR/hub.yaml.',
    },
    adopt: {
      type: 'boolean',
      help: 'Store the paths of the files in queries that have none, and in the hub.',
    },
    prune: {
      type: 'boolean',
      help: 'Remove files of queries, watches, boards and keys that the hub does not have.',
    },
    classifiers: { type: 'boolean', help: 'List all classifiers of the account in hub.yaml.' },
  },
  completes: 'files',
  run: async (input, context) => {
    const [dir = ''] = input.positionals;
    const before = await readBefore(dir);
    const named = textOf(input, 'hub') ?? before?.model.path;
    if (named === undefined)
      throw new CommandError(
        `--hub is missing, because ${join(dir, hubFileName)} does not exist. For a hub that does not exist yet: datahub init ${dir}`,
      );
    const hub = await context.hub();
    const remote = await readRemote(hub, await findHub(hub, named));
    const classifiers = isSet(input, 'classifiers')
      ? [...new Set((await readClassifiers(hub)).map(({ name }) => name))].map((name) => ({ name }))
      : (before?.model.classifiers ?? []);
    const model = toHubModel(remote, classifiers);
    model.sources = model.sources.map((source) => {
      const old = before?.model.sources.find(({ label }) => label === source.label)?.connectionSettings;
      return { ...source, connectionSettings: toFileSettings(source, { hub: model.path, before: old }) };
    });
    if (before !== undefined) keepOrder(model, before.model);
    const engines = new Map(model.sources.map(({ label, engine }) => [label, engine]));
    const found = await readable(() => readWatches(hub, remote));
    const boards = await readable(() => readBoards(hub, remote));
    const keys = await readable(() => readKeys(hub, remote, model.path));
    const written = await writeDirectory(dir, {
      hub: model,
      watches: found?.watches.map((watch) => watch.model),
      boards: boards?.boards.map((board) => board.model),
      keys: keysOf(keys),
      isMongodb: (source) => engines.get(source) === 'mongodb',
      prune: isSet(input, 'prune'),
    });
    const nameless = remote.queries.filter(({ path }) => path === undefined);
    if (isSet(input, 'adopt')) await adopt(hub, { remote, path: model.path });
    else if (nameless.length > 0)
      note(
        context,
        `${nameless.length} queries have no path. Their files are named after their labels; store these paths with --adopt.`,
      );
    if (found === undefined) note(context, 'The key may not read watches, so their files stay as they are.');
    else if (found.nameless > 0)
      note(context, `${countOf(found.nameless, 'watch has', 'watches have')} no path, and no file.`);
    if (boards === undefined) note(context, 'The key may not read boards, so their files stay as they are.');
    else if (boards.nameless > 0)
      note(context, `${countOf(boards.nameless, 'board has', 'boards have')} no path, and no file.`);
    if (written.others.length > 0)
      note(
        context,
        `The hub has no queries, watches, boards and keys for these files, which stay (--prune removes them): ${written.others.join(', ')}`,
      );
    if (context.json) printJson(context, written);
    else
      print(
        context,
        `${written.files.length} files in ${dir}${written.removed.length > 0 ? `, ${written.removed.length} removed` : ''}`,
      );
  },
};

/**
 * A hub has its folders and sources in the order in which they were created, and a file can have them in any. What the
 * file does not have comes last.
 */
function keepOrder(model: HubModel, before: HubFile['model']): void {
  const byFile = <T>(all: readonly T[], [old, keyOf]: [readonly T[], (one: T) => string]): T[] => {
    const places = new Map(old.map((one, i) => [keyOf(one), i]));
    const placeOf = (one: T) => places.get(keyOf(one)) ?? old.length;
    return all.toSorted((one, other) => placeOf(one) - placeOf(other));
  };
  const listed = new Set(before.folders.map(folderKey));
  const used = new Set(model.queries.map(({ folder }) => folderKey(folder)));
  const parents = new Set(
    before.folders.flatMap((labels) => labels.map((_, i) => folderKey(labels.slice(0, i)))),
  );
  // A file need not list the folders above those that it lists.
  const isImplied = (key: string) => parents.has(key) && !listed.has(key) && !used.has(key);
  const folders = model.folders.filter((labels) => !isImplied(folderKey(labels)));
  model.folders = byFile(folders, [before.folders, folderKey]);
  model.sources = byFile(model.sources, [before.sources, ({ label }) => label]);
}

async function readBefore(dir: string): Promise<HubFile | undefined> {
  const text = await readFile(join(dir, hubFileName), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const file = readHubFile(text, { file: hubFileName, faults: [] });
  if (file === undefined)
    throw new CommandError(`${join(dir, hubFileName)} has faults; see: datahub plan ${dir}`);
  return file;
}

async function adopt(hub: Hub, { remote, path }: { remote: RemoteHub; path: string }): Promise<void> {
  const { hubId, label } = remote;
  if (remote.path === undefined)
    await hub.call('PUT /v1/hubs/{hubId}', { path: { hubId }, body: { label, path } });
  for (const { queryId, path: stored, model } of remote.queries)
    if (stored === undefined)
      await hub.call('PUT /v1/queries/{queryId}', {
        path: { queryId },
        body: { meta: { path: model.path } },
      });
}

/** Resolves to undefined if the key may not read them. */
const readable = <T>(read: () => Promise<T>): Promise<T | undefined> =>
  read().catch((err) => {
    if (err instanceof ProblemError && err.status === 403) return undefined;
    throw err;
  });

/** A hub without keys of files needs no folder of them. */
const keysOf = (found: RemoteKeys | undefined) =>
  found === undefined || found.keys.length === 0 ? undefined : found.keys.map((key) => key.model);
