import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProblemError } from '@datahub/client';
import { type Command, isSet, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { readBoards } from '../files/boards.ts';
import { requireNoLinks, writeDirectory } from '../files/directory.ts';
import {
  type HubFile,
  hubFileName,
  readHubFile,
  SourceVariables,
  toFileSettings,
} from '../files/hub-file.ts';
import { readKeys } from '../files/keys.ts';
import { folderKey, type HubModel } from '../files/model.ts';
import type { RemoteHub } from '../files/remote.ts';
import { pathOf, readClassifiers, readRemote, toHubModel } from '../files/remote.ts';
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
    const isPartial = await seesSomeQueries(hub);
    if (isPartial && isSet(input, 'prune'))
      throw new CommandError(
        'This key is limited to some queries, so --prune would remove the files of all others. Use a key that sees the whole hub.',
      );
    const read = await readRemote(hub, await findHub(hub, named));
    const [queries, withoutSource] = partition(read.queries, ({ model }) => model.source !== '');
    const remote = { ...read, queries };
    const classifiers = isSet(input, 'classifiers')
      ? [...new Set((await readClassifiers(hub)).map(({ name }) => name))].map((name) => ({ name }))
      : (before?.model.classifiers ?? []);
    const model = toHubModel(remote, { path: await pathOf(hub, remote), classifiers });
    const variables = new SourceVariables(model.path, before?.model.sources);
    model.sources = model.sources.map((source) => {
      const old = before?.model.sources.find(({ label }) => label === source.label)?.connectionSettings;
      return { ...source, connectionSettings: toFileSettings(source, { variables, before: old }) };
    });
    if (before !== undefined) keepOrder(model, before.model);
    const engines = new Map(model.sources.map(({ label, engine }) => [label, engine]));
    const found = await readBeside(hub, { remote, path: model.path });
    // If another hub has got the path meanwhile, nothing is written.
    if (isSet(input, 'adopt')) await adopt(hub, { remote, path: model.path });
    const written = await writeDirectory(dir, {
      hub: model,
      ...found.models,
      left: { ...found.left, queries: withoutSource.map(pathOfModel) },
      isMongodb: (source) => engines.get(source) === 'mongodb',
      prune: isSet(input, 'prune'),
    });
    const nameless = remote.queries.filter(({ path }) => path === undefined);
    if (!isSet(input, 'adopt') && nameless.length > 0)
      note(
        context,
        `${nameless.length} queries have no path. Their files are named after their labels; store these paths with --adopt.`,
      );
    if (withoutSource.length > 0)
      note(context, `Queries whose source was deleted have no file: ${listOf(withoutSource)}`);
    for (const text of found.notes) note(context, text);
    if (written.others.length > 0)
      note(
        context,
        `${isPartial ? 'The key sees' : 'The hub has'} no queries, watches, boards and keys for these files, which stay${isPartial ? '' : ' (--prune removes them)'}: ${written.others.join(', ')}`,
      );
    if (context.json) printJson(context, written);
    else
      print(
        context,
        `${written.files.length} files in ${dir}${written.removed.length > 0 ? `, ${written.removed.length} removed` : ''}`,
      );
  },
};

/** An older hub does not say by what a key is limited. */
async function seesSomeQueries(hub: Hub): Promise<boolean> {
  const { limitedBy = [] } = await hub.call('GET /v1/keys/current');
  return ['queries', 'queryIds'].some((limit) => limitedBy.includes(limit));
}

/** What the hub has beside queries. What files cannot say is left out, and files of it stay as they are. */
async function readBeside(hub: Hub, { remote, path }: { remote: RemoteHub; path: string }) {
  const paths = new Set(remote.queries.map(pathOfModel));
  const notes: string[] = [];
  const tell = (left: readonly Modelled[], which: string) => {
    if (left.length > 0) notes.push(`${which} have no file: ${listOf(left)}`);
    return left.map(pathOfModel);
  };
  const ofWatches = await readable(() => readWatches(hub, remote));
  const [watches, strangeWatches] = partition(ofWatches?.watches ?? [], ({ model }) =>
    paths.has(model.query),
  );
  if (ofWatches === undefined) notes.push('The key may not read watches, so their files stay as they are.');
  else if (ofWatches.nameless > 0)
    notes.push(`${countOf(ofWatches.nameless, 'watch has', 'watches have')} no path, and no file.`);
  const ofBoards = await readable(() => readBoards(hub, remote));
  const [boards, strangeBoards] = partition(ofBoards?.boards ?? [], ({ model: { cards } }) =>
    cards.every(({ query }) => query === undefined || paths.has(query)),
  );
  if (ofBoards === undefined) notes.push('The key may not read boards, so their files stay as they are.');
  else if (ofBoards.nameless > 0)
    notes.push(`${countOf(ofBoards.nameless, 'board has', 'boards have')} no path, and no file.`);
  const ofKeys = await readable(() => readKeys(hub, remote, path));
  const [keys, strangeKeys] = partition(ofKeys?.keys ?? [], ({ isForeign }) => !isForeign);
  const nameless = ofKeys?.nameless ?? 0;
  if (nameless > 0)
    notes.push(`${countOf(nameless, 'key has a name that is', 'keys have names that are')} no path.`);
  return {
    models: {
      watches: ofWatches && watches.map(({ model }) => model),
      boards: ofBoards && boards.map(({ model }) => model),
      // A hub without keys of files needs no folder of them.
      keys: keys.length === 0 ? undefined : keys.map(({ model }) => model),
    },
    left: {
      watches: tell(strangeWatches, 'Watches of a query without a file'),
      boards: tell(strangeBoards, 'Boards with a query without a file'),
      keys: tell(strangeKeys, 'Keys that hold for more than this hub, or for what it does not have,'),
    },
    notes,
  };
}

interface Modelled {
  model: { path: string };
}

const pathOfModel = ({ model }: Modelled): string => model.path;
const listOf = (all: readonly Modelled[]): string => all.map(pathOfModel).join(', ');

const partition = <T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] => [
  all.filter(isFirst),
  all.filter((one) => !isFirst(one)),
];

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
  await requireNoLinks(dir, [hubFileName]);
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
