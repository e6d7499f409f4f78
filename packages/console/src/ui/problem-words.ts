/** The words for a failure: each thing once, and names of fields instead of JSON pointers. */

import type { Problem } from '../api/types.ts';
import { counted } from './format.ts';

const advice: Record<string, string> = {
  KEY_INVALID: 'Check that the whole key was pasted. “npm run datahub -- keys create” creates a new one.',
  KEY_EXPIRED: '“npm run datahub -- keys create” creates a new one.',
  TOKEN_INVALID: 'The key is for pages with signed-in users. The console needs a key without limits.user.',
  SCOPE_DENIED: 'Sign in with a key that may do this, or ask the person who created this key.',
  SOURCE_GONE: 'Select another source for this query.',
  SOURCE_UNREACHABLE:
    'The database must be running, and reachable from the hub, and DATAHUB_SOURCES_ALLOW must permit its address.',
  SOURCE_AUTH: 'After five refused log-ins the hub pauses for a minute.',
  SOURCE_TLS: 'Select another TLS mode, or add the certificate authority of the database.',
  SOURCE_BUSY: 'All connections are in use. Try again, or raise the pool size of the source.',
  STATEMENT_TIMEOUT: 'Read less, or raise the statement time limit of the source.',
  NOT_TRAINED: 'Train it with some examples first.',
  NOT_EMPTY: 'Delete or move its contents first.',
};

export interface ProblemWords {
  /** What kind of failure it is, unless the text says so. */
  title: string;
  text: string;
  /** One fault each, if there are several. */
  faults: string[];
}

/** `byRole`: of a person who is signed in without a key. */
export function wordsOfProblem(
  { title: given = 'It failed', detail = '', code = '', errors = [], retryAfterS }: Problem,
  byRole = false,
): ProblemWords {
  const isRole = byRole && code === 'SCOPE_DENIED';
  const title = isRole ? 'Your role does not allow this' : given;
  const faults = errors.map(({ pointer, detail }) => `${fieldName(pointer)} ${detail}`.trim());
  // The detail of an answer with faults lists them with their pointers.
  const isListed = errors.some(({ pointer }) => pointer !== '' && detail.includes(pointer));
  const [only] = faults;
  const said = !isListed ? detail : only !== undefined && faults.length === 1 ? `${only}.` : '';
  const again =
    code === 'RATE_LIMITED' && retryAfterS !== undefined
      ? `It goes in ${counted(retryAfterS, 'second')}.`
      : '';
  const next = isRole ? 'Ask an admin for a role that does.' : advice[code];
  const text = [said, next, again].filter(Boolean).join(' ');
  return {
    title: repeats(title, said) ? '' : title,
    text,
    faults: isListed && faults.length === 1 ? [] : faults,
  };
}

/** Parts of a request that a person does not see. */
const containers = new Set([
  ...['meta', 'config', 'context', 'values', 'options', 'limits', 'connectionSettings', 'query', 'header'],
]);

/** The name of a field in the page's words, such as `rate per minute` for `/limits/ratePerMinute`. */
export function fieldName(pointer: string): string {
  const parts = pointer
    .split('/')
    .filter((part) => part !== '')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const inContext = /^\/(context|values)\/[^/]+$/.test(pointer);
  // The name of a variable is what a person has written.
  if (inContext) return parts[1] ?? '';
  const named = parts.filter((part, i) => !(containers.has(part) && i < parts.length - 1));
  return named.map((part) => (/^\d+$/.test(part) ? `item ${Number(part) + 1}` : inWords(part))).join(', ');
}

const inWords = (name: string): string =>
  name.replaceAll(/(?<=[a-z])[A-Z]/g, (one) => ` ${one.toLowerCase()}`);

/** How much of a word must be the same: endings differ. */
const stemLength = 5;

/** True if the text says most of what the title says. */
function repeats(title: string, text: string): boolean {
  const words = title.toLowerCase().match(/[a-z-]{4,}/g) ?? [];
  const said = words.filter((word) => text.toLowerCase().includes(word.slice(0, stemLength)));
  return words.length > 0 && said.length * 2 >= words.length;
}
