/**
 * Writes JSON that contains stored JSON. What the catalog and databases store as JSON text stays text until it is part of a
 * response: parsing and writing a megabyte of tiny values would block the process, and take many times its bytes.
 */

import { randomBytes } from 'node:crypto';

/** Valid JSON that stands for its value in a response. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Has the type of the value, which the schema of a response names. */
  static of<T>(text: string): T {
    return new JsonText(text) as T;
  }

  /** The same for a member that may be absent. */
  static ofStored<T>(text: string | undefined): T | undefined {
    return text === undefined ? undefined : JsonText.of<T>(text);
  }
}

/** Puts texts into the JSON around them. */
export class JsonSplices {
  readonly #texts: string[] = [];
  /** The characters of all texts. */
  length = 0;
  /** Stored JSON cannot contain it, because it is drawn for this response. */
  #mark: string | undefined;

  /** For `JSON.stringify`: replaces each text by a string that marks its place. */
  readonly replacer = (_name: string, value: unknown): unknown => {
    if (!(value instanceof JsonText)) return value;
    this.#mark ??= randomBytes(16).toString('base64url');
    this.length += value.text.length;
    return `${this.#mark}${this.#texts.push(value.text) - 1}`;
  };

  /** Returns the parts of the JSON with the texts in their places. */
  splice(json: string): string[] {
    if (this.#mark === undefined) return [json];
    return json.split(`"${this.#mark}`).flatMap((part, i) => {
      if (i === 0) return [part];
      const end = part.indexOf('"');
      return [this.#texts[Number(part.slice(0, end))] as string, part.slice(end + 1)];
    });
  }
}

/** `JSON.stringify` for values that contain `JsonText`. */
export function writeJson(value: unknown): string {
  const splices = new JsonSplices();
  return splices.splice(JSON.stringify(value, splices.replacer)).join('');
}
