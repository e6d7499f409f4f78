/** Writes rows whose columns have the same JSON values alike, however the values are written. */

import { HubError } from '@datahub/service-kit/call/error';
import { canonicalNumber } from '@datahub/statement/exact-number';

/** A row with the key by which it is compared. */
export interface KeyedRow {
  /** The JSON text. */
  row: string;
  key: string;
  /** The first column and its value, if that is neither null nor an object or an array. */
  first: string | undefined;
}

/** Lets other calls run if it is time for that. Rejects if the call has ended. */
export type Pause = () => Promise<void> | undefined;

/** What a call does between two looks at the clock. */
const stepsMax = 64;
/** An open object takes some 500 bytes of memory. No server allows as many levels unless it is told to. */
const levelsMax = 20_000;

/**
 * Returns a function that writes the key of a row: the columns in their order, objects inside of them with their members
 * in the order of the names, and each number and string in one form. `decimals` are the columns whose long numbers are
 * strings. The cost grows with the length of the row, and the call pauses after each row and within long ones. Throws
 * LIMIT_EXCEEDED for values in too many levels.
 */
export function createRowKeys(
  decimals: ReadonlySet<string>,
  pause: Pause,
): (row: string) => Promise<KeyedRow> {
  const quotedDecimals = new Set([...decimals].map((name) => JSON.stringify(name)));
  return async (row) => {
    const builder = new KeyBuilder(quotedDecimals);
    let at = 0;
    for (let steps = 1; at < row.length; steps++) {
      const end = tokenEnd(row, at);
      const closed = builder.add(row.slice(at, end));
      if (closed !== undefined) builder.write(await objectText(closed, pause));
      if (steps % stepsMax === 0) await pause();
      at = end;
    }
    await pause();
    return { row, key: builder.text, first: builder.first };
  };
}

const blankOrSign = /[\s:,{}[\]]/;
const scalarText = /[^\s:,{}[\]"]+/y;

/** Returns the end of the blank, sign, string, number or word that starts at a place. */
function tokenEnd(row: string, at: number): number {
  const character = row[at] as string;
  if (blankOrSign.test(character)) return at + 1;
  if (character === '"') return stringEnd(row, at);
  scalarText.lastIndex = at;
  return at + (scalarText.exec(row)?.[0].length ?? 1);
}

function stringEnd(row: string, start: number): number {
  for (let quote = row.indexOf('"', start + 1); quote >= 0; quote = row.indexOf('"', quote + 1)) {
    let from = quote;
    while (row[from - 1] === '\\') from--;
    if ((quote - from) % 2 === 0) return quote + 1;
  }
  return row.length;
}

interface Member {
  name: string;
  value: string;
}

/** The members of an object that ends. */
interface ClosedObject {
  members: Member[];
  isRow: boolean;
}

/** An object or an array that has not ended. */
interface Container {
  /** Undefined for an array. */
  members: Member[] | undefined;
  /** The member that is being read. */
  name: string | undefined;
  /** The value of that member. An array writes to the text around it. */
  text: Text;
}

class KeyBuilder {
  first: string | undefined;
  readonly #decimals: ReadonlySet<string>;
  /** The second one is the row. */
  readonly #open: Container[] = [{ members: undefined, name: undefined, text: new Text() }];

  constructor(decimals: ReadonlySet<string>) {
    this.#decimals = decimals;
  }

  get text(): string {
    return this.#inner.text.take();
  }

  get #inner(): Container {
    return this.#open.at(-1) as Container;
  }

  write(text: string): void {
    this.#inner.text.add(text);
  }

  /** Returns the object that the token ends. The caller writes it. */
  add(token: string): ClosedObject | undefined {
    const inner = this.#inner;
    switch (token[0]) {
      case '{':
        this.#enter({ members: [], name: undefined, text: new Text() });
        break;
      case '[':
        inner.text.add(token);
        this.#enter({ members: undefined, name: undefined, text: inner.text });
        break;
      case '}':
      case ']':
        return this.#close();
      case ',':
        if (inner.members === undefined) inner.text.add(token);
        else endMember(inner, inner.members);
        break;
      case '"':
        if (inner.members !== undefined && inner.name === undefined) inner.name = plainString(token);
        else inner.text.add(this.#plainText(token));
        break;
      default:
        if (!blankOrSign.test(token)) inner.text.add(plainNumber(token));
    }
    return undefined;
  }

  #enter(container: Container): void {
    if (this.#open.push(container) > levelsMax) throw tooDeep();
  }

  #close(): ClosedObject | undefined {
    if (this.#open.length === 1) return undefined;
    const closed = this.#open.pop() as Container;
    const { members, name, text } = closed;
    if (members === undefined) {
      text.add(']');
      return undefined;
    }
    if (name !== undefined) endMember(closed, members);
    const isRow = this.#open.length === 1;
    if (isRow) this.first = firstOf(members);
    return { members, isRow };
  }

  #plainText(token: string): string {
    const isDecimal = this.#decimals.has(this.#open[1]?.name ?? '') && quotedNumber.test(token);
    return isDecimal ? plainNumber(token.slice(1, -1)) : plainString(token);
  }
}

const tooDeep = () =>
  new HubError('LIMIT_EXCEEDED', `A value has more than ${levelsMax} levels, the most that diff compares.`, {
    retryable: false,
  });

function endMember(container: Container, members: Member[]): void {
  members.push({ name: container.name ?? '', value: container.text.take() });
  container.name = undefined;
}

function firstOf([member]: Member[]): string | undefined {
  const isPlain = member !== undefined && member.value !== 'null' && !/^[{[]/.test(member.value);
  return isPlain ? `${member.name}:${member.value}` : undefined;
}

async function objectText({ members, isRow }: ClosedObject, pause: Pause): Promise<string> {
  const ordered = isRow ? members : await inOrder(members, pause);
  const text = new Text();
  for (const [i, { name, value }] of ordered.entries()) {
    text.add(`${i === 0 ? '{' : ','}${name}:`);
    text.add(value);
    if (i % stepsMax === stepsMax - 1) await pause();
  }
  text.add(ordered.length === 0 ? '{}' : '}');
  return text.take();
}

/** Sorts by name, with pauses. Members with the same name keep their order. */
async function inOrder(members: Member[], pause: Pause): Promise<Member[]> {
  if (members.length <= stepsMax)
    return members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const middle = members.length >> 1;
  const left = await inOrder(members.slice(0, middle), pause);
  const right = await inOrder(members.slice(middle), pause);
  const merged: Member[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const [one, other] = [left[l], right[r]];
    if (other === undefined || (one !== undefined && one.name <= other.name)) {
      merged.push(one as Member);
      l++;
    } else {
      merged.push(other);
      r++;
    }
    if (merged.length % stepsMax === 0) await pause();
  }
  return merged;
}

/** JSON allows several spellings of a character: `A` and `\u0041`, or `/` and `\/`. */
function plainString(token: string): string {
  if (!/\\[u/]/.test(token)) return token;
  try {
    return JSON.stringify(JSON.parse(token));
  } catch {
    return token;
  }
}

const quotedNumber = /^"-?\d+(?:\.\d+)?"$/;
/** Equal numbers alike, such as 1, 1.0 and 10e-1, because a database writes them with the scale of the column. */
const plainNumber = (token: string): string => canonicalNumber(token) ?? token;

const piecesMax = 512;
const copiedMax = 64;

/**
 * Joins pieces in time linear in their length. Short ones are joined many at once, which takes less memory; long ones are
 * not copied, because in a deeply nested value each level would copy all that is inside.
 */
class Text {
  #whole = '';
  #pieces: string[] = [];

  add(piece: string): void {
    if (piece.length > copiedMax) this.#whole = this.#joined() + piece;
    else if (this.#pieces.push(piece) >= piecesMax) this.#whole = this.#joined();
  }

  /** Returns the text, and starts another one. */
  take(): string {
    const taken = this.#joined();
    this.#whole = '';
    return taken;
  }

  #joined(): string {
    const joined = this.#whole + this.#pieces.join('');
    this.#pieces = [];
    return joined;
  }
}
