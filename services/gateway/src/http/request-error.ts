/** Faults of a request, each with a JSON Pointer. The gateway finds them, or a service reports them. */

import { describeFaults, type FieldPath, fieldName } from '@datahub/contract/validation-error';
import { HubError } from '@datahub/service-kit/call/error';

/** One fault of an HTTP request. `pointer` is a JSON Pointer into the body, or `query/name`, `header/name`. */
export interface Fault {
  pointer: string;
  detail: string;
}

/** Faults that the gateway itself finds in a request. */
export class RequestError extends HubError {
  readonly faults: readonly Fault[];

  constructor(message: string, faults: readonly Fault[], cause?: unknown) {
    super('VALIDATION', message, { cause });
    this.faults = faults;
  }
}

/** The most faults that one answer reports. */
export const faultsMax = 50;

/** The message names the first of `found`, which is not empty, and says how many more there are. */
export function validationError(found: Fault[], remark = ''): RequestError {
  const faults = found.slice(0, faultsMax);
  return new RequestError(`${describeFaults(faults, nameOf)}${remark}`, faults);
}

const nameOf = (fault: Fault | undefined): string => fault?.pointer || 'The body';

/**
 * Pointers into the body by the field names of the call, such as `{ top: '/options/top' }`, for fields whose place or
 * name differs in the body. A field name may have two parts, `examples.0`.
 */
export type FieldPointers = Readonly<Record<string, string>>;

const namePartsMax = 2;

/** The message and the faults of an error, with the fields that a service names turned into pointers into the body. */
export function inBody(
  err: HubError,
  pointers: FieldPointers = {},
): { message: string; faults?: readonly Fault[] } {
  if (err instanceof RequestError) return err;
  const { message, errors } = err;
  if (errors === undefined) return { message };
  const faults = errors.map(({ path, detail }) => ({ pointer: toPointer(path, pointers), detail }));
  const name = fieldName(errors[0]?.path ?? []);
  if (!message.startsWith(name)) return { message, faults };
  return { message: nameOf(faults[0]) + message.slice(name.length), faults };
}

function toPointer(path: FieldPath, pointers: FieldPointers): string {
  for (let length = Math.min(namePartsMax, path.length); length > 0; length--) {
    const name = path.slice(0, length).join('.');
    const pointer = Object.hasOwn(pointers, name) ? pointers[name] : undefined;
    if (pointer !== undefined) return addTo(pointer, path.slice(length));
  }
  return addTo('', path);
}

const addTo = (pointer: string, path: FieldPath): string =>
  path.reduce<string>((above, name) => pointerTo(above, String(name)), pointer);

/** Escapes a name (RFC 6901) and shortens it, because a caller can send a long one. */
export function pointerTo(at: string, name: string): string {
  return `${at}/${name.slice(0, 100).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
