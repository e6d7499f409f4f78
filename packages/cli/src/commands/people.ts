/** People who have signed in, and the grants that give them roles. */

import { type Command, textOf } from '../command.ts';
import { CommandError } from '../failure.ts';
import { findHub, listAll } from '../hub.ts';
import { print, printJson, printRows } from '../output.ts';

const roles = ['viewer', 'editor', 'admin'] as const;
const kinds = ['group', 'email', 'subject'] as const;

const placesOf = (hubIds: readonly string[] | null) => (hubIds === null ? 'all hubs' : hubIds.join(' '));

export const listPeople: Command = {
  name: 'people list',
  summary: 'Lists who has signed in, with their roles.',
  run: async (_input, context) => {
    const people = await listAll(await context.hub(), 'GET /v1/people', {});
    if (context.json) return printJson(context, people);
    printRows(
      context,
      people.map(({ personId, name, email, state, roles, signedInAt }) => ({
        ...{ personId, name, email, state },
        roles: roles.map(({ role, hubIds }) => `${role} in ${placesOf(hubIds)}`).join(', '),
        signedInAt,
      })),
    );
  },
};

export const grantRole: Command = {
  name: 'people grant',
  summary: 'Gives a role to a group, a verified e-mail address or a subject of the provider.',
  options: {
    group: { type: 'string', value: 'GROUP', help: 'A group that the provider lists.' },
    email: { type: 'string', value: 'ADDRESS', help: 'An address that the provider has verified.' },
    subject: { type: 'string', value: 'SUBJECT', help: 'The id of a person at the provider.' },
    role: { type: 'string', value: 'ROLE', help: `One of ${roles.join(', ')}.` },
    hub: { type: 'string', value: 'HUB', help: 'The id, path or label of a hub; without it, all hubs.' },
  },
  run: async (input, context) => {
    const [named, ...others] = kinds.filter((kind) => textOf(input, kind) !== undefined);
    if (named === undefined || others.length > 0)
      throw new CommandError('Name one of --group, --email and --subject.');
    const role = roles.find((one) => one === textOf(input, 'role'));
    if (role === undefined) throw new CommandError(`--role must be one of ${roles.join(', ')}.`);
    const hub = await context.hub();
    const place = textOf(input, 'hub');
    const hubIds = place === undefined ? null : [(await findHub(hub, place)).hubId];
    const body = { who: { [named]: textOf(input, named) }, role, hubIds };
    const grant = await hub.call('POST /v1/grants', { body });
    if (context.json) return printJson(context, grant);
    print(context, `${textOf(input, named)} is ${role} in ${placesOf(grant.hubIds)} (${grant.grantId}).`);
  },
};
