/**
 * Lengths and counts that more than one service checks. The gateway's JSON Schemas, the catalog and ml take them from
 * here. A text is counted in Unicode characters where the name says so, as JSON Schema does, and else in UTF-16 units.
 */

export interface Bounds {
  min: number;
  max: number;
}

/** Of labels and names, counted after trimming. */
export const labelCharacters = { min: 1, max: 200 } as const;
/** The gateway does not trim, so it lets through a label with blanks around it and leaves the exact check to its owner. */
export const untrimmedLabelCharacters = { min: 1, max: 5 * labelCharacters.max } as const;
export const idCharacters = { min: 1, max: 256 } as const;

export const queryLimits = {
  textLength: { min: 1, max: 262_144 },
  commandLength: { min: 1, max: 32 },
  variables: { min: 0, max: 200 },
  variableNameLength: { min: 1, max: 64 },
  /** Each time of a cache policy, and the longest that an answer is kept. */
  cacheSeconds: { min: 0, max: 86_400 },
  /** Columns that are asserted to have no NULL, and the length of their names. */
  notNull: { min: 0, max: 200 },
  columnNameLength: { min: 1, max: 256 },
} as const satisfies Record<string, Bounds>;

export const sourceLimits = {
  hostLength: { min: 1, max: 253 },
  port: { min: 1, max: 65_535 },
  databaseLength: { min: 1, max: 255 },
  userLength: { min: 1, max: 128 },
  passwordLength: { min: 0, max: 1_024 },
  pemLength: { min: 1, max: 65_536 },
  poolConnections: { min: 1, max: 100 },
  idleTimeoutMs: { min: 1_000, max: 3_600_000 },
  statementTimeoutMs: { min: 1, max: 3_600_000 },
  authSourceLength: { min: 1, max: 255 },
  hosts: { min: 0, max: 50 },
  replicaSetLength: { min: 1, max: 128 },
} as const satisfies Record<string, Bounds>;

/** How long the old key goes on after it was rotated. */
export const rotationOverlapSeconds = { min: 0, max: 30 * 24 * 3_600 } as const;

export const classifierLimits = {
  /** Examples or contexts of one call. */
  batch: { min: 1, max: 10_000 },
  /** Scores in the answer for one context. */
  top: { min: 1, max: 1_000 },
  /** Texts of a row that an execution annotates. */
  annotations: { min: 1, max: 8 },
  /** Examples on a page of their list. */
  examplesPage: { min: 1, max: 1_000 },
} as const satisfies Record<string, Bounds>;

/** The learner ignores the rest of a longer text. */
export const readCharactersMax = 20_000;
const exampleCharactersMax = 4_194_304;

/** What is wrong with the text of an example, or one to predict; undefined if it is valid. */
export function faultOfExampleText(text: string): string | undefined {
  if (text.length > exampleCharactersMax) return `must have at most ${exampleCharactersMax} characters`;
  if (!/\S/.test(text)) return 'must not be blank';
  return text.isWellFormed() ? undefined : 'must be valid Unicode';
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/** What is wrong with a trimmed label, or undefined. */
export function faultOfLabel(label: string): string | undefined {
  const characters = [...label].length;
  const { min, max } = labelCharacters;
  if (characters < min || characters > max) return `must have ${min} to ${max} characters`;
  if (controlCharacters.test(label)) return 'must not contain control characters';
  return label.isWellFormed() ? undefined : 'must be valid Unicode';
}
