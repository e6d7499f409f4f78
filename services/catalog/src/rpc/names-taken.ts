/** The names that are unique: paths of queries and hubs, and names of tools. */

import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import type { HubDoc, QueryDoc } from '../documents.ts';

/** Turns the store's refusal of a document into an error that says which of its names another document has. */
export async function toTaken(
  { store }: Pick<Catalog, 'store'>,
  err: unknown,
  doc: QueryDoc | HubDoc | undefined,
): Promise<unknown> {
  if (!(err instanceof HubError) || err.code !== 'CONFLICT' || doc === undefined) return err;
  const { id, accountId, path } = doc;
  const isOther = (found: { id: string }[]) => found.some((one) => one.id !== id);
  if (!('hubId' in doc)) {
    const message = `Another hub of the account has the path ${path}.`;
    return path === undefined ? err : new HubError('PATH_TAKEN', message, { cause: err });
  }
  const { hubId, toolName } = doc;
  const isTaken =
    toolName !== undefined &&
    isOther(await store.queries.findSummaries({ accountId, where: { toolName }, limit: 2 }));
  if (isTaken) {
    const message = `Another query of the account is a tool with the name ${toolName}.`;
    return new HubError('TOOL_NAME_TAKEN', message, { cause: err });
  }
  // The conflict may be about something else.
  if (
    path === undefined ||
    !isOther(await store.queries.findSummaries({ accountId, where: { path, hubId }, limit: 2 }))
  )
    return err;
  const message = `Another query of the hub ${hubId} has the path ${path}.`;
  return new HubError('PATH_TAKEN', message, { cause: err });
}
