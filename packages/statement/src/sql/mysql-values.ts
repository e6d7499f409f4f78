/** What PostgreSQL makes of a declared type by a cast, where the value has to carry it: MySQL and MariaDB take types of values alone. */

import type { BoundValue } from './compile.ts';
import { toUtcText } from './timestamps.ts';

const whole = /^-?\d{1,19}$/;
const decimal = /^-?(?:\d+(?:\.(\d*))?|\.(\d+))$/;
/** What a decimal of theirs holds, in all and after the point; they would cut a longer one without a word. */
const digitsMax = 65;
const scaleMax = 30;

/** As a text a number would be compared and added as a double, with 15 of its digits. */
export function toTyped(value: BoundValue, type: string | undefined): BoundValue {
  switch (type?.replace('[]', '')) {
    case 'bigint':
      return typeof value === 'string' && whole.test(value) ? toInteger(value) : value;
    case 'decimal':
      return typeof value === 'string' || typeof value === 'number' ? toDecimal(value) : value;
    case 'timestamp':
      return typeof value === 'string' ? toUtcText(value) : value;
    default:
      return value;
  }
}

function toInteger(text: string): BoundValue {
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer) ? integer : text;
}

function toDecimal(value: string | number): BoundValue {
  const text = String(value);
  const parts = decimal.exec(text);
  if (parts === null) return value;
  const scale = (parts[1] ?? parts[2] ?? '').length;
  return text.replace(/\D/g, '').length <= digitsMax && scale <= scaleMax ? { decimal: text } : value;
}
