/** What a JSON parser does not tell of a text: how deep it is, and a member that stands twice, of which it keeps one in silence. */

import { HubError } from '@datahub/service-kit/error';
import { pointerTo, validationError } from './validation.ts';

const depthMax = 64;
/** Of one object. To look up so many costs the event loop some tens of milliseconds, and it grows faster than they do. */
const membersMax = 100_000;

/** An object with the names it has so far, or an array with the number of its elements. */
interface Level {
  names: Set<string> | undefined;
  at: string | number;
}

/** Throws VALIDATION. Where the text is no JSON it may say nothing: that is the parser's to find. */
export function requireShape(text: string): void {
  const levels: Level[] = [];
  let level: Level | undefined;
  let nameNext = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const end = endOfString(text, i + 1);
        if (nameNext && level?.names !== undefined) addName(levels, nameOf(text.slice(i + 1, end)));
        nameNext = false;
        i = end;
        break;
      }
      case 0x7b:
      case 0x5b: {
        nameNext = text.charCodeAt(i) === 0x7b;
        level = { names: nameNext ? new Set() : undefined, at: 0 };
        if (levels.push(level) > depthMax) {
          throw malformed(`it is nested deeper than ${depthMax} levels`, undefined);
        }
        break;
      }
      case 0x7d:
      case 0x5d:
        levels.pop();
        level = levels.at(-1);
        break;
      case 0x2c:
        nameNext = level?.names !== undefined;
        if (typeof level?.at === 'number') level.at++;
        break;
    }
  }
}

/** Where the string's closing quote is; the text's end where there is none. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function nameOf(written: string): string {
  if (!written.includes('\\')) return written;
  try {
    return JSON.parse(`"${written}"`);
  } catch {
    return written;
  }
}

function addName(levels: Level[], name: string): void {
  const level = levels.at(-1) as Level;
  level.at = name;
  if (!level.names?.has(name)) {
    level.names?.add(name);
    if ((level.names?.size ?? 0) <= membersMax) return;
    throw malformed(`it holds an object with more than ${membersMax} members`, undefined);
  }
  const pointer = levels.reduce((above, { at }) => pointerTo(above, String(at)), '');
  throw validationError([{ pointer, detail: 'stands there twice' }]);
}

export function malformed(why: string, cause: unknown): HubError {
  return new HubError('VALIDATION', `The body is not valid JSON: ${why}.`, {
    errors: [{ pointer: '', detail: why }],
    cause,
  });
}
