import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, isSet, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { writeDirectory } from '../files/directory.ts';
import { type HubFile, hubFileName, readHubFile, toFileSettings } from '../files/hub-file.ts';
import type { RemoteHub } from '../files/remote.ts';
import { readClassifiers, readRemote, toHubModel } from '../files/remote.ts';
import { findHub, type Hub } from '../hub.ts';
import { note, print, printJson } from '../output.ts';

export const exportHub: Command = {
  name: 'export',
  arguments: 'DIR',
  summary: 'Writes a hub into a directory: hub.yaml, and a file for each query.',
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
    prune: { type: 'boolean', help: 'Remove files of queries that the hub does not have.' },
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
      ? (await readClassifiers(hub)).map(({ name }) => ({ name }))
      : (before?.model.classifiers ?? []);
    const model = toHubModel(remote, classifiers);
    model.sources = model.sources.map((source) => {
      const old = before?.model.sources.find(({ label }) => label === source.label)?.connectionSettings;
      return { ...source, connectionSettings: toFileSettings(source, { hub: model.path, before: old }) };
    });
    const engines = new Map(model.sources.map(({ label, engine }) => [label, engine]));
    const written = await writeDirectory(dir, {
      hub: model,
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
    if (written.others.length > 0)
      note(
        context,
        `The hub has no queries for these files, which stay (--prune removes them): ${written.others.join(', ')}`,
      );
    if (context.json) printJson(context, written);
    else
      print(
        context,
        `${written.files.length} files in ${dir}${written.removed.length > 0 ? `, ${written.removed.length} removed` : ''}`,
      );
  },
};

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
