/** JSON of the most bytes that a body may have, in every shape that can make work: tiny values, deep ones, long ones. */

const bytes = 1_048_576;
/** What is left for the rest of a body. */
const room = 4_096;

const fill = (part: string, last: string, total: number) =>
  `[${part.repeat(Math.floor((total - room) / part.length))}${last}]`;

const deep = `${'['.repeat(50)}${']'.repeat(50)}`;

/** The bounds of a body on objects and arrays: `services/gateway/src/http/json-body.ts`. */
const containersMax = 99_000;

/** Objects of the most members, with names that no other one has. */
const membersMax = 9_900;
const memberBytes = 12;
/** The bound of a body on the members of all objects. */
const objectsMax = 10;
const members = (object: number) => {
  const names = Array.from({ length: membersMax }, (_, i) =>
    String(object * membersMax + i).padStart(7, 'm'),
  );
  return `{${names.map((name) => `"${name}":1`).join()}}`;
};

/** Each shape by the number of bytes. */
export const payloads = {
  numbers: (total = bytes) => fill('1,', '1', total),
  decimals: (total = bytes) => fill('1.10,', '1.10', total),
  objects: (total = bytes) => `[${'{},'.repeat(Math.min(containersMax, Math.floor((total - room) / 3)))}{}]`,
  deep: (total = bytes) => `[${`${deep},`.repeat(Math.min(containersMax / 51, (total - room) / 101))}1]`,
  long: (total = bytes) => JSON.stringify('a'.repeat(total - room)),
  escaped: (total = bytes) => JSON.stringify('\n'.repeat((total - room) / 2)),
  strings: (total = bytes) => fill('"a",', '"a"', total),
  members: (total = bytes) => {
    const count = Math.min(objectsMax, Math.floor((total - room) / (memberBytes * membersMax)));
    return `[${Array.from({ length: count }, (_, i) => members(i)).join()}]`;
  },
} as const;

export type Shape = keyof typeof payloads;
export const shapes = Object.keys(payloads) as Shape[];

/** The most values of a definition in its most bytes. */
export const mostValues = () => `[${`"${'a'.repeat(100)}",`.repeat(9_990)}1]`;
