/** The forms in which a query is used: the text to copy, and the request that Try sends, which is the same call. */

import { objectOf } from '@datahub/contract/json-text';
import type { Query } from '../../../api/types.ts';
import { addressMax } from '../../../state/address-values.ts';
import { canDryRun, reads } from '../../../state/commands.ts';
import {
  agentFile,
  bodyText,
  type Call,
  curl,
  link,
  python,
  typescript,
  webPage,
  whyNoLink,
  withoutSecrets,
} from './snippets.ts';

export const formNames = ['Link', 'curl', 'TypeScript', 'Python', 'Web page', 'Agent'] as const;
export type FormName = (typeof formNames)[number];

/** A call of the hub. */
export interface TryRequest {
  method: 'GET' | 'POST';
  path: string;
  accept: string;
  body?: string;
}

export interface Form {
  /** What is copied; undefined if the query or its values cannot be used in this way, with the reason. */
  text?: string;
  /** Undefined if it cannot be tried, with the reason. */
  request?: TryRequest;
  /** True if Try is rolled back. */
  isDryRun?: boolean;
  reason?: string;
}

export interface FormOptions {
  query: Query;
  /** The number of its version. */
  version: number | undefined;
  /** Names of secret variables that have a value: Try sends it, and no text shows it. */
  secrets: string[];
}

export function formOf(name: FormName, call: Call, options: FormOptions): Form {
  if (name === 'Link') return linkForm(call, options);
  if (name === 'Agent') return agentForm(call, options);
  const write = { curl, TypeScript: typescript, Python: python, 'Web page': webPage }[name];
  return { text: write(withoutSecrets(call, options.secrets)), ...executeRequest(call, options) };
}

const json = 'application/json';

/**
 * A query that writes is tried as a dry run. If somebody has changed the query since it was shown, the hub refuses to try
 * it: it may write now.
 */
function executeRequest(
  call: Call,
  { query: { config, meta }, version }: FormOptions,
): Pick<Form, 'request' | 'isDryRun' | 'reason'> {
  const request = { method: 'POST', path: 'v1/queries/execute', accept: json } as const;
  const body = bodyText(call);
  const withOptions = (options: object): string =>
    `${body.slice(0, -1)},"options":${JSON.stringify(options)}}`;
  if (reads(config.command))
    return { request: { ...request, body: version === undefined ? body : withOptions({ version }) } };
  if (!canDryRun(config.command, meta.engine))
    return { reason: `${config.command} has no dry run, so it cannot be tried here.` };
  return {
    request: { ...request, body: withOptions({ version, dryRun: true }) },
    isDryRun: true,
  };
}

function linkForm(call: Call, { query, secrets }: FormOptions): Form {
  const { command } = query.config;
  if (!reads(command)) return { reason: `Only queries that read have a link, and this one runs ${command}.` };
  const [secret] = secrets;
  if (secret !== undefined)
    return {
      reason: `The value of ${secret} is secret, so it must not get into an address. The other calls can send it.`,
    };
  const reason = whyNoLink(call.members);
  if (reason !== undefined) return { reason };
  const text = link(call, { hubId: query.meta.hubId, path: query.meta.path });
  if (text.length > addressMax)
    return { reason: 'The values are too long for an address. The other calls can send them.' };
  return { text, request: { method: 'GET', path: text.slice(call.url.length), accept: json } };
}

function agentForm(call: Call, { query }: FormOptions): Form {
  const { tool, command } = query.config;
  const text = agentFile(call);
  if (tool?.name === undefined)
    return { text, reason: 'Agents do not see this query yet. Describe it, and it becomes a tool.' };
  if (!reads(command)) return { text, reason: 'A tool that writes cannot be tried here: it has no dry run.' };
  const params = `{"name":${JSON.stringify(tool.name)},"arguments":${objectOf(call.members)}}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  return { text, request: { method: 'POST', path: 'mcp', accept: `${json}, text/event-stream`, body } };
}

/** A name for a tool from the name of its query: `sales_of_a_region`. */
export const toolNameOf = (label: string): string =>
  label
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 64) || 'query';
