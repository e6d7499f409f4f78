/** What `plan`, `apply` and `check` begin with: the files, the hub that they name, and their differences. */

import { type Context, type Input, isSet, type Options, textOf } from '../command.ts';
import { type FoundHub, findHub, type Hub, listAll } from '../hub.ts';
import { type Directory, readDirectory } from './directory.ts';
import { makePlan, type Plan } from './plan.ts';
import { type RemoteHub, readRemote } from './remote.ts';

export const hubOption: Options = {
  hub: {
    type: 'string',
    value: 'HUB',
    help: 'The id, path or label of another hub than the one that hub.yaml names.',
  },
};

export const planOptions: Options = {
  ...hubOption,
  prune: {
    type: 'boolean',
    help: 'Delete queries, folders, watches and boards, and revoke keys, that the files do not have.',
  },
  adopt: { type: 'boolean', help: 'Take over queries without a path whose labels give the path of a file.' },
  credentials: {
    type: 'boolean',
    help: 'Send the credentials of all sources again, otherwise only with other changes, and the hidden pinned values of keys.',
  },
  only: {
    type: 'string',
    value: 'PATH',
    help: 'Only the query with this path, or the queries below it, and the folders and sources that they need and the hub lacks.',
  },
};

export interface Opened {
  hub: Hub;
  directory: Directory;
  remote: RemoteHub | undefined;
}

export async function openDirectory(input: Input, context: Context): Promise<Opened> {
  const directory = await readDirectory(input.positionals[0] ?? '');
  const hub = await context.hub();
  const named = textOf(input, 'hub');
  const found =
    named === undefined ? await findByPath(hub, directory.hub.model.path) : await findHub(hub, named);
  if (named !== undefined && found?.path !== undefined) directory.hub.model.path = found.path;
  return { hub, directory, remote: found === undefined ? undefined : await readRemote(hub, found) };
}

async function findByPath(hub: Hub, path: string): Promise<FoundHub | undefined> {
  const hubs = await listAll(hub, 'GET /v1/hubs', { limit: 20 });
  return hubs.find((one) => one.path === path);
}

export async function openPlan(input: Input, context: Context): Promise<{ hub: Hub; plan: Plan }> {
  const opened = await openDirectory(input, context);
  const plan = await makePlan(opened.hub, {
    ...opened,
    env: context.env,
    prune: isSet(input, 'prune'),
    adopt: isSet(input, 'adopt'),
    credentials: isSet(input, 'credentials'),
    only: textOf(input, 'only'),
  });
  return { hub: opened.hub, plan };
}
