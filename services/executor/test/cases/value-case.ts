/** What a row of the value tables says, and the other forms an answer has, worked out from its JSON. */

export interface ValueCase {
  /** As it is declared in a table or a cast. */
  type: string;
  /** The value as the engine takes it in a text. */
  value: string;
  /** The bytes of the answer. */
  json: string;
  /** With `numbers: 'string'`, where that differs. */
  strings?: string;
  /** The type cannot be the element of an array whose elements the hub parts. */
  alone?: true;
  /** A document keeps its own text in CSV. */
  document?: true;
}

type More = Omit<ValueCase, 'type' | 'value' | 'json'>;

export const row = (type: string, value: string, json: string, more: More = {}): ValueCase => ({
  type,
  value,
  json,
  ...more,
});

/** RFC 4180; NULL is nothing at all, and the empty text a pair of quotes. */
export function toCsv({ json, document }: Pick<ValueCase, 'json' | 'document'>): string {
  if (json === 'null' && !document) return '';
  const text = document || !json.startsWith('"') ? json : (JSON.parse(json) as string);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
