/** JSON whose numbers keep every digit, in both directions. */

interface RawJson {
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON?(text: string): unknown;
}

const json = JSON as unknown as RawJson;

/** A number that JavaScript would print differently keeps its source text, where the browser supports that. */
export function parseExact<T>(text: string): T {
  return json.parse(text, (_name, value, context) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    return json.rawJSON === undefined ? value : json.rawJSON(source);
  }) as T;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A value as a person reads it: texts without quotes, everything else as JSON. */
export const toText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
