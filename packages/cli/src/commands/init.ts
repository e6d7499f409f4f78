import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type EngineName, engines } from '@datahub/contract/engines';
import { type Command, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { writeDirectory } from '../files/directory.ts';
import { envNameOf, hubFileName } from '../files/hub-file.ts';
import type { HubModel } from '../files/model.ts';
import { newHub, sourceLabel } from '../files/new-hub.ts';
import { print, printJson } from '../output.ts';

/** What `check` and `plan` need; with `keys:read`, `plan` names the callers. */
export const ciScopes = 'queries:check,hubs:read,sources:read,queries:read,keys:read';

export const init: Command = {
  name: 'init',
  arguments: 'DIR',
  summary: 'Writes the files of a new hub: hub.yaml with a source, and a query. Changes nothing in the hub.',
  options: {
    engine: {
      type: 'string',
      value: 'ENGINE',
      choices: engines,
      help: `The engine of the source: ${engines.join(', ')}; by default postgres.`,
    },
  },
  completes: 'files',
  run: async (input, context) => {
    const [dir = ''] = input.positionals;
    const engine = (textOf(input, 'engine') ?? 'postgres') as EngineName;
    const hubFile = join(dir, hubFileName);
    const exists = await stat(hubFile).then(
      () => true,
      () => false,
    );
    if (exists) throw new CommandError(`${hubFile} exists already.`);
    const model = { ...newHub(basename(resolve(dir)), engine), queries: [firstQuery(engine)] };
    const { files } = await writeDirectory(dir, {
      hub: model,
      isMongodb: () => engine === 'mongodb',
      prune: false,
    });
    if (context.json) printJson(context, { files });
    else print(context, nextSteps(dir, model));
  },
};

function firstQuery(engine: EngineName): HubModel['queries'][number] {
  const isMongodb = engine === 'mongodb';
  return {
    path: 'hello',
    label: 'Hello',
    source: sourceLabel,
    folder: [],
    command: isMongodb ? 'FIND' : 'SELECT',
    context: isMongodb ? [] : [{ key: 'name', value: 'world', type: 'string' }],
    notNull: [],
    text: isMongodb ? '{"find": "orders", "limit": 10}' : 'SELECT :name AS hello',
  };
}

const nextSteps = (dir: string, { path }: HubModel): string => {
  const [user, password] = ['user', 'password'].map((member) =>
    envNameOf({ hub: path, label: sourceLabel }, [member]),
  );
  return `${join(dir, hubFileName)} and ${join(dir, 'queries')} are written. Next:

  1. Write the address of your database into ${join(dir, hubFileName)}, and set ${user} and ${password}.
  2. datahub apply ${dir}
  3. datahub run ${path}/hello
  4. datahub check ${dir}, also in CI, with a key of: datahub keys create --name ci --scopes ${ciScopes}
`;
};
