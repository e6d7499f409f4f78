/** The text of a value as the page draws it. Copies and downloads have the exact value. */

import { grouped, textOf } from './scan.ts';

/** What decides how a column's values are drawn. */
export interface DrawnAs {
  numeric: boolean;
  /** A number without separators between thousands, such as an id. */
  isPlain: boolean;
  isTimestamp: boolean;
}

const timestampType = /^(timestamp|datetime)/i;
const timestamp = /^(\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(.*)$/;
/** Numbers that name something: separators between thousands would hide what they are. */
const nameLike =
  /(^|_)(id|ids|year|zip|postcode|code|number|no|nr|phone|version|port)$|[a-z](Id|Year|Code|Number)$/i;

export const isIdentifier = (name: string): boolean => nameLike.test(name);
export const isTimestampType = (type: string): boolean => timestampType.test(type) && !type.includes('[]');

/** `text` is the value without the quotes of JSON. */
export function drawnText(text: string, { numeric, isPlain, isTimestamp }: DrawnAs): string {
  if (numeric) return isPlain ? text : grouped(text);
  return isTimestamp ? spaced(text) : text;
}

/** `2026-11-24T10:00:00.000Z` as `2026-11-24 10:00:00Z`. */
function spaced(text: string): string {
  const match = timestamp.exec(text);
  if (match === null) return text;
  const [, day, time, fraction = '', zone] = match;
  return `${day} ${time}${/^\.0+$/.test(fraction) ? '' : fraction}${zone}`;
}

/** Whether the value, as it is or as it is drawn, contains a text in lower case. */
export function contains(json: string, wanted: string, column: DrawnAs | undefined): boolean {
  const text = textOf(json);
  if (text.toLowerCase().includes(wanted)) return true;
  if (column === undefined || !(column.numeric || column.isTimestamp)) return false;
  const drawn = drawnText(text, column);
  return drawn !== text && drawn.toLowerCase().includes(wanted);
}
