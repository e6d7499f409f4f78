/** JSON whose numbers keep the digits they were written with, where a double would lose some (`1.10`, 20 digits). */

interface RawJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

// TypeScript's library does not declare these parts of ES2026 yet.
const json = JSON as unknown as RawJson;

/**
 * Parses `text` such that `JSON.stringify` of the result, or of a part of it, writes every number as it was written. A
 * number whose digits a double would change is no JavaScript number in the result: pass it on, do not calculate with it.
 */
export function parseExact(text: string): unknown {
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? json.rawJSON(source)
      : value,
  );
}
