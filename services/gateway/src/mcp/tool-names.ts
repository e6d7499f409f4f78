/** Names of tools: the set name of a query, else a name from its path or label. */

import { hash } from 'node:crypto';

export interface Named {
  id: string;
  /** The hub of a query. */
  hubId?: string;
  /** Unique in the account. */
  setName?: string | undefined;
  path?: string | undefined;
  label: string;
}

/** MCP clients accept names of at most this length. */
const lengthMax = 64;
const hashLength = 8;

/**
 * Returns the names by id. All tools that would have the same name get the name of their hub in front, so that the
 * names do not depend on an order. `reserved` names are taken.
 */
export async function nameTools(
  tools: readonly Named[],
  { reserved, hubNameOf }: { reserved: readonly string[]; hubNameOf(hubId: string): Promise<string> },
): Promise<Map<string, string>> {
  const taken = new Map<string, number>(reserved.map((name) => [name, 1]));
  for (const { setName } of tools) if (setName !== undefined) taken.set(setName, 1);
  const wanted = tools.map((tool) => ({ tool, name: nameOf(tool) }));
  for (const { tool, name } of wanted)
    if (tool.setName === undefined) taken.set(name, (taken.get(name) ?? 0) + 1);
  const used = new Set(reserved);
  const names = new Map<string, string>();
  const give = (id: string, name: string) => {
    const unique = name.length > lengthMax || used.has(name) ? shorten(name, id) : name;
    used.add(unique);
    names.set(id, unique);
  };
  const colliding = wanted.filter(({ tool, name }) =>
    tool.setName === undefined ? (taken.get(name) ?? 0) > 1 : reserved.includes(name),
  );
  const isColliding = new Set(colliding.map(({ tool }) => tool.id));
  for (const { tool, name } of wanted.toSorted(bySetName)) if (!isColliding.has(tool.id)) give(tool.id, name);
  for (const { tool, name } of colliding)
    give(tool.id, tool.hubId === undefined ? name : `${toName(await hubNameOf(tool.hubId))}__${name}`);
  return names;
}

const bySetName = (one: { tool: Named }, other: { tool: Named }): number =>
  Number(other.tool.setName !== undefined) - Number(one.tool.setName !== undefined);

const nameOf = ({ setName, path, label }: Named): string =>
  setName ?? path?.replaceAll('/', '__') ?? toName(label);

/** A name of ASCII letters, digits and underscores. */
export function toName(text: string): string {
  const words = text.normalize('NFKD').match(/[A-Za-z0-9_-]+/g) ?? [];
  return words.join('_').toLowerCase() || 'tool';
}

function shorten(name: string, id: string): string {
  const suffix = hash('sha256', id, 'hex').slice(0, hashLength);
  return `${name.slice(0, lengthMax - hashLength - 1)}_${suffix}`;
}
