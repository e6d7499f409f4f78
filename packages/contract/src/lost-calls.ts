/**
 * Why a call of a query that succeeded can fail once the query has changed. The executor compares columns and variables;
 * these are the members that no signature shows.
 */

import { isReadingCommand } from './commands.ts';
import { claimsOf, type SessionSettings } from './session-settings.ts';
import { transactionCommand } from './transactions.ts';

const countedCommands = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'REPLACE']);

/** Commands of one kind take the same options and routes. */
const kindOf = (command: string): string =>
  isReadingCommand(command) ? 'read' : countedCommands.has(command) ? 'write' : command;

export function lossOfCommand(before = 'SELECT', after = 'SELECT'): string | undefined {
  const [old, next] = [before, after].map((command) => kindOf(command.trim().toUpperCase()));
  if (old === next || old === transactionCommand) return undefined;
  return old === 'read'
    ? 'calls over GET fail, and others need the scope queries:execute:write'
    : 'records in bulk and options of a call can be refused';
}

export function lossOfSession(
  before: SessionSettings | null = {},
  after: SessionSettings | null = {},
): string | undefined {
  const [old, next] = [claimsOf(before ?? {}), claimsOf(after ?? {})];
  const added = next.paths.filter((path) => !old.paths.includes(path));
  if (added.length > 0) return `calls without the claim ${added.join(', ')} of a signed-in user fail`;
  if (next.all && !old.all && old.paths.length === 0) return 'calls without a signed-in user fail';
  const [had = [], has = []] = [before, after].map((one) =>
    typeof one?.role === 'object' ? one.role.among : undefined,
  );
  const gone = had.filter((role) => !has.includes(role));
  return has.length > 0 && gone.length > 0 ? `users with the role ${gone.join(', ')} fail` : undefined;
}
