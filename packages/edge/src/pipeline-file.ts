/** Parses the pipeline's file and watches it for changes. */

import { readFile } from 'node:fs/promises';
import { HubError } from '@datahub/service-kit/call/error';
import { parse } from 'yaml';
import type { PipelineConfig } from './pipeline-types.ts';

/** Settings of Express Gateway that do not apply to the hub, and what to use instead. */
const elsewhere = new Map([
  ['http', 'PORT and HOST'],
  ['https', 'a proxy or an ingress that ends TLS'],
  ['admin', 'nothing, since there is no admin API'],
  ['serviceEndpoints', 'the policy data-hub, since the hub is the only service behind this edge'],
]);

/** The policy that passes a request to the hub. */
export const terminalPolicy = 'data-hub';

/** Throws VALIDATION with a sentence for the operator. */
export function parsePipeline(text: string, env: Record<string, string | undefined>): PipelineConfig {
  let config: unknown;
  try {
    config = parse(withVariables(text, env));
  } catch (err) {
    throw invalid(`it is not YAML: ${(err as Error).message.split('\n')[0]}`, err);
  }
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw invalid('it must have apiEndpoints, policies and pipelines');
  }
  for (const [name, instead] of elsewhere) {
    if (name in config) throw invalid(`${name} is not used here; use ${instead}`);
  }
  requireWhole(config);
  return config as PipelineConfig;
}

/** A truncated file, such as one that is being written, would be a pipeline that answers nothing. */
function requireWhole({ apiEndpoints, policies, pipelines }: PipelineConfig): void {
  if (!apiEndpoints || !Array.isArray(policies) || !pipelines)
    throw invalid('it must have apiEndpoints, policies and pipelines');
  const served = new Set<unknown>();
  for (const [name, pipeline] of Object.entries(pipelines)) {
    const steps = pipeline?.policies;
    const last: unknown = Array.isArray(steps) ? steps.at(-1) : undefined;
    if (typeof last !== 'object' || last === null || Object.keys(last)[0] !== terminalPolicy)
      throw invalid(`the pipeline ${name} must end with ${terminalPolicy}`);
    for (const endpoint of [pipeline?.apiEndpoints].flat()) served.add(endpoint);
  }
  const names = Object.keys(apiEndpoints);
  const idle = names.find((name) => !served.has(name));
  if (names.length === 0) throw invalid('apiEndpoints is empty');
  if (idle !== undefined) throw invalid(`no pipeline serves the endpoint ${idle}`);
}

/** Replaces `${NAME}` and `${NAME:-fallback}` by environment variables and `$${NAME}` by `${NAME}`. Policies evaluate any other `${…}`. */
function withVariables(text: string, env: Record<string, string | undefined>): string {
  return text.replaceAll(
    /(\$?)\$\{([A-Z][A-Z0-9_]*)(?::-([^}]*))?\}/g,
    (whole: string, ...groups: string[]) => {
      const [escaped, name = '', fallback] = groups;
      if (escaped !== '') return whole.slice(1);
      const value = env[name] ?? fallback;
      if (value === undefined) throw invalid(`\${${name}} is not set in the environment`);
      return value;
    },
  );
}

export function invalid(why: string, cause?: unknown): HubError {
  return new HubError('VALIDATION', `The edge's pipeline cannot be used: ${why}.`, { cause });
}

export interface WatchOptions {
  path: string;
  /** The text of the current pipeline. */
  text: string;
  intervalMs: number;
  onChange(text: string): void;
  onUnreadable(err: unknown): void;
}

/**
 * Reads the file again and again. File events would miss the change of a mounted ConfigMap, which swaps symbolic links.
 * Returns a function that stops this.
 */
export function watchText(options: WatchOptions): () => void {
  let { text } = options;
  let seen = text;
  let unreadable = false;
  let stopped = false;
  const check = async (): Promise<void> => {
    try {
      const now = await readFile(options.path, 'utf8');
      unreadable = false;
      // A file may be read while it is being written, so a text counts once it is the same an interval later.
      const stable = now === seen;
      seen = now;
      if (stopped || !stable || now === text) return;
      text = now;
      options.onChange(now);
    } catch (err) {
      if (!unreadable && !stopped) options.onUnreadable(err);
      unreadable = true;
    }
  };
  let timer: NodeJS.Timeout;
  // The interval begins where a read ends: two reads that a busy machine delays would else follow each other at once.
  const wait = (): void => {
    timer = setTimeout(() => void check().finally(() => stopped || wait()), options.intervalMs).unref();
  };
  wait();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
