/**
 * The neutral form of a validation error. A service names fields of its own request; only the gateway knows how a REST
 * body spells them and turns the path into a JSON Pointer.
 */

/**
 * The names and list indexes from the request down to the field, such as `['context', 0, 'key']`; empty for the whole
 * request. A field that holds JSON text (`valueJson`) is named without `Json`, as what follows is inside of its value.
 */
export type FieldPath = readonly (string | number)[];

export interface FieldFault {
  path: FieldPath;
  /** Completes a sentence that begins with the field's name: `must be a string`. */
  detail: string;
}

/** How a service writes a path in a sentence: `connectionSettings.tls.key`. */
export const fieldName = (path: FieldPath): string => (path.length === 0 ? 'The request' : path.join('.'));

/** The most faults of one error, and the most characters of them: an error travels in the headers of a call. */
export const faultsMax = 200;
const faultCharactersMax = 12_000;

/** The first faults, as many as an error lists. */
export function listedFaults<F extends { path?: FieldPath; detail: string }>(
  faults: readonly F[],
): readonly F[] {
  let characters = 0;
  let count = 0;
  for (const { path = [], detail } of faults.slice(0, faultsMax)) {
    characters += path.join('').length + detail.length;
    // The first one is listed whatever its length is.
    if (count > 0 && characters > faultCharactersMax) break;
    count++;
  }
  return faults.slice(0, count);
}

/** The first fault in words, and how many more the error lists; `faults` is not empty. */
export function describeFaults<F extends { path?: FieldPath; detail: string }>(
  faults: readonly F[],
  nameOf: (fault: F) => string,
): string {
  const [first] = faults;
  const rest = listedFaults(faults).length - 1;
  const more = rest > 0 ? `; "errors" lists ${rest} more ${rest === 1 ? 'fault' : 'faults'}` : '';
  return first === undefined ? '' : `${nameOf(first)} ${first.detail}${more}.`;
}
